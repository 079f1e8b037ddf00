package mem

import (
	"math"
	"slices"
)

// partial is a packing in which some blocks are placed, from the bottom upwards, and what follows for the others.
//
// After a, of size 2 in sections 0 and 1, is placed at offset 0, and b, of size 3 in section 0, is not yet:
//
//	floor   2 2     the end of what is placed
//	rest    3 0     the sum of sizes that is left
//	low[b]  2       the lowest offset that is open to b
//	spans   0       no unplaced block lives in both sections: they can be solved separately
type partial struct {
	in     *instance
	low    []int64 // by block: the lowest open offset; of a placed one its offset
	placed []bool
	offset []int64   // by block: the offset of its last placement
	floor  []int64   // by section: the end of what is placed
	rest   []int64   // by section: the sum of the sizes of what is not placed
	spans  []int32   // by section: the unplaced blocks that live in the next one as well
	sorted [][]int32 // by section: its blocks, as stacked sorted them last

	undone []partialChange
	marked []bool // sections, during place
	work   int64  // blocks of sections that were looked at: time is about proportional
}

// partialChange restores a number when a placement is taken back.
type partialChange struct {
	number *int64
	old    int64
}

// newPartial returns a packing in which nothing is placed.
func newPartial(in *instance) *partial {
	n, sections := len(in.blocks), len(in.members)
	s := &partial{
		in: in, low: make([]int64, n), placed: make([]bool, n), offset: make([]int64, n),
		floor: make([]int64, sections), rest: make([]int64, sections), spans: make([]int32, sections),
		sorted: cloneLists(in.members), marked: make([]bool, sections),
	}
	for _, b := range in.blocks {
		s.account(b, 1)
	}
	return s
}

// account adds a block to what is left, with sign 1, or takes it away, with sign -1.
func (s *partial) account(b block, sign int32) {
	for _, t := range b.live {
		s.rest[t] += int64(sign) * b.size
	}
	for t := b.from; t+1 < b.to; t++ {
		s.spans[t] += sign
	}
}

// clearLows opens all offsets, where nothing is placed.
func (s *partial) clearLows() { clear(s.low) }

// mark returns a point that takeBack returns to.
func (s *partial) mark() int { return len(s.undone) }

// set changes a number until the placement is taken back.
func (s *partial) set(number *int64, to int64) {
	s.undone = append(s.undone, partialChange{number, *number})
	*number = to
}

// place puts b at its lowest open offset. It returns the sections in which something has changed.
func (s *partial) place(b int32) (touched []int32) {
	touch := func(t int32) {
		if !s.marked[t] {
			s.marked[t] = true
			touched = append(touched, t)
		}
	}
	k := s.in.blocks[b]
	end := s.low[b] + k.size
	s.placed[b], s.offset[b] = true, s.low[b]
	s.account(k, -1)
	for _, t := range k.live {
		s.set(&s.floor[t], max(s.floor[t], end))
		touch(t)
	}
	for _, c := range s.in.meets[b] {
		if s.placed[c] || s.low[c] >= end {
			continue
		}
		s.set(&s.low[c], alignUp(end, s.in.blocks[c].align))
		for _, t := range s.in.blocks[c].live {
			touch(t)
		}
	}
	for _, t := range touched {
		s.marked[t] = false
	}
	return touched
}

// takeBack takes back the placement of b, which was the first one after mark.
func (s *partial) takeBack(b int32, mark int) {
	for _, c := range slices.Backward(s.undone[mark:]) {
		*c.number = c.old
	}
	s.undone = s.undone[:mark]
	s.placed[b] = false
	s.account(s.in.blocks[b], 1)
}

// lowest returns the lowest offset that is open to an unplaced block of a section.
func (s *partial) lowest(t int32) int64 {
	lowest := int64(math.MaxInt64)
	for _, b := range s.in.members[t] {
		if !s.placed[b] {
			lowest = min(lowest, s.low[b])
		}
	}
	return lowest
}

// stacked returns the end of what is left of a section when it is stacked from an offset on, in the order of the lowest
// open offsets.
func (s *partial) stacked(t int32, offset int64) int64 {
	list := s.sorted[t]
	insertionSort(list, func(b int32) int64 { return s.low[b] })
	end := offset
	for _, b := range list {
		if !s.placed[b] {
			end = max(end, s.low[b]) + s.in.blocks[b].size
		}
	}
	return end
}

// insertionSort sorts a list by key. It is quick for lists that are nearly sorted, as few keys change between two
// calls.
func insertionSort(list []int32, key func(int32) int64) {
	for i := 1; i < len(list); i++ {
		b := list[i]
		k, j := key(b), i
		for ; j > 0 && key(list[j-1]) > k; j-- {
			list[j] = list[j-1]
		}
		list[j] = b
	}
}
