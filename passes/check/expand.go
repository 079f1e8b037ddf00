package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// trace is what a worker does in one call of an entry point, in order: repeats are laid
// out, round after round.
type trace struct {
	f       *ir.Func
	steps   []step
	ids     []int32 // objects that steps read and leave: see args and results
	objects []object
	spots   []spot      // of the objects
	returns []int32     // objects that the caller reads afterwards
	threads []string    // the queues of nodes, in the order of their first ones; the host is the first
	before  [][]ir.Wait // see step
}

// step is one node that is run, with what all that run it ask for: they do not look at the node,
// which lies elsewhere in memory.
type step struct {
	node   *ir.Node
	frame  *frame
	submit *ir.Submission // of the node
	own    *owners

	first         int32 // in ids, of its operands, which its results follow
	args, results int32 // how many there are
	thread        int32 // where it runs: see order
	before        int32 // what worker 0 waits for earlier, besides what the node says: in the trace's list, counted from 1

	barrier bool // all workers meet before it
	tail    bool // its partition has one
	fresh   bool // its results have bytes of their own
}

// args returns the objects that a step reads; none for absent operands and for what nothing has
// defined.
func (t *trace) args(st *step) []int32 { return t.ids[st.first : st.first+st.args] }

// results returns the objects that a step leaves.
func (t *trace) results(st *step) []int32 {
	first := st.first + st.args
	return t.ids[first : first+st.results]
}

// earlier returns what worker 0 waits for before a step, besides what its node says.
func (t *trace) earlier(st *step) []ir.Wait {
	if st.before == 0 {
		return nil
	}
	return t.before[st.before-1]
}

// waits returns what the node of a step waits for.
func (st *step) waits() []ir.Wait {
	if st.submit == nil {
		return nil
	}
	return st.submit.Waits
}

// none stands for no object.
const none = -1

// object is one version of the contents of some bytes: what one execution of a node
// leaves there, or what was there before the call. Views are the object that they name.
type object struct {
	val     *ir.Value
	frame   *frame
	place   ir.Place   // all that is reserved, in the call that is looked at
	several *instances // nil where there is one
}

// spot is what is asked of an object at every step. There are so many objects that it counts how
// much of memory that takes.
type spot struct {
	at    cells // where the object lies in the call that is looked at
	last  int32 // the last step that reads it; as many as there are steps for the caller
	kind  objectKind
	class ir.Class // of the arena
}

type objectKind uint8

const (
	made   objectKind = iota // by a node
	input                    // a parameter of the entry point
	given                    // by the caller as well, and his no longer once it was read for the last time: a leaf of a foreign graph
	weight                   // or a constant
	state                    // as it was before the call
)

// frame is one execution of a function: of the entry point, or one round of a body.
type frame struct {
	f     *ir.Func
	up    *frame
	round int64
	objs  []int32 // by value id
}

// String returns the way to the frame, such as decode/layers[3].
func (f *frame) String() string {
	if f.up == nil {
		return f.f.Name
	}
	return fmt.Sprintf("%v/%s[%d]", f.up, f.f.Name, f.round)
}

// maxSteps bounds the length of a trace.
const maxSteps = 1 << 22

// expander makes a trace.
type expander struct {
	c       *checker
	t       *trace
	weights []int32       // objects of weights, by their index
	likely  int           // the index of the next weight
	leaves  map[any]int32 // objects of states, constants and other leaves
	barrier bool          // one stands before the next step
	before  []ir.Wait     // of repeats that begin with the next step
	threads map[string]int32
	thread  int32 // of the step before
	full    bool  // there are too many steps
}

// expand lays out an entry point.
//
// The rounds of a repeat without tables do the same with the same bytes: what the third
// round finds in memory, it finds as the second one did, counted from itself. Three rounds
// and what follows the last of them stand for any larger number. With tables every round
// has weights and states of its own, and all are laid out.
func (c *checker) expand(f *ir.Func) *trace {
	x := &expander{c: c, t: &trace{f: f, threads: []string{""}}, leaves: make(map[any]int32), threads: map[string]int32{"": 0}}
	x.weights = slices.Repeat([]int32{none}, len(c.m.Weights))
	x.reserve(f)
	top := newFrame(f, nil, 0)
	for _, p := range f.Params {
		top.objs[p.ID] = x.object(p, top, input, *p.Place)
	}
	x.run(top)
	for _, r := range f.Results {
		x.t.returns = append(x.t.returns, top.objs[r.ID])
	}
	if x.full {
		c.report("", &Violation{Rule: RuleReads, Func: f.Name, What: fmt.Sprintf("more than %d nodes run in a call: that is too long to prove", maxSteps)})
	}
	x.t.lastReads()
	return x.t
}

