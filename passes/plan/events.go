package plan

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// event is an access at its place, or a read at the end of a loop or of the function that only says
// that a value is still needed. There are very many: they are small, and the collector has nothing to
// look for in them.
type event struct {
	Pos, Tick int32
	origin    int32 // its number
	span      int32 // among those of the timeline, counted from 1; 0 is none
	arg       int32 // the operand that is read; -1 for a result, and where no node reads
	by        flow.Party
	write     bool
	needed    bool // no node reads
}

// makeEvents finds the events of all steps, and adds those without a node, which are given.
func (t *Timeline) makeEvents(needed []event) {
	t.makeRoom(needed)
	x := &noter{t: t}
	for pos := range t.Steps {
		x.note(pos)
	}
	for i := range needed {
		t.put(needed[i])
	}
	for i := range needed { // all others come in order
		slices.SortStableFunc(t.Of(needed[i].origin), compareEvents)
	}
}

// expect counts the events that there may be of a node with a number, by origin.
func (t *Timeline) expect(n *ir.Node, at int32) {
	if touchesBytes(n) {
		t.count(t.Origins.Used.Operands(at))
		t.count(t.Origins.Used.Results(at))
	} else if n.Op == ir.OpForeign && n.Is(ir.Leaf) {
		t.foreign = append(t.foreign, n.Result())
	}
}

// makeRoom gives each origin room for its events, which were counted.
func (t *Timeline) makeRoom(needed []event) {
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
func (t *Timeline) count(list []int32) {
	for _, o := range list {
		if t.isNoted(o) {
			t.to[o]++
		}
	}
}

// isNoted reports whether accesses to an origin are events: there is one, and something writes it.
func (t *Timeline) isNoted(o int32) bool {
	return o != flow.None && t.Origins.Kinds[o] != flow.FixedOrigin
}

// touchesBytes reports whether the accesses of n are events: those of a repeat are those of its body.
func touchesBytes(n *ir.Node) bool { return flow.DoesWork(n) && n.Op != ir.OpRepeat }

// Of returns the events of an origin, by its number, in order. The list is shared and must not be
// changed.
func (t *Timeline) Of(origin int32) []event {
	from, to := t.from[origin], t.to[origin]
	return t.events[from:to:to]
}

// put adds an event to those of its origin.
func (t *Timeline) put(e event) {
	t.events[t.to[e.origin]] = e
	t.to[e.origin]++
}

// noter finds the events of the steps of a timeline.
type noter struct {
	t       *Timeline
	touches flow.Touches
}

// note adds the events of a step: what is private is touched as well.
func (x *noter) note(pos int) {
	t := x.t
	n := t.Steps[pos].Node
	if !touchesBytes(n) {
		return
	}
	at, ax := int32(t.Origins.Numbers.Node(n)), x.touches.ChosenAxis(n)
	for i, o := range t.Origins.Used.Operands(at) {
		if t.isNoted(o) && !flow.IsUnread(ax, i) {
			a := flow.Access{Node: n, Arg: i}
			x.touches.Read(&a, n.Part.Mode, ax)
			t.put(x.event(pos, o, &a))
		}
	}
	for i, o := range t.Origins.Used.Results(at) {
		if t.isNoted(o) {
			a := flow.Access{Node: n, Arg: -1, Write: true}
			x.touches.Write(&a, i, n.Part.Mode, ax)
			t.put(x.event(pos, o, &a))
		}
	}
}

// event returns an access, at a step, to an origin.
func (x *noter) event(pos int, origin int32, a *flow.Access) event {
	e := event{Pos: int32(pos), Tick: int32(x.t.Steps[pos].tick), origin: origin, arg: int32(a.Arg), by: a.By, write: a.Write}
	if a.Span != nil {
		e.span = x.t.keep(a.Span)
	}
	return e
}

// spansAsked is how many spans are compared with one to be kept: mostly it is one of the last ones.
const spansAsked = 8

// keep returns the number of a span among those that were found.
func (t *Timeline) keep(s *flow.Span) int32 {
	for i := len(t.spans); i > max(0, len(t.spans)-spansAsked); i-- {
		if t.spans[i-1].Equal(s) {
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
func (t *Timeline) needed(f *ir.Func, ticks int) []event {
	var list []event
	need := func(v *ir.Value, pos, tick int) {
		list = append(list, event{origin: t.Origins.Get(v), Pos: int32(pos), Tick: int32(tick), arg: -1, needed: true})
	}
	for _, l := range t.inOrder {
		for _, r := range l.node.Body.Results {
			need(r, l.last, l.lastTick)
		}
	}
	for _, l := range t.inOrder {
		if l.outer == nil {
			for i := range t.Steps[l.first : l.last+1] {
				t.needOuter(&t.Steps[l.first+i], need)
			}
		}
	}
	for _, v := range t.foreign {
		need(v, 0, 0)
	}
	for _, r := range f.Results {
		need(r, len(t.Steps), ticks-1)
	}
	return list
}

// needOuter notes for what a step reads that every loop around it, inside of which the
// value is not defined, reads it once more.
func (t *Timeline) needOuter(s *step, need func(v *ir.Value, pos, tick int)) {
	for _, a := range s.Node.Args {
		if a == nil {
			continue
		}
		o := t.Origins.List[t.Origins.Get(a)]
		for l := s.loop; l != nil && l.node.Body != o.Func; l = l.outer {
			need(o, l.last, l.lastTick)
		}
	}
}

// node returns the node of an event; nil for one that is needed.
func (t *Timeline) node(e *event) *ir.Node {
	if e.needed {
		return nil
	}
	return t.Steps[e.Pos].Node
}

// access returns what the node of an event does.
func (t *Timeline) access(e *event) flow.Access {
	n := t.Steps[e.Pos].Node
	a := flow.Access{Node: n, Value: t.Origins.List[e.origin], Write: e.write, Arg: int(e.arg), By: e.by, Granule: n.Part.Granule}
	if e.span > 0 {
		a.Span = &t.spans[e.span-1]
	}
	return a
}

// SameOwner is SameOwner for the accesses of two events.
func (t *Timeline) sameOwner(x, y *event) bool {
	if x.by != flow.Owners || y.by != flow.Owners {
		return x.by == flow.Worker0 && y.by == flow.Worker0
	}
	return flow.SameOwner(t.access(x), t.access(y))
}

// shared reports whether other workers than the first have a part in an access.
func (e *event) shared() bool { return !e.needed && e.by != flow.Worker0 }

// compareEvents has the order of events: by place, and at one step, reads before writes.
func compareEvents(a, b event) int {
	switch {
	case a.Pos != b.Pos:
		return int(a.Pos - b.Pos)
	case a.needed || b.needed: // the end of a loop comes after its last step
		return flow.BoolInt(a.needed) - flow.BoolInt(b.needed)
	}
	return flow.BoolInt(a.write) - flow.BoolInt(b.write)
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
