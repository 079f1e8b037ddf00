package mem

import (
	"cmp"
	"math/rand/v2"
	"slices"
)

// search looks for a packing within one capacity.
//
// Time is cut into sections where buffers begin and end. In each section the live
// buffers stand one upon another, so a packing is, for each section, a sequence from the
// bottom up; the offsets follow, as each block lies as low as those below it allow. The
// search decides sequences: "in section t, b is the next one". Each decision orders b
// below all that are left in t, in whatever other sections they meet too, and bounds on
// offsets follow from it (propagate.go).
//
// That cutting into sections, and the wish to let blocks fall, are those of MiniMalloc
// (see rise), which decides one offset after another from the bottom up over all of time.
// Here the section that leaves the fewest choices comes first, as is usual for
// scheduling one machine per section: decisions then meet their consequences at once.
type search struct {
	*instance
	capacity int64
	use      Techniques
	low      []int64 // by block: the lowest offset that it can have
	high     []int64 // by block: the highest one

	below []bool // [b*len(blocks)+c]: b lies below c

	members [][]int32 // by section: its blocks, the decided ones first
	decided []int     // by section: how many of them
	rest    []int64   // by section: sum of the sizes of the others
	weight  []int64   // by section: how often it made the search fail lately, from unit up

	byLow, byTop [][]int32 // by section: its blocks as sectionFits last sorted them

	trail  []change
	raised []int32 // blocks whose bounds changed, to be propagated
	dirty  []int32 // sections to look at
	marks  marks

	better  func(s *search, b, c int32) int // negative where b is tried first
	halt    func() bool
	lengths []int64 // by block: see length
	depth   int     // decisions that hold
	deepest int     // the largest depth so far
	model   []int64 // by block: its low at that depth
	left    int64   // steps until the next restart
	tried   int64
	work    int64 // pairs of blocks looked at: what time goes into
}

// marks say what is in the lists of work to do.
type marks struct{ raised, dirty []bool }

// outcome is what a search has found.
type outcome uint8

const (
	failed  outcome = iota // there is no packing
	solved                 // low holds the offsets
	stopped                // the budget is used up, or halt said so
)

// preferences are the orders in which the blocks that can come next are tried; runs take
// turns. Long-lived blocks at the bottom make a floor for the others; the third order
// repeats what once got furthest. Each alone leaves some of the public problems unsolved
// for seconds.
var preferences = []func(s *search, b, c int32) int{
	func(s *search, b, c int32) int {
		return cmp.Or(cmp.Compare(s.length(c), s.length(b)), cmp.Compare(s.blocks[c].size, s.blocks[b].size), cmp.Compare(b, c))
	},
	func(s *search, b, c int32) int {
		return cmp.Or(cmp.Compare(s.low[b], s.low[c]), cmp.Compare(s.length(c), s.length(b)), cmp.Compare(b, c))
	},
	func(s *search, b, c int32) int {
		return cmp.Or(cmp.Compare(s.model[b], s.model[c]), cmp.Compare(b, c))
	},
}

// length returns the number of sections in which b lives, shaken for this run.
func (s *search) length(b int32) int64 { return s.lengths[b] }

// shake makes every length up to twice as long, at random, so that runs differ.
func (s *search) shake(k int64) {
	rng := rand.New(rand.NewPCG(uint64(k), 0))
	for i, b := range s.blocks {
		s.lengths[i] = int64(b.to-b.from) * 100
		if s.use.has(Shake) {
			s.lengths[i] += int64(b.to-b.from) * rng.Int64N(101)
		}
	}
}

// newSearch prepares a search; the instance is only read.
func newSearch(in *instance, capacity int64, use Techniques) *search {
	n, sections := len(in.blocks), len(in.members)
	s := &search{
		instance: in, capacity: capacity, use: use,
		low: make([]int64, n), high: make([]int64, n), below: make([]bool, n*n),
		lengths: make([]int64, n), model: make([]int64, n),
		members: cloneLists(in.members), decided: make([]int, sections),
		rest: make([]int64, sections), weight: make([]int64, sections),
		byLow: cloneLists(in.members), byTop: cloneLists(in.members),
		marks: marks{make([]bool, n), make([]bool, sections)},
	}
	for i, b := range in.blocks {
		s.high[i] = alignDown(capacity-b.size, b.align)
		if b.fixed {
			s.low[i], s.high[i] = b.offset, min(b.offset, s.high[i])
		}
		for _, t := range b.live {
			s.rest[t] += b.size
		}
	}
	for t := range s.weight {
		s.weight[t] = unit
	}
	return s
}