// reserve makes room for what the nodes of f come to, those of bodies aside.
func (x *expander) reserve(f *ir.Func) {
	steps, objects, ids := 0, len(f.Params), 0
	for _, n := range f.Nodes {
		switch {
		case works(n):
			steps, objects, ids = steps+1, objects+len(n.Results), ids+len(n.Args)+len(n.Results)
		case n.Is(ir.Leaf):
			objects++
		}
	}
	x.t.steps, x.t.ids = make([]step, 0, steps), make([]int32, 0, ids)
	x.t.objects, x.t.spots = make([]object, 0, objects), make([]spot, 0, objects)
}

func newFrame(f *ir.Func, up *frame, round int64) *frame {
	fr := &frame{f: f, up: up, round: round, objs: make([]int32, f.NumValues())}
	for i := range fr.objs {
		fr.objs[i] = none
	}
	return fr
}

// object adds an object at an address.
func (x *expander) object(v *ir.Value, fr *frame, kind objectKind, at ir.Place) int32 {
	several := x.c.instancesOf(at, v.Slots())
	at.Bytes = max(at.Bytes, v.MaxBytes())
	x.t.objects = append(x.t.objects, object{val: v, frame: fr, place: at, several: several})
	x.t.spots = append(x.t.spots, spot{last: none, kind: kind, class: x.c.class(at)})
	return int32(len(x.t.objects) - 1)
}

// again adds the next version of an object, in the same bytes.
func (x *expander) again(v *ir.Value, fr *frame, old int32) int32 {
	id := x.object(v, fr, made, x.t.objects[old].place)
	x.t.objects[id].several = x.t.objects[old].several
	return id
}

// run lays out the nodes of a frame. A barrier stands before a node whose epoch is larger
// than that of the node with work before it.
func (x *expander) run(fr *frame) {
	epoch := 0
	for _, n := range fr.f.Nodes {
		if works(n) && n.Epoch > epoch {
			epoch, x.barrier = n.Epoch, true
		}
		switch {
		case n.Is(ir.Leaf):
			fr.objs[n.Result().ID] = x.leaf(n, fr)
		case n.Is(ir.View):
			fr.objs[n.Result().ID] = fr.objs[n.Result().Source().ID]
		case n.Op == ir.OpRepeat:
			x.repeat(n, fr)
		case len(x.t.steps) == maxSteps:
			x.full = true
		default:
			x.step(n, fr)
		}
	}
}

// leaf returns the object of a weight, a constant, or a state before the call.
func (x *expander) leaf(n *ir.Node, fr *frame) int32 {
	var key any = n
	at, kind := n.Result().Place, weight
	if n.Op == ir.OpForeign {
		kind = given
	}
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		w := x.c.m.WeightIndex(a.Name, x.likely)
		x.likely = w + 1
		if x.weights[w] == none {
			x.weights[w] = x.object(n.Result(), fr, kind, *x.c.m.Weights[w].Place)
		}
		return x.weights[w]
	case *ir.StateAttr:
		s := x.c.m.State(a.Name)
		key, at, kind = s, s.Place, state
	}
	o, known := x.leaves[key]
	if !known {
		o = x.object(n.Result(), fr, kind, *at)
		x.leaves[key] = o
	}
	return o
}

// step adds a node that does work. The result of an alias is the next version of the
// operand's bytes. A foreign node that works in place changes a part of a value that
// keeps its name: in such graphs the order says what a reader finds.
func (x *expander) step(n *ir.Node, fr *frame) {
	t := x.t
	s := step{
		node: n, frame: fr, submit: n.Submit, thread: x.threadOf(n.Queue()), barrier: x.barrier, tail: n.Part.Tail,
		first: int32(len(t.ids)), args: int32(len(n.Args)), results: int32(len(n.Results)),
		fresh: n.Op != ir.OpForeign && !n.Is(ir.Alias),
	}
	if x.before != nil {
		t.before = append(t.before, x.before)
		s.before = int32(len(t.before))
	}
	x.before, x.barrier = nil, false
	for _, a := range n.Args {
		o := int32(none)
		if a != nil {
			o = fr.objs[a.ID]
		}
		t.ids = append(t.ids, o)
	}
	for _, r := range n.Results {
		o := x.result(&s, r)
		fr.objs[r.ID] = o
		t.ids = append(t.ids, o)
	}
	t.steps = append(t.steps, s)
}

