package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/passes/check/cover"
)

// history knows for all bytes the last accesses: the last write, and the last read of each thread since. An access that
// is over orders all accesses of its thread before it, so earlier ones do not matter.
//
// After
//
//	gpu.in  writes [0x000,0x200)
//	gpu     reads  [0x000,0x100)
//	host    reads  [0x000,0x100)
//
// the bytes have two records:
//
//	[0x000,0x100)  write by gpu.in, reads by gpu and host
//	[0x100,0x200)  write by gpu.in
//
// A write to [0x000,0x200) has to come after all three accesses. Afterwards one record holds that write alone.
type history struct {
	chunks []*cover.Cover[*record] // nil for bytes that nothing has touched
}

// record is the last accesses to some bytes. It is not changed once it is in a cover.
type record struct {
	write stamp // without a step for none
	reads []stamp
}

// earlier is an access that has to be over before another one.
type earlier struct {
	stamp
	kind accessKind
}

func newHistory(l *layout) *history { return &history{newCovers[*record](l)} }

// touch notes an access to some bytes, and returns the accesses that have to be over: for a read the writes, for a
// write the reads as well.
func (h *history) touch(at cells, now stamp, kind accessKind) (before []earlier) {
	chunk := h.chunks[at.chunk]
	for _, p := range chunk.Pieces(at.lo, at.hi) {
		old := p.Value
		if old == nil {
			old = &record{}
		}
		if old.write.st != nil {
			before = append(before, earlier{old.write, writing})
		}
		if kind == writing {
			for _, r := range old.reads {
				before = append(before, earlier{r, reading})
			}
		} else {
			chunk.Assign(p.Lo, p.Hi, old.withRead(now))
		}
	}
	if kind == writing {
		chunk.Assign(at.lo, at.hi, &record{write: now})
	}
	return before
}

// withRead returns the record with a read more, which replaces that of the same thread.
func (r *record) withRead(now stamp) *record {
	reads := slices.DeleteFunc(slices.Clone(r.reads), func(s stamp) bool { return s.thread == now.thread })
	return &record{r.write, append(reads, now)}
}
