package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// This file lays out an entry point as a trace.
//
// The iterations of a repeat without tables do the same with the same bytes: the third one finds in memory what the
// second one found, with all versions one further. So three iterations, and the steps after the last of them, represent
// any larger number. With tables each iteration has weights and states of its own, and all are laid out.
//
// Claim: the parameters of bodies and the results of repeats, which name objects of other values, record the addresses
// of those objects. In
//
//	%a = silu %x                         at 0x000+256
//	%r = repeat %a {count=8, carried=1}  at 0x100+256
//	  body(%h at 0x000+256) { %n = neg %h at 0x000+256; return %n }
//
// the emitted code would look for the result at 0x100, and the last iteration leaves it at 0x000.

// maxSteps bounds the length of a trace.
const maxSteps = 1 << 22

// expander makes a trace.
type expander struct {
	c      *checker
	t      *trace
	leaves map[any]*object // of weights, states, constants and leaves of foreign graphs
	full   bool            // there are too many steps

	// What the next step begins with:
	barrier bool
	waits   []ir.Wait // of repeats
}

// expand lays out an entry point.
func (c *checker) expand(f *ir.Func) *trace {
	x := &expander{c: c, t: &trace{f: f}, leaves: make(map[any]*object, len(c.m.Weights)+len(c.m.States))}
	top := newFrame(f, nil, 0)
	for _, p := range f.Params {
		top.objects[p.ID] = x.object(p, top, input, *p.Place)
	}
	x.run(top)
	for _, r := range f.Results {
		x.t.returns = append(x.t.returns, top.objects[r.ID])
	}
	if x.full {
		c.report("", &Violation{Rule: RuleReads, Func: f.Name,
			What: fmt.Sprintf("more than %d nodes run in a call: that is too long to prove", maxSteps)})
	}
	x.t.noteLastReads()
	return x.t
}

// object adds an object at an address.
func (x *expander) object(v *ir.Value, fr *frame, kind objectKind, at ir.Place) *object {
	o := &object{val: v, frame: fr, kind: kind, place: at, class: x.c.class(at), last: -1}
	o.several = x.c.instancesOf(at, v.Slots())
	o.place.Bytes = max(at.Bytes, v.MaxBytes())
	x.t.objects = append(x.t.objects, o)
	return o
}

// run lays out the nodes of a frame. There is a barrier before a node whose epoch is larger than that of the node
// before it that computes something.
func (x *expander) run(fr *frame) {
	epoch := 0
	x.t.steps = slices.Grow(x.t.steps, min(len(fr.f.Nodes), maxSteps-len(x.t.steps)))
	for _, n := range fr.f.Nodes {
		if works(n) && n.Epoch > epoch {
			epoch, x.barrier = n.Epoch, true
		}
		switch {
		case n.Is(ir.Leaf):
			fr.objects[n.Result().ID] = x.leaf(n, fr)
		case n.Is(ir.View):
			fr.objects[n.Result().ID] = fr.objects[n.Result().Source().ID]
		case n.Op == ir.OpRepeat:
			x.repeat(n, fr)
		case len(x.t.steps) == maxSteps:
			x.full = true
		default:
			x.step(n, fr)
		}
	}
}

// leaf returns the object of a weight, a constant, or a state before the call. All nodes that name a weight or state
// share its object.
func (x *expander) leaf(n *ir.Node, fr *frame) *object {
	var key any = n
	at, kind := n.Result().Place, weight
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		w := x.c.m.Weight(a.Name)
		key, at = w, w.Place
	case *ir.StateAttr:
		s := x.c.m.State(a.Name)
		key, at, kind = s, s.Place, state
	}
	if n.Op == ir.OpForeign {
		kind = given
	}
	if x.leaves[key] == nil {
		x.leaves[key] = x.object(n.Result(), fr, kind, *at)
	}
	return x.leaves[key]
}

