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
// (Moffitt, ASPLOS 2023). It decides one offset after another from the bottom up over all
// of time. Here the section that leaves the fewest choices comes first, as is usual for
// scheduling one machine per section: decisions then meet their consequences at once.
type search struct {
	capacity int64
	blocks   []block
	low      []int64 // by block: the lowest offset that it can have
	high     []int64 // by block: the highest one

	below []bool    // [b*len(blocks)+c]: b lies below c
	meets [][]int32 // by block: those live at the same time

	members [][]int32 // by section: its blocks, the decided ones first
	decided []int     // by section: how many of them
	rest    []int64   // by section: sum of the sizes of the others
	weight  []int64   // by section: how often it made the search fail lately, from unit up

	byLow, byTop [][]int32 // by section: its blocks as sectionFits last sorted them

	trail  []change
	raised []int32 // blocks whose bounds changed, to be propagated
	dirty  []int32 // sections to look at
	marks  marks

	better   func(s *search, b, c int32) int // negative where b is tried first
	halt     func() bool
	lengths  []int64 // by block: see length
	depth    int     // decisions that hold
	deepest  int     // the largest depth so far
	model    []int64 // by block: its low at that depth
	left     int64   // steps until the next restart
	tried    int64
	restarts int64
}

// block is a buffer in the terms of the search: live in sections [from, to).
type block struct {
	from, to    int32
	size, align int64
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
		s.lengths[i] = int64(b.to-b.from) * (100 + rng.Int64N(101))
	}
}

// newSearch prepares a search for the buffers of p; all have a size above 0.
func newSearch(p Problem, capacity int64) *search {
	times := make([]int64, 0, 2*len(p.Buffers))
	for _, b := range p.Buffers {
		times = append(times, b.Lower, b.Upper)
	}
	slices.Sort(times)
	times = slices.Compact(times)

	n, sections := len(p.Buffers), max(len(times)-1, 0)
	s := &search{
		capacity: capacity,
		blocks:   make([]block, n), low: make([]int64, n), high: make([]int64, n),
		below: make([]bool, n*n), meets: make([][]int32, n), lengths: make([]int64, n), model: make([]int64, n),
		members: make([][]int32, sections), decided: make([]int, sections),
		rest: make([]int64, sections), weight: make([]int64, sections),
		marks: marks{make([]bool, n), make([]bool, sections)},
	}
	for i, b := range p.Buffers {
		from, _ := slices.BinarySearch(times, b.Lower)
		to, _ := slices.BinarySearch(times, b.Upper)
		s.addBlock(int32(i), block{int32(from), int32(to), b.Size, b.align()})
	}
	s.byLow, s.byTop = cloneLists(s.members), cloneLists(s.members)
	for t := range s.weight {
		s.weight[t] = unit
	}
	return s
}

func (s *search) addBlock(i int32, b block) {
	s.blocks[i] = b
	s.high[i] = alignDown(s.capacity-b.size, b.align)
	for j, c := range s.blocks[:i] {
		if b.from < c.to && c.from < b.to {
			s.meets[i] = append(s.meets[i], int32(j))
			s.meets[j] = append(s.meets[j], i)
		}
	}
	for t := b.from; t < b.to; t++ {
		s.members[t] = append(s.members[t], i)
		s.rest[t] += b.size
	}
}

func cloneLists(lists [][]int32) [][]int32 {
	out := make([][]int32, len(lists))
	for i, l := range lists {
		out[i] = slices.Clone(l)
	}
	return out
}

// restartUnit is the steps of the shortest run. Runs follow Luby's sequence (1 1 2 1 1 2
// 4 …): most bad starts are left soon, and no run that would end is cut for ever.
const restartUnit = 1000

// run searches within a budget of steps. Whatever a run has learnt stays in the
// sections' weights.
func (s *search) run(steps int64) outcome {
	if !s.start() {
		return failed
	}
	base := len(s.trail)
	for k := int64(1); s.tried < steps; k++ {
		s.better = preferences[k%int64(len(preferences))]
		s.shake(k)
		s.left = min(restartUnit*luby(k), steps-s.tried)
		if got := s.solve(); got != stopped || s.halt() {
			return got
		}
		s.undo(base)
		s.forget()
		s.restarts++
	}
	return stopped
}

// luby returns the k-th number of Luby's sequence, from 1.
func luby(k int64) int64 {
	for p := int64(1); ; p = 2*p + 1 {
		if k == p {
			return (p + 1) / 2
		}
		if k < 2*p+1 {
			return luby(k - p)
		}
	}
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
		if int(b.to-b.from) != len(s.members) || slices.ContainsFunc(s.blocks, func(c block) bool { return b.size%c.align != 0 }) {
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
		s.weight[t] += unit
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