// run searches once, the k-th time from 1, within a number of steps, after start. Whatever
// a run has learnt stays in the sections' weights and in the model.
func (s *search) run(k, steps int64) outcome {
	s.better = preferences[k%int64(len(preferences))]
	if !s.use.has(Model) {
		s.better = preferences[k%2]
	}
	s.shake(k)
	s.left = steps
	base := len(s.trail)
	got := s.solve()
	if got == stopped {
		s.undo(base)
		s.forget()
	}
	return got
}

// start draws the first conclusions.
func (s *search) start() bool {
	for b := range s.blocks {
		if s.low[b] > s.high[b] {
			return false
		}
		s.mark(int32(b))
	}
	return s.settleFull() && s.propagate()
}

// settleFull puts blocks that are live in all sections at the bottom: in any packing they
// can be exchanged with what lies below them, which moves up by their size. That keeps
// the alignment of all others only where the size is a multiple of it.
func (s *search) settleFull() bool {
	for i, b := range s.blocks {
		if !s.use.has(Settle) || s.fixed || len(b.live) != len(s.members) || slices.ContainsFunc(s.blocks, func(c block) bool { return b.size%c.align != 0 }) {
			continue
		}
		for t := range s.members {
			if !s.decide(int32(t), int32(i)) {
				return false
			}
		}
	}
	return true
}

// solve decides what comes next in the section with the fewest choices, in every way.
func (s *search) solve() outcome {
	s.remember()
	t, choices := s.tightest()
	if t < 0 {
		return solved
	}
	var next []int32
	if choices > 0 {
		next = s.candidates(t)
	}
	if len(next) == 0 {
		s.blame(t)
	}
	for _, b := range next {
		if s.left--; s.left < 0 || s.tried%1024 == 1023 && s.halt() {
			return stopped
		}
		s.tried++
		mark := len(s.trail)
		if s.decide(t, b) && s.propagate() {
			if got := s.solve(); got != failed {
				return got
			}
		}
		s.undo(mark)
	}
	return failed
}

// remember keeps the offsets of the deepest point as a model for later runs.
func (s *search) remember() {
	if s.depth > s.deepest {
		s.deepest = s.depth
		copy(s.model, s.low)
	}
}

// blame counts a failure for a section.
func (s *search) blame(t int32) {
	if s.use.has(Weights) {
		s.weight[t] += unit
	}
}

// unit is one failure in a section's weight.
const unit = 1 << 10

// forget lets weights decay, so that what made the last runs fail counts most.
func (s *search) forget() {
	for t := range s.weight {
		s.weight[t] -= (s.weight[t] - unit) / 20
	}
}

// tightest returns the undecided section with the fewest choices for its weight, and how
// many it has at most; -1 if all is decided.
func (s *search) tightest() (section int32, choices int64) {
	section = -1
	for t := range s.members {
		if s.decided[t] == len(s.members[t]) {
			continue
		}
		n := s.choices(int32(t))
		if n <= 1 {
			return int32(t), n
		}
		// (n-1)/weight, compared without a division.
		if section < 0 || (n-1)*s.weight[section] < (choices-1)*s.weight[t] {
			section, choices = int32(t), n
		}
	}
	return section, choices
}

// choices counts the blocks that are low enough to be next in section t: all others of
// the section must still fit above.
func (s *search) choices(t int32) (n int64) {
	limit := s.capacity - s.rest[t]
	for _, b := range s.members[t][s.decided[t]:] {
		if s.low[b] <= limit {
			n++
		}
	}
	return n
}

// candidates returns the blocks that can be next in section t, the best first.
func (s *search) candidates(t int32) []int32 {
	var out []int32
	limit, open := s.capacity-s.rest[t], s.members[t][s.decided[t]:]
	for _, b := range open {
		if s.low[b] <= limit && !slices.ContainsFunc(open, func(c int32) bool { return s.isBelow(c, b) }) {
			out = append(out, b)
		}
	}
	slices.SortFunc(out, func(b, c int32) int { return s.better(s, b, c) })
	return out
}

// decide makes b the next block of section t, below all that are not decided there.
// It reports false where that contradicts what is known.
func (s *search) decide(t, b int32) bool {
	m, n := s.members[t], s.decided[t]
	at := n + slices.Index(m[n:], b)
	m[n], m[at] = m[at], m[n]
	s.decided[t]++
	s.depth++
	s.rest[t] -= s.blocks[b].size
	s.trail = append(s.trail, change{kind: decision, block: b, other: t})

	ok := s.lower(b, s.capacity-s.rest[t]-s.blocks[b].size)
	for _, c := range m[n+1:] {
		ok = ok && s.stack(b, c)
	}
	return ok
}
