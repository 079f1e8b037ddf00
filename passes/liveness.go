package passes

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// timeline is an entry point with the bodies of its repeats laid out once, in their
// places: see docs/plan.md, "Time".
type timeline struct {
	steps []step
	loops map[*ir.Func]*loop // by body

	// shared makes one of the ticks between which workers may run into each other: those
	// at the end and the beginning of a loop without a barrier at its head.
	shared []int
	merged bool // there are several such ticks anywhere

	// from and to are the first and the last position of each tick.
	from, to []int

	numbers *numbering
	events  []event // by the number of the origin, those of one in order
	first   []int32 // by that number, one more than there are: its first event
	touches touches
	list    []access // scratch of note
	owner   []int32  // likewise: the numbers of the origins of the events found so far
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

// event is an access at its place. Reads that only say that a value is still needed, at
// the end of a loop or of the function, have no node. There are very many, so they are small.
type event struct {
	node      *ir.Node
	value     *ir.Value // the origin
	span      *span
	pos, tick int32
	arg       int32 // the operand that is read; -1 for a result
	write     bool
	by        party
}

// access returns what the node of an event does.
func (e *event) access() access {
	return access{node: e.node, value: e.value, write: e.write, arg: int(e.arg), by: e.by, span: e.span, granule: e.node.Part.Granule}
}

func newTimeline(f *ir.Func) *timeline {
	t := &timeline{loops: make(map[*ir.Func]*loop), numbers: newNumbering(f)}
	t.touches = touches{skip: isFixed, axes: new(axisMemo).of, spans: new(store[span])}
	t.lay(f, 0, nil)
	ticks := 0
	for _, s := range t.steps {
		ticks = max(ticks, s.tick+1)
	}
	t.shareTicks(ticks)
	t.tickBorders(ticks)
	most := t.accesses()
	t.events, t.owner = make([]event, 0, most), make([]int32, 0, most)
	for i := range t.steps {
		t.note(i)
	}
	t.loopEnds()
	t.foreignLeaves()
	for _, r := range f.Results { // the caller reads them when all is done
		t.need(origin(r), len(t.steps), ticks-1)
	}
	t.sortEvents()
	return t
}

// sortEvents brings the events from the order in which they were found into that of values
// and time.
func (t *timeline) sortEvents() {
	t.first = make([]int32, t.numbers.values+1)
	for _, o := range t.owner {
		t.first[o+1]++
	}
	for i := range t.numbers.values {
		t.first[i+1] += t.first[i]
	}
	next := slices.Clone(t.first)
	for i, o := range t.owner {
		t.owner[i] = next[o]
		next[o]++
	}
	// In place: a second table of this size would be new memory, written in no order.
	for i := range t.owner {
		for to := t.owner[i]; to != int32(i); to = t.owner[i] {
			t.events[i], t.events[to] = t.events[to], t.events[i]
			t.owner[i], t.owner[to] = t.owner[to], to
		}
	}
	t.owner = nil
	for i := range t.numbers.values {
		if list := t.events[t.first[i]:t.first[i+1]]; !slices.IsSortedFunc(list, compareEvents) {
			slices.SortStableFunc(list, compareEvents)
		}
	}
}

// of returns the events of an origin, in order. The list is shared and must not be changed.
func (t *timeline) of(o *ir.Value) []event {
	i := t.numbers.value(o)
	return t.events[t.first[i]:t.first[i+1]:t.first[i+1]]
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
		t.steps = append(t.steps, step{n, tick, in})
		if n.Op != ir.OpRepeat {
			continue
		}
		if n.Body.HeadBarrier {
			tick++
		}
		l := &loop{node: n, outer: in, first: len(t.steps), firstTick: tick}
		t.loops[n.Body] = l
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
	for _, s := range t.steps {
		if l := t.loops[s.node.Body]; l != nil && !s.node.Body.HeadBarrier {
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
	t.from, t.to = make([]int, n), make([]int, n)
	for i := len(t.steps) - 1; i >= 0; i-- {
		t.from[t.steps[i].tick] = i
	}
	for i, s := range t.steps {
		t.to[s.tick] = i
	}
	if n > 0 {
		t.to[n-1] = len(t.steps)
	}
}

// accesses returns about how many there are.
func (t *timeline) accesses() int {
	sum := 0
	for _, s := range t.steps {
		if s.node.Op != ir.OpRepeat {
			sum += len(s.node.Args) + len(s.node.Results)
		}
	}
	return sum
}

// note adds the events of a step.
func (t *timeline) note(pos int) {
	s := t.steps[pos]
	n := s.node
	if n.Is(ir.Leaf) || n.Is(ir.View) || n.Op == ir.OpRepeat {
		return
	}
	t.list = t.touches.appendFinal(t.list[:0], n)
	if n.Part.Mode == ir.PartEach {
		for _, r := range n.Results {
			t.list = append(t.list, access{node: n, value: r, write: true, arg: -1})
		}
	}
	for i := range t.list {
		a := &t.list[i]
		t.add(event{a.node, a.value, a.span, int32(pos), int32(s.tick), int32(a.arg), a.write, a.by})
	}
}

// loopEnds adds reads at the end of loops: what a body reads from outside is read again by
// the next round, and what it leaves for the next round must still be there.
func (t *timeline) loopEnds() {
	for _, s := range t.steps {
		l := t.loops[s.node.Body]
		if l == nil {
			continue
		}
		for _, r := range l.node.Body.Results {
			t.need(origin(r), l.last, l.lastTick)
		}
	}
	for pos := range t.steps {
		if t.steps[pos].loop != nil {
			t.needOuter(pos)
		}
	}
}

// foreignLeaves adds that the leaves of a foreign graph are there before the call.
func (t *timeline) foreignLeaves() {
	for _, s := range t.steps {
		if s.node.Op == ir.OpForeign && s.node.Is(ir.Leaf) {
			t.need(s.node.Result(), 0, 0)
		}
	}
}

// needOuter notes for what a step reads that every loop around it, inside of which the
// value is not defined, reads it once more.
func (t *timeline) needOuter(pos int) {
	s := t.steps[pos]
	for _, a := range s.node.Args {
		if a == nil {
			continue
		}
		o := origin(a)
		for l := s.loop; l != nil && l.node.Body != o.Func; l = l.outer {
			t.need(o, l.last, l.lastTick)
		}
	}
}

// need notes that v is read at the end of a step. It does no harm to note it twice.
func (t *timeline) need(v *ir.Value, pos, tick int) {
	t.add(event{value: v, arg: -1, pos: int32(pos), tick: int32(tick)})
}

// add notes an event, and the number of its origin while that is at hand: memory is slow where
// tables of this size are walked out of order.
func (t *timeline) add(e event) {
	t.events = append(t.events, e)
	t.owner = append(t.owner, int32(t.numbers.value(e.value)))
}

// version returns the value whose bytes v's are before anything overwrites them: what a
// carried parameter starts with, what the last round leaves.
func (t *timeline) version(v *ir.Value) *ir.Value {
	for {
		if kind, i := paramKind(v); kind == paramCarried {
			v = origin(v.Func.Owner.Args[i])
			continue
		}
		if v.Def == nil || v.Def.Op != ir.OpRepeat {
			return v
		}
		v = origin(v.Def.Body.Results[v.Index])
	}
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
		b.chain = &chain{events: t.of(b.value), upTo: b.last}
		for x := b.next; x != nil; x = x.next {
			b.chain.events = mergeEvents(nil, b.chain.events, t.of(x.value))
		}
	}
	return b.chain
}

// lists calls yield with lists that, one after the other, are the events of a buffer as eventsOf
// returns them.
func (t *timeline) lists(b *buffer) func(yield func([]event) bool) {
	return func(yield func([]event) bool) {
		if b.next == nil {
			yield(t.of(b.value))
			return
		}
		c := t.chainOf(b)
		if !yield(c.events) {
			return
		}
		for x := c.upTo.next; x != nil && yield(t.of(x.value)); x = x.next {
		}
	}
}

// eventsOf returns the events of all values of a buffer, in order; at one step, reads come
// before writes. The list must not be changed.
func (t *timeline) eventsOf(b *buffer) []event {
	if b.next == nil {
		return t.of(b.value)
	}
	c := t.chainOf(b)
	for ; c.upTo != b.last; c.upTo = c.upTo.next {
		c.events = append(c.events, t.of(c.upTo.next.value)...)
	}
	return c.events
}

// tail returns events of a buffer, the last one included, if there are any.
func (t *timeline) tail(b *buffer) []event {
	if b.next == nil {
		return t.of(b.value)
	}
	if c := t.chainOf(b); c.upTo == b.last {
		return c.events
	}
	return t.of(b.last.value)
}

// mergeEvents appends the events of two lists, both in order, as eventsOf has them; of equal
// ones, those of x come first.
func mergeEvents(all, x, y []event) []event {
	for len(x) > 0 && len(y) > 0 {
		from := &x
		if compareEvents(y[0], x[0]) < 0 {
			from = &y
		}
		all = append(all, (*from)[0])
		*from = (*from)[1:]
	}
	return append(append(all, x...), y...)
}

// compareEvents has the order of events: by place, and at one step, reads before writes.
func compareEvents(a, b event) int {
	switch {
	case a.pos != b.pos:
		return int(a.pos - b.pos)
	case a.node == nil || b.node == nil: // the end of a loop comes after its last step
		return boolInt(a.node == nil) - boolInt(b.node == nil)
	}
	return boolInt(a.write) - boolInt(b.write)
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
			if e := &list[i]; e.shared() || e.node == nil {
				live = live.with(t.from[e.tick]).with(t.to[e.tick])
			}
		}
	}
	if len(t.loops) == 0 {
		return live
	}
	at := t.ticks(b)
	for _, l := range t.loops {
		if at.first <= l.firstTick && at.last >= l.lastTick {
			live = live.with(t.from[l.firstTick]).with(t.to[l.lastTick])
		}
	}
	return live
}

// shared reports whether other workers than the first have a part in an access.
func (e *event) shared() bool { return e.node != nil && e.by != worker0 }

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
