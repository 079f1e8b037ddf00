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

// blobParts returns the parts of the blob. The host's part is first, as emitted code adds
// offsets to the beginning of the blob. The parts for other spaces follow.
func blobParts(m *ir.Module) []blobPart {
	var parts []blobPart
	for i := range m.Plan.Arenas {
		if a := &m.Plan.Arenas[i]; a.Class == ir.ClassWeights {
			for k, bytes := range a.Chunks {
				parts = append(parts, blobPart{arena: i, chunk: k, bytes: bytes})
			}
		}
	}
	isHost := func(p blobPart) bool { return m.Plan.Arenas[p.arena].Space == target.Host }
	isFar := func(p blobPart) bool { return !isHost(p) }
	parts = slices.Concat(slices.DeleteFunc(slices.Clone(parts), isFar), slices.DeleteFunc(parts, isHost))
	at := int64(0)
	for i := range parts {
		at = alignUp(at, blobAlign)
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
			for _, l := range placedLeaves(m, p) {
				if gap := p.offset + l.place.Offset - at; gap > 0 && !yield(zeros(gap)) {
					return
				}
				for _, piece := range l.pieces(src) {
					if !yield(piece) {
						return
					}
				}
				at = p.offset + l.place.Offset + l.bytes
			}
		}
		if gap := WeightsBytes(m) - at; gap > 0 {
			yield(zeros(gap))
		}
	}
}

// blobLeaf is a weight or a constant, which have places in arenas of weights.
type blobLeaf struct {
	place  *ir.Place
	bytes  int64
	pieces func(Sources) []piece
}

// placedLeaves returns the weights and constants of a part that have bytes, in the order of
// addresses.
func placedLeaves(m *ir.Module, p blobPart) []blobLeaf {
	here := func(at *ir.Place) bool { return at != nil && at.Arena == p.arena && at.Chunk == p.chunk }
	var leaves []blobLeaf
	for _, w := range m.Weights {
		if here(w.Place) {
			leaves = append(leaves, blobLeaf{w.Place, w.Type.MaxBytes(), func(src Sources) []piece { return weightPieces(w, src) }})
		}
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpConstant && here(n.Result().Place) {
				data := n.Attr.(*ir.ConstantAttr).Data
				leaves = append(leaves, blobLeaf{n.Result().Place, int64(len(data)), func(Sources) []piece { return []piece{literal(data)} }})
			}
		}
	}
	leaves = slices.DeleteFunc(leaves, func(l blobLeaf) bool { return l.bytes == 0 }) // whose addresses others may have
	slices.SortFunc(leaves, func(a, b blobLeaf) int { return cmp.Compare(a.place.Offset, b.place.Offset) })
	return leaves
}
