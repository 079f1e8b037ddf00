package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// event is an access at its place, or a read at the end of a loop or of the function that only says
// that a value is still needed. There are very many: they are small, and the collector has nothing to
// look for in them.
type event struct {
	pos, tick int32
	origin    int32 // its number
	span      int32 // among those of the timeline, counted from 1; 0 is none
	arg       int32 // the operand that is read; -1 for a result, and where no node reads
	by        party
	write     bool
	needed    bool // no node reads
}

// makeEvents finds the events of all steps, and adds those without a node, which are given.
func (t *timeline) makeEvents(needed []event) {
	t.makeRoom(needed)
	x := &noter{t: t}
	for pos := range t.steps {
		x.note(pos)
	}
	for i := range needed {
		t.put(needed[i])
	}
	for i := range needed { // all others come in order
		slices.SortStableFunc(t.of(needed[i].origin), compareEvents)
	}
}

// expect counts the events that there may be of a node with a number, by origin.
func (t *timeline) expect(n *ir.Node, at int32) {
	if touchesBytes(n) {
		t.count(t.origins.used.operands(at))
		t.count(t.origins.used.results(at))
	} else if n.Op == ir.OpForeign && n.Is(ir.Leaf) {
		t.foreign = append(t.foreign, n.Result())
	}
}

// makeRoom gives each origin room for its events, which were counted.
func (t *timeline) makeRoom(needed []event) {
	for i := range needed {
		t.to[needed[i].origin]++
	}
	sum := int32(0)
	for o, many := range t.to {
		t.from[o], t.to[o] = sum, sum
		sum += many
	}
	t.events = make([]event, sum)
}

// count counts accesses to origins.
func (t *timeline) count(list []int32) {
	for _, o := range list {
		if t.isNoted(o) {
			t.to[o]++
		}
	}
}

// isNoted reports whether accesses to an origin are events: there is one, and something writes it.
func (t *timeline) isNoted(o int32) bool { return o != none && t.origins.kinds[o] != fixedOrigin }

// touchesBytes reports whether the accesses of n are events: those of a repeat are those of its body.
func touchesBytes(n *ir.Node) bool { return works(n) && n.Op != ir.OpRepeat }

// of returns the events of an origin, by its number, in order. The list is shared and must not be
// changed.
func (t *timeline) of(origin int32) []event {
	from, to := t.from[origin], t.to[origin]
	return t.events[from:to:to]
}

// put adds an event to those of its origin.
func (t *timeline) put(e event) {
	t.events[t.to[e.origin]] = e
	t.to[e.origin]++
}

// noter finds the events of the steps of a timeline.
type noter struct {
	t       *timeline
	touches touches
}

// note adds the events of a step: what is private is touched as well.
func (x *noter) note(pos int) {
	t := x.t
	n := t.steps[pos].node
	if !touchesBytes(n) {
		return
	}
	at, ax := int32(t.origins.numbers.node(n)), x.touches.chosenAxis(n)
	for i, o := range t.origins.used.operands(at) {
		if t.isNoted(o) && !isUnread(ax, i) {
			a := access{node: n, arg: i}
			x.touches.read(&a, n.Part.Mode, ax)
			t.put(x.event(pos, o, &a))
		}
	}
	for i, o := range t.origins.used.results(at) {
		if t.isNoted(o) {
			a := access{node: n, arg: -1, write: true}
			x.touches.write(&a, i, n.Part.Mode, ax)
			t.put(x.event(pos, o, &a))
		}
	}
}

// event returns an access, at a step, to an origin.
func (x *noter) event(pos int, origin int32, a *access) event {
	e := event{pos: int32(pos), tick: int32(x.t.steps[pos].tick), origin: origin, arg: int32(a.arg), by: a.by, write: a.write}
	if a.span != nil {
		e.span = x.t.keep(a.span)
	}
	return e
}

// spansAsked is how many spans are compared with one to be kept: mostly it is one of the last ones.
const spansAsked = 8

// keep returns the number of a span among those that were found.
func (t *timeline) keep(s *span) int32 {
	for i := len(t.spans); i > max(0, len(t.spans)-spansAsked); i-- {
		if t.spans[i-1].equal(s) {
			return int32(i)
		}
	}
	t.spans = append(t.spans, *s)
	return int32(len(t.spans))
}

// needed returns the events that no node is responsible for. At the end of loops, what a body reads
// from outside is read again by the next round, and what it leaves for the next round must still be
// there. The leaves of a foreign graph are there before the call, and the caller reads the results when
// all is done. Some are there twice, which does no harm.
func (t *timeline) needed(f *ir.Func, ticks int) []event {
	var list []event
	need := func(v *ir.Value, pos, tick int) {
		list = append(list, event{origin: t.origins.get(v), pos: int32(pos), tick: int32(tick), arg: -1, needed: true})
	}
	for _, l := range t.inOrder {
		for _, r := range l.node.Body.Results {
			need(r, l.last, l.lastTick)
		}
	}
	for _, l := range t.inOrder {
		if l.outer == nil {
			for i := range t.steps[l.first : l.last+1] {
				t.needOuter(&t.steps[l.first+i], need)
			}
		}
	}
	for _, v := range t.foreign {
		need(v, 0, 0)
	}
	for _, r := range f.Results {
		need(r, len(t.steps), ticks-1)
	}
	return list
}

// needOuter notes for what a step reads that every loop around it, inside of which the
// value is not defined, reads it once more.
func (t *timeline) needOuter(s *step, need func(v *ir.Value, pos, tick int)) {
	for _, a := range s.node.Args {
		if a == nil {
			continue
		}
		o := t.origins.list[t.origins.get(a)]
		for l := s.loop; l != nil && l.node.Body != o.Func; l = l.outer {
			need(o, l.last, l.lastTick)
		}
	}
}

// node returns the node of an event; nil for one that is needed.
func (t *timeline) node(e *event) *ir.Node {
	if e.needed {
		return nil
	}
	return t.steps[e.pos].node
}

// access returns what the node of an event does.
func (t *timeline) access(e *event) access {
	n := t.steps[e.pos].node
	a := access{node: n, value: t.origins.list[e.origin], write: e.write, arg: int(e.arg), by: e.by, granule: n.Part.Granule}
	if e.span > 0 {
		a.span = &t.spans[e.span-1]
	}
	return a
}

// sameOwner is sameOwner for the accesses of two events.
func (t *timeline) sameOwner(x, y *event) bool {
	if x.by != owners || y.by != owners {
		return x.by == worker0 && y.by == worker0
	}
	return sameOwner(t.access(x), t.access(y))
}

// shared reports whether other workers than the first have a part in an access.
func (e *event) shared() bool { return !e.needed && e.by != worker0 }

// compareEvents has the order of events: by place, and at one step, reads before writes.
func compareEvents(a, b event) int {
	switch {
	case a.pos != b.pos:
		return int(a.pos - b.pos)
	case a.needed || b.needed: // the end of a loop comes after its last step
		return boolInt(a.needed) - boolInt(b.needed)
	}
	return boolInt(a.write) - boolInt(b.write)
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
