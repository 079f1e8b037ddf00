package passes

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// timeline is an entry point with the bodies of its repeats laid out once, in their
// places: see docs/plan.md, "Time".
type timeline struct {
	steps   []step
	loops   map[*ir.Func]*loop // by body
	inOrder []*loop            // these, outer ones first

	// shared makes one of the ticks between which workers may run into each other: those
	// at the end and the beginning of a loop without a barrier at its head.
	shared []int
	merged bool // there are several such ticks anywhere

	pos          []int32 // by the number of a node: its step
	begins, ends []int   // the first and the last position of each tick

	origins  *origins
	events   []event // those of each origin in one piece
	from, to []int32 // by the origin's number: its events; between two pieces there may be room for some
	spans    []span  // that events have; few are different

	foreign []*ir.Value // leaves of a foreign graph
}

// step is a node at its place.
type step struct {
	node *ir.Node
	tick int // how many barriers stand before it
	loop *loop
}

// loop is a repeat on the timeline.
type loop struct {
	node                *ir.Node
	outer               *loop
	first, last         int // steps
	firstTick, lastTick int
}

func newTimeline(f *ir.Func, o *origins) *timeline {
	t := &timeline{loops: make(map[*ir.Func]*loop), origins: o}
	t.from, t.to, t.pos = make([]int32, len(o.list)), make([]int32, len(o.list)), make([]int32, o.numbers.nodes)
	t.lay(f, 0, nil)
	ticks := 0
	for _, s := range t.steps {
		ticks = max(ticks, s.tick+1)
	}
	t.shareTicks(ticks)
	t.tickBorders(ticks)
	t.makeEvents(t.needed(f, ticks))
	return t
}

// end returns the last position: behind the last step.
func (t *timeline) end() int { return len(t.steps) }

// lay appends the steps of f, the first of which has at least the given tick, and returns
// the tick of the last one.
func (t *timeline) lay(f *ir.Func, tick int, in *loop) int {
	epoch := 0
	t.steps = slices.Grow(t.steps, len(f.Nodes))
	for _, n := range f.Nodes {
		if n.Epoch > epoch {
			tick += n.Epoch - epoch
			epoch = n.Epoch
		}
		at := int32(t.origins.numbers.node(n))
		t.pos[at] = int32(len(t.steps))
		t.steps = append(t.steps, step{n, tick, in})
		t.expect(n, at)
		if n.Op != ir.OpRepeat {
			continue
		}
		if n.Body.HeadBarrier {
			tick++
		}
		l := &loop{node: n, outer: in, first: len(t.steps), firstTick: tick}
		t.loops[n.Body], t.inOrder = l, append(t.inOrder, l)
		tick = t.lay(n.Body, tick, l)
		l.last, l.lastTick = len(t.steps)-1, tick
	}
	return tick
}

func (t *timeline) shareTicks(n int) {
	t.shared = make([]int, n)
	for i := range t.shared {
		t.shared[i] = i
	}
	for _, l := range t.inOrder {
		if !l.node.Body.HeadBarrier {
			from, to := t.shared[l.lastTick], t.shared[l.firstTick]
			t.merged = t.merged || from != to
			for i, x := range t.shared {
				if x == from {
					t.shared[i] = to
				}
			}
		}
	}
}

// tickBorders finds where ticks begin and end. The caller's reads of the results belong to
// the last one.
func (t *timeline) tickBorders(n int) {
	t.begins, t.ends = make([]int, n), make([]int, n)
	for i := len(t.steps) - 1; i >= 0; i-- {
		t.begins[t.steps[i].tick] = i
	}
	for i, s := range t.steps {
		t.ends[s.tick] = i
	}
	if n > 0 {
		t.ends[n-1] = len(t.steps)
	}
}

// version returns the value whose bytes an event's are before anything overwrites them: what a
// carried parameter starts with, what the last round leaves.
func (t *timeline) version(e *event) *ir.Value {
	v := t.origins.list[e.origin]
	for len(t.loops) > 0 {
		if kind, i := paramKind(v); kind == paramCarried {
			v = origin(v.Func.Owner.Args[i])
			continue
		}
		if v.Def == nil || v.Def.Op != ir.OpRepeat {
			return v
		}
		v = origin(v.Def.Body.Results[v.Index])
	}
	return v
}

