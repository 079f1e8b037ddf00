package placement

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ggmlc/ggmlc/passes/abreast"
)

// fewImproved is how many assignments are improved by moves.
const fewImproved = 4

// improve improves the best assignments.
func (s *solver) improve() {
	slices.SortStableFunc(s.found, compare)
	s.found = slices.CompactFunc(s.found, func(a, b found) bool { return slices.Equal(a.labels, b.labels) })
	s.descents(slices.Clone(s.found[:min(fewImproved, len(s.found))]))
	s.polish()
}

func (s *solver) proved(f found) bool { return f.over == 0 && !shorter(s.bound, f.time) }

// turns are descents that go on side by side, and count as if one began when the one before has
// ended: how much it may try depends on how much those before have tried, and whether it is wanted
// at all on what they have found.
type turns struct {
	*solver
	free  int         // what all together may try
	comes []chan bool // by descent, and one more: its turn has come, if it is wanted
	over  atomic.Bool // no more descents are wanted
}

// descents improves assignments, until one is proved to be the best or the work is used up.
func (s *solver) descents(bases []found) {
	t := &turns{solver: s, free: s.work - s.done, comes: make([]chan bool, len(bases)+1)}
	for i := range t.comes {
		t.comes[i] = make(chan bool, 1)
	}
	t.call(0)
	abreast.Each(len(bases), func() *bench { return &bench{groups: newGrouper(s.g)} }, func(b *bench, i int) {
		defer close(t.comes[i+1]) // after a panic nobody's turn comes
		t.take(i, bases[i].labels, b)
	})
}

// bench is what one worker makes descents with, one after the other.
type bench struct {
	groups *grouper
	last   *state // of the descent before; nil if there is none
}

// state returns the state that an assignment is.
func (b *bench) state(g *graph, labels []int32) *state {
	if b.last == nil {
		b.last = newState(g, labels)
	} else {
		b.last.begin(labels)
	}
	return b.last
}

// call says whether descent i is wanted, when its turn has come.
func (t *turns) call(i int) {
	wanted := !t.proved(t.found[0]) && t.done < t.work
	t.over.Store(!wanted)
	t.comes[i] <- wanted
}

// sure is how much descent i may try in any case, or nearly: each takes half of what those before
// have left, and little more.
func (t *turns) sure(i int) int { return t.free>>(i+1) - t.free>>(i+4) }

// limit returns how much descent i may try, when its turn has come: nothing, if it is not wanted.
func (t *turns) limit(i int) int {
	if !<-t.comes[i] {
		return 0
	}
	return (t.work - t.done) / 2
}

// take is descent i. Until its turn comes it tries as much as it may in any case.
func (t *turns) take(i int, labels []int32, b *bench) {
	ended := func() bool { return t.ctx.Err() != nil || t.over.Load() }
	if ended() {
		return
	}
	limit := sync.OnceValue(func() int { return t.limit(i) })
	d := newDescent(b.state(t.g, labels), b.groups, t.sure(i), ended)
	d.more = limit
	d.descend()
	if limit() == 0 {
		return
	}
	if limit() < t.sure(i) { // it has tried too much
		d = newDescent(b.state(t.g, labels), b.groups, limit(), ended)
		d.descend()
	}
	t.done += d.work
	t.add(d.labels)
	slices.SortStableFunc(t.found, compare)
	t.call(i + 1)
}

// polishWork is how many nodes the clock may walk over to try moves that the sum of all
// costs does not see, as they change what overlaps.
// Where that is less than fewPolished moves, none is tried.
const (
	polishWork  = 3_000_000
	fewPolished = 100
)

// polish moves single nodes, and groups around leaves, of the best assignment as long as
// the clock says that helps.
func (s *solver) polish() {
	best := s.found[0]
	if s.g.sync || best.over > 0 || polishWork/max(len(s.g.Nodes), 1) < fewPolished {
		return
	}
	walked := 0
	st := newState(s.g, best.labels)
	try := func(change func()) bool {
		if walked >= polishWork || s.ctx.Err() != nil {
			return false
		}
		walked += len(s.g.Nodes)
		mark := st.mark()
		change()
		if st.over == 0 && s.g.legal(st.labels) {
			if t := s.clock.total(st.labels); shorter(t, best.time) {
				best.time = t
				return true
			}
		}
		st.undo(mark)
		return false
	}
	for again := true; again && walked < polishWork; {
		again = s.round(st, try)
	}
	s.add(st.labels)
	slices.SortStableFunc(s.found, compare)
}

// round tries each node alone, with what shares its leaves, and with each of those that read
// what it makes, and reports whether something helped.
func (s *solver) round(st *state, try func(func()) bool) bool {
	helped := false
	for i := range s.g.Nodes {
		x := int32(i)
		for _, t := range s.g.labelsOf(x) {
			if t != st.labels[x] {
				helped = try(func() { st.move(s.groups().around(x), t) }) || helped
			}
			if t != st.labels[x] {
				helped = try(func() { st.set(x, t) }) || helped
			}
			for _, v := range s.g.owned.at(x) {
				for _, r := range s.g.readers.at(v) {
					if t != st.labels[x] || t != st.labels[r] {
						helped = try(func() { st.moveAll(t, x, r) }) || helped
					}
				}
			}
		}
	}
	return helped
}