// step adds an execution of a node that computes something.
func (x *expander) step(n *ir.Node, fr *frame) {
	x.t.steps = append(x.t.steps, step{index: len(x.t.steps), node: n, frame: fr, own: x.c.ownersOf(n), barrier: x.barrier, waits: x.waits})
	x.waits, x.barrier = nil, false
	st := &x.t.steps[len(x.t.steps)-1]
	all := make([]*object, len(n.Args)+len(n.Results))
	st.args, st.results = all[:len(n.Args)], all[len(n.Args):]
	for i, a := range n.Args {
		if a != nil {
			st.args[i] = fr.objects[a.ID]
		}
	}
	for i, r := range n.Results {
		st.results[i] = x.result(st, r)
		fr.objects[r.ID] = st.results[i]
	}
}

// result returns the object that result r of a step is. The result of an alias is the next version of its operand's
// bytes. A foreign node that works in place changes a part of an object that keeps its name, as in such graphs the
// order alone defines what a reader finds.
func (x *expander) result(st *step, r *ir.Value) *object {
	n := st.node
	switch {
	case r.Place != nil && (ownBytes(n) || r.Source() == nil):
		return x.object(r, st.frame, made, *r.Place)
	case n.Op == ir.OpForeign:
		return st.frame.objects[r.Source().ID]
	case n.Is(ir.Alias):
		if old := st.args[n.Op.Info().AliasArg]; old != nil {
			next := x.object(r, st.frame, made, old.place)
			next.several = old.several
			return next
		}
	}
	return nil
}

// repeat lays out the iterations of a repeat.
func (x *expander) repeat(n *ir.Node, fr *frame) {
	attr := n.Attr.(*ir.RepeatAttr)
	fixed := attr.Carried + attr.Invariant
	count := attr.Count
	if tables, _ := attr.Tables(len(n.Args)); tables == 0 {
		count = min(count, 3)
	}
	x.waits = append(x.waits, waitsOf(n)...)
	carried := make([]*object, attr.Carried)
	for i, a := range n.Args[:attr.Carried] {
		carried[i] = fr.objects[a.ID]
	}
	for iteration := range count {
		in := newFrame(n.Body, fr, iteration)
		for i, p := range n.Body.Params {
			o := fr.objects[operandOf(n, i, iteration).ID]
			if i < attr.Carried {
				o = carried[i]
			}
			in.objects[p.ID] = o
			x.sameInstances(p, in, o)
			if i < fixed || iteration == 0 { // a table's parameter records the address of the first entry
				x.sameAddress(p, in, o)
			}
		}
		x.barrier = x.barrier || n.Body.HeadBarrier
		x.run(in)
		for i, r := range n.Body.Results {
			carried[i] = in.objects[r.ID]
			x.sameObject(n.Body.Params[i], in, carried[i])
		}
		if x.full {
			break
		}
	}
	for i, r := range n.Results {
		fr.objects[r.ID] = carried[i]
		x.sameObject(r, fr, carried[i])
	}
}

// sameObject claims: v, which names an object, records its address and its instances.
func (x *expander) sameObject(v *ir.Value, fr *frame, o *object) {
	x.sameInstances(v, fr, o)
	x.sameAddress(v, fr, o)
}

// sameAddress claims: if v records an address, it is that of the object. A carried parameter without one is expected at
// the address that the first iteration finds.
func (x *expander) sameAddress(v *ir.Value, fr *frame, o *object) {
	at := v.Place
	if at == nil && v.IsParam() && v.Index < v.Func.Owner.Attr.(*ir.RepeatAttr).Carried {
		at = v.Func.Owner.Args[v.Index].Root().Place
	}
	if o == nil || at == nil || sameStart(*at, o.place) {
		return
	}
	x.c.report(fmt.Sprintf("address %p %p", v, o.val), &Violation{
		Rule: RuleAddress, Func: fr.String(), Nodes: []string{v.String(), o.val.String()}, Range: x.c.inRange(o.place),
		What: fmt.Sprintf("%v is %v by its definition, and is at %s", v, o.val, x.c.inRange(*at)),
	})
}
