package mem

import "slices"

// search looks for a packing within a capacity by deciding, for each section of time, in which order the live blocks
// are stacked.
//
// A packing is, for each section, a sequence of blocks from the bottom up. The offsets follow, as each block can fall
// until it meets one below it in some section. So the search decides sequences: "in section t, b is the next block".
// With that, b is below all blocks that are left in t, in the other sections that they share, too.
//
// Three blocks, with a capacity of 5: a, of size 2, lives in sections 0 and 1; b and c, of size 3, in one of them each.
//
//	                              a        b        c
//	offsets that are possible     0 … 3    0 … 2    0 … 2
//	section 0: a is next          0        2        0 … 2     b is above a, so at 2 at least; and a at 0 at most
//	follows in section 1          0        2        2         c overlaps a at 0, so it is above a
//
// Each decision narrows the possible offsets (known.go). The section with the fewest choices for its weight is decided
// first, as is usual for the scheduling of machines, so that decisions meet their consequences at once.
//
// That time is cut into sections, and that blocks fall, are ideas of MiniMalloc (see rise), which decides one offset
// after another over all of time.
type search struct {
	in        *instance
	capacity  int64
	use       Techniques
	known     *known
	sequences *sequences
	guide     *guide
	effort    effort
}

// newSearch prepares a search; the instance is only read.
func newSearch(in *instance, capacity int64, use Techniques, halt func() bool) *search {
	return &search{in: in, capacity: capacity, use: use, effort: effort{halt: halt},
		known: newKnown(in, capacity, use.has(Stack)), sequences: newSequences(in), guide: newGuide(in, use)}
}

// work returns how many pairs of blocks were looked at.
func (s *search) work() int64 { return s.known.work }

// start draws the first conclusions. It returns false if there is no packing.
func (s *search) start() bool {
	if !s.known.start() || s.use.has(Settle) && !s.in.fixed && !s.settle() {
		return false
	}
	ok, _ := s.known.propagate()
	return ok
}

// settle puts blocks that are live in all sections at the bottom. In any packing they can be exchanged with what is
// below them, which moves up by their size. That keeps the alignment of all others only where the size is a multiple of
// it.
func (s *search) settle() bool {
	for i, b := range s.in.blocks {
		misaligns := func(c block) bool { return b.size%c.align != 0 }
		if len(b.live) != len(s.in.members) || slices.ContainsFunc(s.in.blocks, misaligns) {
			continue
		}
		for t := range s.in.members {
			if !s.decide(int32(t), int32(i)) {
				return false
			}
		}
	}
	return true
}

// run searches once, the k-th time from 1, within a number of steps, after start. It returns the offsets if it finds a
// packing. What a run has learnt stays in the guide.
func (s *search) run(k, steps int64) (outcome, []int64) {
	s.guide.begin(s.in, k)
	s.effort.left = steps
	got := s.solve()
	if got == stopped {
		s.guide.forget()
	}
	return got, s.known.low
}

// solve decides what is next in the section with the fewest choices, in every way. It takes back what it decided,
// unless it finds a packing.
func (s *search) solve() outcome {
	s.guide.remember(s.sequences.depth, s.known.low)
	t, choices := s.tightest()
	if t < 0 {
		return solved
	}
	var next []int32
	if choices > 0 {
		next = s.candidates(t)
	}
	if len(next) == 0 {
		s.guide.blame(t)
	}
	for _, b := range next {
		if !s.effort.spend() {
			return stopped
		}
		mark, got := s.known.mark(), failed
		if s.decide(t, b) && s.propagate() {
			got = s.solve()
		}
		if got == solved {
			return solved
		}
		s.known.undo(mark)
		s.sequences.takeBack(t, b)
		if got == stopped {
			return stopped
		}
	}
	return failed
}

// decide makes b the next block of section t. It returns false where that contradicts what is known.
func (s *search) decide(t, b int32) bool {
	s.sequences.decide(t, b)
	ok := s.known.lower(b, s.capacity-s.sequences.rest[t]-s.in.blocks[b].size)
	for _, c := range s.sequences.open(t) {
		ok = ok && s.known.stack(b, c)
	}
	return ok
}

// propagate draws all conclusions, and blames the section in which it finds a contradiction.
func (s *search) propagate() bool {
	ok, section := s.known.propagate()
	if !ok && section >= 0 {
		s.guide.blame(section)
	}
	return ok
}

// tightest returns the undecided section with the fewest choices for its weight, and how many it has at most; -1 if all
// is decided.
func (s *search) tightest() (section int32, choices int64) {
	section = -1
	for t := range s.in.members {
		if len(s.sequences.open(int32(t))) == 0 {
			continue
		}
		n := s.choices(int32(t))
		if n <= 1 {
			return int32(t), n
		}
		// (n-1)/weight, compared without a division.
		if weight := s.guide.weight; section < 0 || (n-1)*weight[section] < (choices-1)*weight[t] {
			section, choices = int32(t), n
		}
	}
	return section, choices
}

// choices counts the blocks that are low enough to be next in section t: all others of the section have to fit above.
func (s *search) choices(t int32) (n int64) {
	for _, b := range s.sequences.open(t) {
		if s.lowEnough(t, b) {
			n++
		}
	}
	return n
}

func (s *search) lowEnough(t, b int32) bool { return s.known.low[b] <= s.capacity-s.sequences.rest[t] }

// candidates returns the blocks that can be next in section t, the best first.
func (s *search) candidates(t int32) []int32 {
	var out []int32
	open := s.sequences.open(t)
	for _, b := range open {
		if s.lowEnough(t, b) && !slices.ContainsFunc(open, func(c int32) bool { return s.known.isBelow(c, b) }) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(b, c int32) int { return s.guide.prefer(s.in, s.known.low, b, c) })
	return out
}

// sequences are the decisions that hold.
type sequences struct {
	in      *instance
	members [][]int32 // by section: its blocks, the decided ones first, from the bottom up
	decided []int     // by section: the number of decided ones
	rest    []int64   // by section: the sum of the sizes of the others
	depth   int       // decisions in all sections
}

func newSequences(in *instance) *sequences {
	sections := len(in.members)
	q := &sequences{in: in, members: cloneLists(in.members), decided: make([]int, sections), rest: make([]int64, sections)}
	for _, b := range in.blocks {
		for _, t := range b.live {
			q.rest[t] += b.size
		}
	}
	return q
}

// open returns the blocks of a section that are not decided.
func (q *sequences) open(t int32) []int32 { return q.members[t][q.decided[t]:] }

// decide makes b, an open block of section t, the next one there.
func (q *sequences) decide(t, b int32) {
	open := q.open(t)
	at := slices.Index(open, b)
	open[0], open[at] = open[at], open[0]
	q.decided[t]++
	q.rest[t] -= q.in.blocks[b].size
	q.depth++
}

// takeBack opens b again, the last decided block of section t.
func (q *sequences) takeBack(t, b int32) {
	q.decided[t]--
	q.rest[t] += q.in.blocks[b].size
	q.depth--
}
