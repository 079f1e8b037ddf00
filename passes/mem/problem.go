// Package mem packs buffers that are live for known intervals of time into one range of addresses: the allocation
// problem of an arena, without tensors.
//
// Two buffers that are live at one instant must not share addresses; the height of a packing is to be low. For
//
//	buffer   life   size
//	a        0–5    3
//	b        0–2    1
//	c        1–3    2
//	d        3–4    1
//
// a packing of height 6, which is the lowest, is
//
//	offset
//	4–5     . c c . .
//	3       b b . d .
//	0–2     a a a a a
//	time    0 1 2 3 4
//
// [Solve] runs greedy orders first, then two bounded searches in turns. It returns the best packing that it found, with
// [Bound], the height that no packing can be below. It is deterministic: effort is counted in steps of the searches,
// not in seconds. docs/explanation/memory.md explains the searches, and has the measurements.
//
// Read problem.go, bound.go and greedy.go first, then solve.go and portfolio.go. The searches are rise.go with
// partial.go, and sequence.go with known.go and guide.go.
package mem

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Buffer is a block of memory that is live in the half-open interval [Lower, Upper) of
// some discrete time.
type Buffer struct {
	ID           string
	Lower, Upper int64 // Lower < Upper
	Size         int64 // in the unit of the offsets; a buffer of size 0 fits anywhere
	Align        int64 // the offset is a multiple of it; 0 is 1

	// Gaps are parts of the life in which the bytes are free for others, in order and without overlaps.
	Gaps []Interval

	// A fixed buffer has to be at Offset.
	Fixed  bool
	Offset int64
}

// Interval is the time [Lower, Upper).
type Interval struct{ Lower, Upper int64 }

// Problem is a set of buffers. Buffers that live at the same time must not share addresses. IDs need not be unique;
// only messages use them.
type Problem struct {
	Buffers []Buffer
}

// Solution gives each buffer of a problem its offset, in the order of Problem.Buffers.
type Solution struct {
	Offsets []int64
	Height  int64 // largest offset + size: what an arena needs
}

// Check reports everything that is wrong with the problem itself.
func (p Problem) Check() error {
	var errs []error
	var total int64
	for i := range p.Buffers {
		b := &p.Buffers[i]
		if err := b.check(); err != nil {
			errs = append(errs, err)
			continue
		}
		// Sums of sizes, with the gaps that alignment can cost, must not overflow.
		if b.Size > math.MaxInt64/4-total-b.align() {
			errs = append(errs, fmt.Errorf("buffer %q: with it the sum of all sizes exceeds %d", b.ID, int64(math.MaxInt64/4)))
			break
		}
		total += b.Size + b.align()
	}
	return errors.Join(append(errs, p.checkFixed()...)...)
}

// checkFixed reports fixed buffers that overlap.
func (p Problem) checkFixed() []error {
	var fixed Problem
	for _, b := range p.Buffers {
		if b.Fixed {
			fixed.Buffers = append(fixed.Buffers, b)
		}
	}
	offsets := make([]int64, len(fixed.Buffers))
	for i, b := range fixed.Buffers {
		offsets[i] = b.Offset
	}
	return fixed.overlaps(offsets)
}

func (b *Buffer) check() error {
	switch {
	case b.Lower >= b.Upper:
		return fmt.Errorf("buffer %q: its interval [%d,%d) is empty", b.ID, b.Lower, b.Upper)
	case b.Size < 0:
		return fmt.Errorf("buffer %q: its size is %d", b.ID, b.Size)
	case b.Align < 0:
		return fmt.Errorf("buffer %q: its alignment is %d", b.ID, b.Align)
	}
	if b.Fixed && (b.Offset < 0 || b.Offset%b.align() != 0 || b.Offset > math.MaxInt64/4-b.Size) {
		return fmt.Errorf("buffer %q: it cannot be at %d, aligned to %d", b.ID, b.Offset, b.align())
	}
	end := b.Lower
	for _, g := range b.Gaps {
		if g.Lower < end || g.Lower >= g.Upper || g.Upper > b.Upper {
			return fmt.Errorf("buffer %q: its gap [%d,%d) is empty, out of order or not within [%d,%d)", b.ID, g.Lower, g.Upper, b.Lower, b.Upper)
		}
		end = g.Upper
	}
	return nil
}