// result returns the object that result r of a step is.
func (x *expander) result(s *step, r *ir.Value) int32 {
	n := s.node
	switch {
	case r.Place != nil && (s.fresh || r.Source() == nil):
		return x.object(r, s.frame, made, *r.Place)
	case n.Op == ir.OpForeign:
		return s.frame.objs[r.Source().ID]
	case n.Is(ir.Alias):
		if old := x.t.ids[s.first+int32(n.Op.Info().AliasArg)]; old != none {
			return x.again(r, s.frame, old)
		}
	}
	return none
}

// threadOf returns the number of a queue's thread; most nodes run where the one before runs.
func (x *expander) threadOf(queue string) int32 {
	if x.t.threads[x.thread] == queue {
		return x.thread
	}
	at, known := x.threads[queue]
	if !known {
		at = int32(len(x.t.threads))
		x.threads[queue] = at
		x.t.threads = append(x.t.threads, queue)
	}
	x.thread = at
	return at
}

// repeat lays out the rounds of a repeat.
func (x *expander) repeat(n *ir.Node, fr *frame) {
	attr := n.Attr.(*ir.RepeatAttr)
	rounds := attr.Count
	x.before = append(x.before, waitsOf(n)...)
	if tables, _ := attr.Tables(len(n.Args)); tables == 0 {
		rounds = min(rounds, 3)
	}
	var carried []int32
	for _, a := range n.Args[:attr.Carried] {
		carried = append(carried, fr.objs[a.ID])
	}
	for round := range rounds {
		in := newFrame(n.Body, fr, round)
		for i, p := range n.Body.Params {
			in.objs[p.ID] = x.passed(n, fr, carried, i, round)
			x.standsAt(p, in, in.objs[p.ID], i < attr.Carried+attr.Invariant || round == 0)
		}
		x.barrier = x.barrier || n.Body.HeadBarrier
		x.run(in)
		for i, r := range n.Body.Results {
			carried[i] = in.objs[r.ID]
			x.standsAt(n.Body.Params[i], in, carried[i], true)
		}
		if x.full {
			break
		}
	}
	for i, r := range n.Results {
		fr.objs[r.ID] = carried[i]
		x.standsAt(r, fr, carried[i], true)
	}
}

// passed returns the object that parameter i of a body stands for in a round.
func (x *expander) passed(n *ir.Node, fr *frame, carried []int32, i int, round int64) int32 {
	attr := n.Attr.(*ir.RepeatAttr)
	fixed := attr.Carried + attr.Invariant
	switch {
	case i < attr.Carried:
		return carried[i]
	case i < fixed:
		return fr.objs[n.Args[i].ID]
	}
	return fr.objs[n.Args[fixed+(i-fixed)*int(attr.Count)+int(round)].ID]
}

// standsAt claims: the bytes of an object are where the value that stands for it says. The
// place of a table's parameter is that of the first entry. A carried parameter without a
// place is where the first round finds it.
func (x *expander) standsAt(v *ir.Value, fr *frame, o int32, fixed bool) {
	at := v.Place
	if at == nil && v.IsParam() && v.Index < v.Func.Owner.Attr.(*ir.RepeatAttr).Carried {
		if first := v.Func.Owner.Args[v.Index].Root(); first.Place != nil {
			at = first.Place
		}
	}
	if o == none {
		return
	}
	got := &x.t.objects[o]
	x.sameInstances(v, fr, got)
	if at == nil || !fixed || sameStart(*at, got.place) {
		return
	}
	x.c.report(fmt.Sprintf("stands %p %p", v, got.val), &Violation{
		Rule: RuleAddress, Func: fr.String(), Nodes: []string{v.String(), got.val.String()}, Range: x.c.inRange(got.place),
		What: fmt.Sprintf("%v is %v by its definition, and lies at %s", v, got.val, x.c.inRange(*at)),
	})
}

// lastReads notes for every object the last step that reads it. Inputs are the caller's
// for the whole call, as results are; a state's last version is what the next call finds.
func (t *trace) lastReads() {
	for i := range t.steps {
		for _, o := range t.args(&t.steps[i]) {
			if o != none {
				t.spots[o].last = int32(i)
			}
		}
	}
	for i := range t.spots {
		if t.spots[i].kind == input {
			t.spots[i].last = int32(len(t.steps))
		}
	}
	for _, o := range t.returns {
		if o != none {
			t.spots[o].last = int32(len(t.steps))
		}
	}
}
