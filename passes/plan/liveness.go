package plan

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// Timeline is an entry point with the bodies of its repeats laid out once, in their
// places: see docs/explanation/plan.md, "Time".
type Timeline struct {
	Steps   []step
	loops   map[*ir.Func]*loop // by body
	inOrder []*loop            // these, outer ones first

	// shared makes one of the ticks between which workers may run into each other: those
	// at the end and the beginning of a loop without a barrier at its head.
	shared []int
	merged bool // there are several such ticks anywhere

	pos          []int32 // by the number of a node: its step
	begins, ends []int   // the first and the last position of each tick

	Origins  *flow.Origins
	events   []event     // those of each origin in one piece
	from, to []int32     // by the origin's number: its events; between two pieces there may be room for some
	spans    []flow.Span // that events have; few are different

	foreign []*ir.Value // leaves of a foreign graph
}

// step is a node at its place.
type step struct {
	Node *ir.Node
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

func NewTimeline(f *ir.Func, o *flow.Origins) *Timeline {
	t := &Timeline{loops: make(map[*ir.Func]*loop), Origins: o}
	t.from, t.to, t.pos = make([]int32, len(o.List)), make([]int32, len(o.List)), make([]int32, o.Numbers.Nodes)
	t.lay(f, 0, nil)
	ticks := 0
	for _, s := range t.Steps {
		ticks = max(ticks, s.tick+1)
	}
	t.shareTicks(ticks)
	t.tickBorders(ticks)
	t.makeEvents(t.needed(f, ticks))
	return t
}

// end returns the last position: behind the last step.
func (t *Timeline) end() int { return len(t.Steps) }

// lay appends the steps of f, the first of which has at least the given tick, and returns
// the tick of the last one.
func (t *Timeline) lay(f *ir.Func, tick int, in *loop) int {
	epoch := 0
	t.Steps = slices.Grow(t.Steps, len(f.Nodes))
	for _, n := range f.Nodes {
		if n.Epoch > epoch {
			tick += n.Epoch - epoch
			epoch = n.Epoch
		}
		at := int32(t.Origins.Numbers.Node(n))
		t.pos[at] = int32(len(t.Steps))
		t.Steps = append(t.Steps, step{n, tick, in})
		t.expect(n, at)
		if n.Op != ir.OpRepeat {
			continue
		}
		if n.Body.HeadBarrier {
			tick++
		}
		l := &loop{node: n, outer: in, first: len(t.Steps), firstTick: tick}
		t.loops[n.Body], t.inOrder = l, append(t.inOrder, l)
		tick = t.lay(n.Body, tick, l)
		l.last, l.lastTick = len(t.Steps)-1, tick
	}
	return tick
}

func (t *Timeline) shareTicks(n int) {
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
func (t *Timeline) tickBorders(n int) {
	t.begins, t.ends = make([]int, n), make([]int, n)
	for i := len(t.Steps) - 1; i >= 0; i-- {
		t.begins[t.Steps[i].tick] = i
	}
	for i, s := range t.Steps {
		t.ends[s.tick] = i
	}
	if n > 0 {
		t.ends[n-1] = len(t.Steps)
	}
}

// version returns the value whose bytes an event's are before anything overwrites them: what a
// carried parameter starts with, what the last round leaves.
func (t *Timeline) version(e *event) *ir.Value {
	v := t.Origins.List[e.origin]
	for len(t.loops) > 0 {
		if kind, i := flow.ParamKind(v); kind == flow.ParamCarried {
			v = flow.Origin(v.Func.Owner.Args[i])
			continue
		}
		if v.Def == nil || v.Def.Op != ir.OpRepeat {
			return v
		}
		v = flow.Origin(v.Def.Body.Results[v.Index])
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
func (t *Timeline) chainOf(b *buffer) *chain {
	if b.chain == nil {
		b.chain = &chain{events: t.Of(b.id), upTo: b.last}
		for x := b.next; x != nil; x = x.next {
			b.chain.events = mergeEvents(nil, b.chain.events, t.Of(x.id))
		}
	}
	return b.chain
}

// lists calls yield with lists that, one after the other, are the events of a buffer as eventsOf
// returns them.
func (t *Timeline) lists(b *buffer) func(yield func([]event) bool) {
	return func(yield func([]event) bool) {
		if b.next == nil {
			yield(t.Of(b.id))
			return
		}
		c := t.chainOf(b)
		if !yield(c.events) {
			return
		}
		for x := c.upTo.next; x != nil && yield(t.Of(x.id)); x = x.next {
		}
	}
}

// eventsOf returns the events of all values of a buffer, in order; at one step, reads come
// before writes. The list must not be changed.
func (t *Timeline) eventsOf(b *buffer) []event {
	if b.next == nil {
		return t.Of(b.id)
	}
	c := t.chainOf(b)
	for ; c.upTo != b.last; c.upTo = c.upTo.next {
		c.events = append(c.events, t.Of(c.upTo.next.id)...)
	}
	return c.events
}

// tail returns events of a buffer, the last one included, if there are any.
func (t *Timeline) tail(b *buffer) []event {
	if b.next == nil {
		return t.Of(b.id)
	}
	if c := t.chainOf(b); c.upTo == b.last {
		return c.events
	}
	return t.Of(b.last.id)
}

// Interval is a range of ticks or steps, both ends included.
type Interval struct{ First, Last int }

func (i Interval) With(at int) Interval { return Interval{min(i.First, at), max(i.Last, at)} }

var Never = Interval{math.MaxInt, -1}

// live returns the positions between which the bytes of a buffer must be left alone by
// others. What worker 0 alone touches, or submits, comes one after the other; where other
// workers have a part in it, they may be anywhere in the tick.
func (t *Timeline) live(b *buffer) Interval {
	live, shared := Never, false
	for list := range t.lists(b) {
		for i := range list {
			e := &list[i]
			live, shared = live.With(int(e.Pos)), shared || e.shared()
		}
	}
	if !shared {
		return live
	}
	for list := range t.lists(b) {
		for i := range list {
			if e := &list[i]; e.shared() || e.needed {
				live = live.With(t.begins[e.Tick]).With(t.ends[e.Tick])
			}
		}
	}
	if len(t.loops) == 0 {
		return live
	}
	at := t.ticks(b)
	for _, l := range t.loops {
		if at.First <= l.firstTick && at.Last >= l.lastTick {
			live = live.With(t.begins[l.firstTick]).With(t.ends[l.lastTick])
		}
	}
	return live
}

// ticks returns in which ticks the bytes of a buffer must be left alone by others.
func (t *Timeline) ticks(b *buffer) Interval {
	live := Never
	for list := range t.lists(b) {
		for i := range list {
			live = live.With(int(list[i].Tick))
		}
	}
	// Rounds that run into each other: see docs/explanation/plan.md.
	for again := true; again; {
		again = false
		for _, l := range t.loops {
			inside := live.First <= l.lastTick && live.Last >= l.firstTick
			atEdge := live.Last >= l.lastTick || live.First <= l.firstTick
			if !l.node.Body.HeadBarrier && inside && atEdge && (live.First > l.firstTick || live.Last < l.lastTick) {
				live, again = live.With(l.firstTick).With(l.lastTick), true
			}
		}
	}
	return live
}

// positions returns the steps between which a worker uses a buffer of its own.
func (t *Timeline) positions(b *buffer) Interval {
	live := Never
	for list := range t.lists(b) {
		for i := range list {
			live = live.With(int(list[i].Pos))
		}
	}
	return live
}