// live calls yield with each interval of the life that is no gap.
func (b *Buffer) live(yield func(Interval) bool) {
	from := b.Lower
	for _, g := range b.Gaps {
		if from < g.Lower && !yield(Interval{from, g.Lower}) {
			return
		}
		from = g.Upper
	}
	if from < b.Upper {
		yield(Interval{from, b.Upper})
	}
}

func (b *Buffer) align() int64 { return max(b.Align, 1) }

// meets reports whether both buffers are live at some instant.
func (b *Buffer) meets(c *Buffer) bool {
	if b.Lower >= c.Upper || c.Lower >= b.Upper {
		return false
	}
	if len(b.Gaps) == 0 && len(c.Gaps) == 0 {
		return true
	}
	for x := range b.live {
		for y := range c.live {
			if x.Lower < y.Upper && y.Lower < x.Upper {
				return true
			}
		}
	}
	return false
}

// Validate reports everything that is wrong with s as a solution of p: offsets that are missing, negative or
// misaligned, buffers above capacity (0 is no limit), buffers that overlap.
func (p Problem) Validate(s Solution, capacity int64) error {
	if len(s.Offsets) != len(p.Buffers) {
		return fmt.Errorf("%d offsets for %d buffers", len(s.Offsets), len(p.Buffers))
	}
	var errs []error
	for i, b := range p.Buffers {
		if err := validatePlace(b, s.Offsets[i], capacity); err != nil {
			errs = append(errs, err)
		}
	}
	if h := p.height(s.Offsets); h != s.Height {
		errs = append(errs, fmt.Errorf("the height is %d, not %d", h, s.Height))
	}
	return errors.Join(append(errs, p.overlaps(s.Offsets)...)...)
}

func validatePlace(b Buffer, offset, capacity int64) error {
	switch {
	case offset < 0:
		return fmt.Errorf("buffer %q: its offset is %d", b.ID, offset)
	case b.Fixed && offset != b.Offset:
		return fmt.Errorf("buffer %q: its offset is %d, not %d as demanded", b.ID, offset, b.Offset)
	case offset%b.align() != 0:
		return fmt.Errorf("buffer %q: its offset %d is no multiple of %d", b.ID, offset, b.align())
	case capacity > 0 && offset > capacity-b.Size:
		return fmt.Errorf("buffer %q: %d bytes at %d exceed the capacity %d", b.ID, b.Size, offset, capacity)
	}
	return nil
}

// overlaps reports buffers that share addresses while both are live. In order of their starts, a buffer is compared
// with the buffers that start before it ends.
func (p Problem) overlaps(offsets []int64) (errs []error) {
	byStart := order(len(p.Buffers), func(i, j int) int { return cmp.Compare(p.Buffers[i].Lower, p.Buffers[j].Lower) })
	for k, i := range byStart {
		b := &p.Buffers[i]
		for _, j := range byStart[k+1:] {
			c := &p.Buffers[j]
			if c.Lower >= b.Upper {
				break
			}
			if b.Size > 0 && c.Size > 0 && offsets[i] < offsets[j]+c.Size && offsets[j] < offsets[i]+b.Size && b.meets(c) {
				errs = append(errs, fmt.Errorf("buffers %q and %q overlap", b.ID, c.ID))
			}
		}
	}
	return errs
}

func (p Problem) height(offsets []int64) int64 {
	var h int64
	for i := range p.Buffers {
		h = max(h, offsets[i]+p.Buffers[i].Size)
	}
	return h
}

// order returns the indices below n sorted by compare, ties by index.
func order(n int, compare func(i, j int) int) []int {
	idx := make([]int, n)
	for i := range idx {
		idx[i] = i
	}
	slices.SortFunc(idx, func(i, j int) int { return cmp.Or(compare(i, j), cmp.Compare(i, j)) })
	return idx
}

// alignUp rounds x up to a multiple of align.
func alignUp(x, align int64) int64 {
	if align == 1 {
		return x
	}
	return (x + align - 1) / align * align
}
