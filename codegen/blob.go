package codegen

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// blobAlign is the alignment of each part of the blob of weights; that of runtime.Align.
const blobAlign = 64

// blobPart is a chunk of a weights arena, and where it begins in the blob.
type blobPart struct {
	arena, chunk  int
	offset, bytes int64
}

// blobParts returns the parts of the blob: the host's first, since emitted code adds its
// offsets to the blob's beginning, then those that are loaded into other spaces.
func blobParts(m *ir.Module) []blobPart {
	var parts []blobPart
	for i := range m.Plan.Arenas {
		if a := &m.Plan.Arenas[i]; a.Class == ir.ClassWeights {
			for k, bytes := range a.Chunks {
				parts = append(parts, blobPart{arena: i, chunk: k, bytes: bytes})
			}
		}
	}
	far := func(p blobPart) int { return btoi(m.Plan.Arenas[p.arena].Space != target.Host) }
	slices.SortStableFunc(parts, func(a, b blobPart) int { return cmp.Compare(far(a), far(b)) })
	at := int64(0)
	for i := range parts {
		at = (at + blobAlign - 1) / blobAlign * blobAlign
		parts[i].offset = at
		at += parts[i].bytes
	}
	return parts
}

// blobOffset returns where a chunk begins in the blob.
func blobOffset(m *ir.Module, arena, chunk int) int64 {
	parts := blobParts(m)
	i := slices.IndexFunc(parts, func(p blobPart) bool { return p.arena == arena && p.chunk == chunk })
	return parts[i].offset
}

// WeightsBytes returns the size in bytes of what PackWeights writes.
func WeightsBytes(m *ir.Module) int64 {
	parts := blobParts(m)
	if len(parts) == 0 {
		return 0
	}
	last := parts[len(parts)-1]
	return last.offset + last.bytes
}

// blobPieces yields what the blob consists of, in order.
func blobPieces(m *ir.Module, src Sources) func(yield func(piece) bool) {
	return func(yield func(piece) bool) {
		at := int64(0)
		for _, p := range blobParts(m) {
			for _, w := range placedWeights(m, p) {
				if gap := p.offset + w.Place.Offset - at; gap > 0 && !yield(zeros(gap)) {
					return
				}
				for _, piece := range weightPieces(w, src) {
					if !yield(piece) {
						return
					}
				}
				at = p.offset + w.Place.Offset + w.Type.MaxBytes()
			}
		}
		if gap := WeightsBytes(m) - at; gap > 0 {
			yield(zeros(gap))
		}
	}
}

// placedWeights returns the weights that lie in a part, in the order of addresses.
func placedWeights(m *ir.Module, p blobPart) []*ir.Weight {
	var ws []*ir.Weight
	for _, w := range m.Weights {
		if w.Place != nil && w.Place.Arena == p.arena && w.Place.Chunk == p.chunk {
			ws = append(ws, w)
		}
	}
	slices.SortFunc(ws, func(a, b *ir.Weight) int { return cmp.Compare(a.Place.Offset, b.Place.Offset) })
	return ws
}
