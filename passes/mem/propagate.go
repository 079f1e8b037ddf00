package mem

import "slices"

// change is what backtracking takes back.
type change struct {
	kind         changeKind
	block, other int32
	old          int64
}

type changeKind uint8

const (
	lowChange  changeKind = iota // low of block was old
	highChange                   // high of block was old
	pairChange                   // block was not known to lie below other
	decision                     // block was not decided in section other
)

func (s *search) isBelow(b, c int32) bool { return s.below[int(b)*len(s.blocks)+int(c)] }

// raise makes v the least offset of b; false where nothing is left.
func (s *search) raise(b int32, v int64) bool {
	v = alignUp(v, s.blocks[b].align)
	if v <= s.low[b] {
		return true
	}
	s.trail = append(s.trail, change{kind: lowChange, block: b, old: s.low[b]})
	s.low[b] = v
	s.mark(b)
	return v <= s.high[b]
}

// lower makes v the greatest offset of b; false where nothing is left.
func (s *search) lower(b int32, v int64) bool {
	v = alignDown(v, s.blocks[b].align)
	if v >= s.high[b] {
		return true
	}
	s.trail = append(s.trail, change{kind: highChange, block: b, old: s.high[b]})
	s.high[b] = v
	s.mark(b)
	return v >= s.low[b]
}

// stack puts b below c; false where the opposite is known, or nothing is left.
func (s *search) stack(b, c int32) bool {
	switch {
	case s.isBelow(b, c):
		return true
	case s.isBelow(c, b):
		return false
	}
	s.below[int(b)*len(s.blocks)+int(c)] = true
	s.trail = append(s.trail, change{kind: pairChange, block: b, other: c})
	return s.respect(b, c)
}

// respect draws the bounds that follow from b lying below c.
func (s *search) respect(b, c int32) bool {
	size := s.blocks[b].size
	return s.raise(c, s.low[b]+size) && s.lower(b, s.high[c]-size)
}

func (s *search) mark(b int32) {
	if !s.marks.raised[b] {
		s.marks.raised[b] = true
		s.raised = append(s.raised, b)
	}
}

// propagate draws all conclusions from changed bounds, pairs before sections as they are
// cheaper; false where the packing has become impossible.
func (s *search) propagate() bool {
	for {
		if n := len(s.raised); n > 0 {
			b := s.raised[n-1]
			s.raised = s.raised[:n-1]
			s.marks.raised[b] = false
			s.touch(b)
			if !s.pairs(b) {
				return false
			}
			continue
		}
		n := len(s.dirty)
		if n == 0 {
			return true
		}
		t := s.dirty[n-1]
		s.dirty = s.dirty[:n-1]
		s.marks.dirty[t] = false
		if s.use.has(Stack) && !s.sectionFits(t) {
			s.blame(t)
			return false
		}
	}
}

// touch marks the sections of b.
func (s *search) touch(b int32) {
	for _, t := range s.blocks[b].live {
		if !s.marks.dirty[t] {
			s.marks.dirty[t] = true
			s.dirty = append(s.dirty, t)
		}
	}
}

// pairs looks at b and each block that it meets: one of them lies below the other, and
// where only one way is left the order is known.
func (s *search) pairs(b int32) bool {
	size := s.blocks[b].size
	s.work += int64(len(s.meets[b]))
	for _, c := range s.meets[b] {
		ok := true
		switch {
		case s.isBelow(b, c):
			ok = s.respect(b, c)
		case s.isBelow(c, b):
			ok = s.respect(c, b)
		case s.low[b]+size > s.high[c]:
			ok = s.stack(c, b)
		case s.low[c]+s.blocks[c].size > s.high[b]:
			ok = s.stack(b, c)
		}
		if !ok {
			return false
		}
	}
	return true
}

// sectionFits reports whether the blocks of a section fit it when stacked upwards by
// their least offsets, and downwards by their greatest: for each bound, the blocks that
// lie beyond it need the sum of their sizes there.
func (s *search) sectionFits(t int32) bool {
	up := s.byLow[t]
	// The lists are nearly sorted, as few bounds change at a time.
	insertionSort(up, func(b int32) int64 { return s.low[b] })
	var end int64
	for _, b := range up {
		end = max(end, s.low[b]) + s.blocks[b].size
	}
	if end > s.capacity {
		return false
	}

	down := s.byTop[t]
	insertionSort(down, func(b int32) int64 { return -s.high[b] - s.blocks[b].size })
	end = s.capacity
	for _, b := range down {
		end = min(end-s.blocks[b].size, s.high[b])
	}
	return end >= 0
}

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

// undo takes back all changes after the first mark ones, and drops work to do.
func (s *search) undo(mark int) {
	s.clearWork()
	for _, c := range slices.Backward(s.trail[mark:]) {
		switch c.kind {
		case lowChange:
			s.low[c.block] = c.old
		case highChange:
			s.high[c.block] = c.old
		case pairChange:
			s.below[int(c.block)*len(s.blocks)+int(c.other)] = false
		case decision:
			s.decided[c.other]--
			s.depth--
			s.rest[c.other] += s.blocks[c.block].size
		}
	}
	s.trail = s.trail[:mark]
}

func (s *search) clearWork() {
	for _, b := range s.raised {
		s.marks.raised[b] = false
	}
	for _, t := range s.dirty {
		s.marks.dirty[t] = false
	}
	s.raised, s.dirty = s.raised[:0], s.dirty[:0]
}

// alignDown rounds x down to a multiple of align.
func alignDown(x, align int64) int64 {
	if align == 1 {
		return x
	}
	if x < 0 {
		return -alignUp(-x, align)
	}
	return x / align * align
}