// chain is what is known of a buffer of several values.
type chain struct {
	events []event // of the values up to upTo, in order; those of the next values follow one after the other
	upTo   *buffer

	// Of planner.join, which has made it with the last value, so that a long chain of nodes in
	// place is not looked at again for each of them. All events are legal.
	legal    bool
	appended bool     // the last value's events come after all others
	queue    string   // of the node that wrote in place last
	users    []*event // those that stand for all of the last tick
}

// chainOf returns what is known of a buffer of several values: of those that have to share bytes the
// merged events.
func (t *timeline) chainOf(b *buffer) *chain {
	if b.chain == nil {
		b.chain = &chain{events: t.of(b.id), upTo: b.last}
		for x := b.next; x != nil; x = x.next {
			b.chain.events = mergeEvents(nil, b.chain.events, t.of(x.id))
		}
	}
	return b.chain
}

// lists calls yield with lists that, one after the other, are the events of a buffer as eventsOf
// returns them.
func (t *timeline) lists(b *buffer) func(yield func([]event) bool) {
	return func(yield func([]event) bool) {
		if b.next == nil {
			yield(t.of(b.id))
			return
		}
		c := t.chainOf(b)
		if !yield(c.events) {
			return
		}
		for x := c.upTo.next; x != nil && yield(t.of(x.id)); x = x.next {
		}
	}
}

// eventsOf returns the events of all values of a buffer, in order; at one step, reads come
// before writes. The list must not be changed.
func (t *timeline) eventsOf(b *buffer) []event {
	if b.next == nil {
		return t.of(b.id)
	}
	c := t.chainOf(b)
	for ; c.upTo != b.last; c.upTo = c.upTo.next {
		c.events = append(c.events, t.of(c.upTo.next.id)...)
	}
	return c.events
}

// tail returns events of a buffer, the last one included, if there are any.
func (t *timeline) tail(b *buffer) []event {
	if b.next == nil {
		return t.of(b.id)
	}
	if c := t.chainOf(b); c.upTo == b.last {
		return c.events
	}
	return t.of(b.last.id)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// interval is a range of ticks or steps, both ends included.
type interval struct{ first, last int }

func (i interval) with(at int) interval { return interval{min(i.first, at), max(i.last, at)} }

var never = interval{math.MaxInt, -1}

// live returns the positions between which the bytes of a buffer must be left alone by
// others. What worker 0 alone touches, or submits, comes one after the other; where other
// workers have a part in it, they may be anywhere in the tick.
func (t *timeline) live(b *buffer) interval {
	live, shared := never, false
	for list := range t.lists(b) {
		for i := range list {
			e := &list[i]
			live, shared = live.with(int(e.pos)), shared || e.shared()
		}
	}
	if !shared {
		return live
	}
	for list := range t.lists(b) {
		for i := range list {
			if e := &list[i]; e.shared() || e.needed {
				live = live.with(t.begins[e.tick]).with(t.ends[e.tick])
			}
		}
	}
	if len(t.loops) == 0 {
		return live
	}
	at := t.ticks(b)
	for _, l := range t.loops {
		if at.first <= l.firstTick && at.last >= l.lastTick {
			live = live.with(t.begins[l.firstTick]).with(t.ends[l.lastTick])
		}
	}
	return live
}

// ticks returns in which ticks the bytes of a buffer must be left alone by others.
func (t *timeline) ticks(b *buffer) interval {
	live := never
	for list := range t.lists(b) {
		for i := range list {
			live = live.with(int(list[i].tick))
		}
	}
	// Rounds that run into each other: see docs/plan.md.
	for again := true; again; {
		again = false
		for _, l := range t.loops {
			inside := live.first <= l.lastTick && live.last >= l.firstTick
			atEdge := live.last >= l.lastTick || live.first <= l.firstTick
			if !l.node.Body.HeadBarrier && inside && atEdge && (live.first > l.firstTick || live.last < l.lastTick) {
				live, again = live.with(l.firstTick).with(l.lastTick), true
			}
		}
	}
	return live
}

// positions returns the steps between which a worker uses a buffer of its own.
func (t *timeline) positions(b *buffer) interval {
	live := never
	for list := range t.lists(b) {
		for i := range list {
			live = live.with(int(list[i].pos))
		}
	}
	return live
}
