package plan

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// event is an access to the bytes of an origin at a position. If it is needed, no node makes the access: it represents
// a read at the end of a loop or of the function, of a value that has to be there still.
type event struct {
	flow.Access // its Value is the origin; only Value is set if the event is needed
	Pos, Tick   int
	needed      bool
}

// Of returns the events of an origin in order. The list is shared and must not be changed.
func (t *Timeline) Of(origin *ir.Value) []event { return *t.events.At(origin) }

// addEvent appends an event to those of its value.
func (t *Timeline) addEvent(e event) {
	list := t.events.At(e.Value)
	*list = append(*list, e)
}

// isShared reports whether other workers than worker 0 take part in an access.
func (e *event) isShared() bool { return !e.needed && e.By != flow.Worker0 }

// addAccesses adds the accesses of all steps. Those of a repeat are those of its body. Nothing writes weights and
// constants, so accesses to them are left out.
func (t *Timeline) addAccesses() {
	for pos, s := range t.Steps {
		n := s.Node
		if !flow.DoesWork(n) || n.Op == ir.OpRepeat {
			continue
		}
		var touches flow.Touches
		ax := flow.ChosenAxis(n)
		add := func(a flow.Access) {
			a.Granule = n.Part.Granule
			t.addEvent(event{Access: a, Pos: pos, Tick: s.tick})
		}
		for i, v := range n.Args {
			if v == nil || flow.IsUnread(ax, i) {
				continue
			}
			a := flow.Access{Node: n, Value: flow.Origin(v), Arg: i}
			if flow.IsFixed(a.Value) {
				continue
			}
			touches.Read(&a, n.Part.Mode, ax)
			add(a)
		}
		for i, v := range n.Results {
			a := flow.Access{Node: n, Value: flow.Origin(v), Arg: -1, Write: true}
			touches.Write(&a, i, n.Part.Mode, ax)
			add(a)
		}
	}
}

// addNeeds adds the events that no node makes. What a body reads from outside is read again by the next iteration, and
// what it leaves for the next one must still be there at its end. The leaves of a foreign graph are there before the
// call, and the caller reads the results after the last step. Some events are added twice, which does no harm.
func (t *Timeline) addNeeds(f *ir.Func) {
	needed := make(map[*ir.Value]bool)
	need := func(v *ir.Value, pos, tick int) {
		o := flow.Origin(v)
		needed[o] = true
		t.addEvent(event{Access: flow.Access{Value: o, Arg: -1}, Pos: pos, Tick: tick, needed: true})
	}
	for _, l := range t.loops {
		for _, r := range l.node.Body.Results {
			need(r, l.last, l.lastTick)
		}
	}
	for _, s := range t.Steps {
		for _, v := range s.Node.Args {
			if v == nil {
				continue
			}
			for l := s.loop; l != nil && l.node.Body != flow.Origin(v).Func; l = l.outer {
				need(v, l.last, l.lastTick)
			}
		}
	}
	for _, s := range t.Steps {
		if s.Node.Op == ir.OpForeign && s.Node.Is(ir.Leaf) {
			need(s.Node.Result(), 0, 0)
		}
	}
	for _, r := range f.Results {
		need(r, t.end(), t.ticks-1)
	}
	for o := range needed { // all other events are in order
		slices.SortStableFunc(t.Of(o), compareEvents)
	}
}

// compareEvents orders events by position. At one position, reads come before writes, and the end of a loop after both.
func compareEvents(a, b event) int {
	switch {
	case a.Pos != b.Pos:
		return a.Pos - b.Pos
	case a.needed || b.needed:
		return flow.BoolInt(a.needed) - flow.BoolInt(b.needed)
	}
	return flow.BoolInt(a.Write) - flow.BoolInt(b.Write)
}

// mergeEvents returns the events of two lists, both in order, as one list in order. Of equal ones, those of x come
// first.
func mergeEvents(x, y []event) []event {
	all := make([]event, 0, len(x)+len(y))
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
