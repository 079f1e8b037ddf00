package ir

import (
	le "encoding/binary" // binary is an op here

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ruleIndex is the rule of violations of selections.
const ruleIndex = "index"

// selection is an operand whose elements select rows: each must be at least 0 and below extent. Kernels
// do not check them.
type selection struct {
	arg    int
	extent Dim
}

// selectors are the operands that select, by op: operand arg selects along an axis of operand from. A
// negative axis is counted from the end; more is added to the extent.
var selectors = [NumOps][]struct{ arg, from, axis, more int }{
	OpGather:            {{arg: 1, from: 0, axis: 0}},
	OpTake:              {{arg: 1, from: 0, axis: -1}},
	OpExpertsMatMul:     {{arg: 2, from: 1, axis: 0}},
	OpCopyExperts:       {{arg: 1, from: 0, axis: 0}},
	OpStateWrite:        {{arg: 2, from: 0, axis: 0}, {arg: 3, from: 0, axis: 2}},
	OpAttention:         {{arg: 3, from: 1, axis: 0}, {arg: 4, from: 1, axis: 2}, {arg: 5, from: 1, axis: 2, more: 1}},
	OpAttentionSegments: {{arg: 3, from: 1, axis: 0}, {arg: 4, from: 1, axis: 2}, {arg: 5, from: 1, axis: 2, more: 1}},
}

// selections returns the operands of n that select rows. Operands without the axis that the op
// expects are left out.
func selections(n *Node) []selection {
	var list []selection
	for _, s := range selectors[n.Op] {
		index, from := n.Arg(s.arg), n.Arg(s.from)
		if index == nil || from == nil {
			continue
		}
		axis := s.axis
		if axis < 0 {
			axis += from.Type.Rank()
		}
		if axis < 0 || axis >= from.Type.Rank() {
			continue
		}
		extent := from.Type.Shape[axis]
		if ring := RingOf(n); ring > 0 && axis == 2 { // positions of a ring are more than its rows
			extent = Const(ring)
		}
		list = append(list, selection{s.arg, extent.Add(Const(int64(s.more)))})
	}
	return list
}

// indexes checks for all sizes that the rows which nodes select exist. Elements that select must come
// from inputs, which the runtime checks, from constants, which are checked here, or from top_k over no
// more elements than there are rows. In
//
//	%k = top_k %scores {k=2}
//	%i = reshape %k {shape=[2*n]}
//	%y = gather %table, %i
//
// %i is followed through the reshape to top_k, which yields indexes below the row length of %scores.
// That must be at most the number of rows of %table.
func (v *verifier) indexes() {
	t := &indexTrace{verifier: v, ends: make(map[*Value]*Value), calls: make(map[string][]*Node)}
	for _, n := range v.calls {
		callee := attrOf[CallAttr](n).Func
		t.calls[callee] = append(t.calls[callee], n)
	}
	for _, n := range v.selecting {
		v.f, v.node = n.Func, n
		for _, s := range selections(n) {
			t.seen = make(map[*Value]bool)
			t.follow(n, s, n.Args[s.arg])
		}
	}
	v.f, v.node = nil, nil
}

// indexTrace follows operands that select rows to their origins.
type indexTrace struct {
	*verifier
	ends map[*Value]*Value // of visited values: the ends of their chains of views and copies
	seen map[*Value]bool   // visited values with several sources, for one operand

	calls map[string][]*Node // by callee
}

// follow checks all origins of val, which operand s of n gets its elements from.
func (t *indexTrace) follow(n *Node, s selection, val *Value) {
	val = t.end(val)
	if t.seen[val] {
		return
	}
	sources, ok := t.sources(val)
	if !ok {
		t.origin(n, s, val)
		return
	}
	if len(sources) > 0 {
		t.seen[val] = true
	}
	for _, from := range sources {
		if from != nil {
			t.follow(n, s, from)
		}
	}
}

// end returns the end of a chain of views, copies and invariants of repeats. It remembers the ends, so
// that many chains with common parts take linear time.
func (t *indexTrace) end(val *Value) *Value {
	at := val
	for from := passedOn(at); from != nil && t.ends[at] == nil; from = passedOn(at) {
		at = from
	}
	if end := t.ends[at]; end != nil {
		at = end
	}
	for end := at; val != end && t.ends[val] == nil; val = passedOn(val) {
		t.ends[val] = end
	}
	return at
}

// passedOn returns the single value whose elements val has, or nil.
func passedOn(val *Value) *Value {
	n := val.Def
	switch {
	case n != nil && (n.Op == OpCopy || n.Op == OpTakePart || n.Op == OpAllGather || n.Op.Info().Traits&View != 0):
		return n.Arg(0)
	case n != nil || val.Func.Owner == nil:
		return nil
	}
	owner := val.Func.Owner
	if a, ok := owner.Attr.(*RepeatAttr); ok && val.Index >= a.Carried && val.Index < a.Carried+a.Invariant {
		return owner.Arg(val.Index)
	}
	return nil
}

// sources returns the values that the elements of val may come from; ok is false if val is their
// origin. The sources of a parameter of an entry point are the arguments of its calls; without calls it
// is an input.
func (t *indexTrace) sources(val *Value) (from []*Value, ok bool) {
	n := val.Def
	switch {
	case n == nil && val.Func.Owner == nil:
		for _, call := range t.calls[val.Func.Name] {
			from = append(from, call.Arg(val.Index))
		}
		return from, true
	case n == nil:
		return passedTo(val.Func.Owner, val.Index)
	case n.Op == OpConcat:
		return n.Args, true
	case n.Op == OpRepeat:
		return resultAt(n.Body, val.Index)
	case n.Op == OpCall:
		return resultAt(t.m.Func(attrOf[CallAttr](n).Func), val.Index)
	}
	return nil, false
}

// passedTo returns the sources of a parameter of a repeat's body over all iterations.
func passedTo(n *Node, param int) (from []*Value, ok bool) {
	a, ok := n.Attr.(*RepeatAttr)
	if !ok {
		return nil, false
	}
	if param < a.Carried {
		from, _ = resultAt(n.Body, param)
		return append(from, n.Arg(param)), true
	}
	for i, arg := range n.Args {
		if repeatParam(a, i) == param {
			from = append(from, arg)
		}
	}
	return from, true
}

// resultAt returns result i of a function, if there is one.
func resultAt(f *Func, i int) ([]*Value, bool) {
	if f == nil || i >= len(f.Results) {
		return nil, false
	}
	return []*Value{f.Results[i]}, true
}

// origin checks the elements of val, which is not an input, against the extent.
func (t *indexTrace) origin(n *Node, s selection, val *Value) {
	name := n.Op.Info().Args[s.arg].Name
	of := val.String()
	if val.Func != n.Func {
		of += " of @" + quoteName(val.Func.Name)
	}
	switch def := val.Def; {
	case def != nil && def.Op == OpConstant:
		t.literal(name, of, s.extent, val)
	case def != nil && def.Op == OpTopK && def.Arg(0) != nil && def.Args[0].Type.Rank() > 0:
		inner := def.Args[0].Type.Inner()
		rest, _ := s.extent.Sub(inner).Bounds()
		t.must(rest >= 0, ruleIndex, "%s comes from %s, which chooses among %v elements, and selects one of %v: let top_k choose among no more than there are", name, of, inner, s.extent)
	default:
		t.fail(ruleIndex, "%s comes from %s, whose elements may be any, and selects one of %v: use an input, a constant or a result of top_k", name, of, s.extent)
	}
}

// literal checks the elements of a constant.
func (t *indexTrace) literal(name, of string, extent Dim, val *Value) {
	rows, _ := extent.Bounds()
	data := attrOf[ConstantAttr](val.Def).Data
	for i := 0; i+4 <= len(data) && val.Type.DType == dtype.I32; i += 4 {
		if x := int64(int32(le.LittleEndian.Uint32(data[i:]))); x < 0 || x >= rows {
			t.fail(ruleIndex, "%s comes from %s, whose element %d is %d, and selects one of %v, which is at least %d: let it be 0 or more, and below that", name, of, i/4, x, extent, rows)
			return
		}
	}
}
