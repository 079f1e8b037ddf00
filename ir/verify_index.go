package ir

import (
	le "encoding/binary" // binary is an op here

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ruleIndex is the rule that violations of selections name.
const ruleIndex = "index"

// selection is an operand whose elements select rows: each has to be at least 0 and below
// extent. Kernels trust them.
type selection struct {
	arg    int
	extent Dim
}

// selectors are the operands that select, by op: the operand and the axis of another one that
// it selects from. A negative axis is counted from the end; more is added to the extent.
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
		if axis >= 0 && axis < from.Type.Rank() {
			list = append(list, selection{s.arg, from.Type.Shape[axis].Add(Const(int64(s.more)))})
		}
	}
	return list
}

// indexes checks that the rows which nodes select exist, for all sizes: the elements that
// select come from inputs, which the runtime checks, from constants or from top_k.
func (v *verifier) indexes() {
	t := &indexTrace{verifier: v, ends: make(map[*Value]*Value)}
	for _, f := range v.m.AllFuncs() {
		for _, n := range f.Nodes {
			v.f, v.node = f, n
			for _, s := range selections(n) {
				t.seen = make(map[*Value]bool)
				t.follow(n, s, n.Args[s.arg])
			}
		}
	}
	v.f, v.node = nil, nil
}

// indexTrace follows integers that select rows to where they come from.
type indexTrace struct {
	*verifier
	ends  map[*Value]*Value  // of values that were met: where their chains of views and copies end
	seen  map[*Value]bool    // values with several sources that were met for one operand
	calls map[string][]*Node // calls, by the function that is called; nil before it is needed
}

// follow checks all origins of a value that is operand s of n.
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

// end returns the value at the end of a chain of views, copies and invariants of repeats.
func (t *indexTrace) end(val *Value) *Value {
	at := val
	for from := hands(at); from != nil && t.ends[at] == nil; from = hands(at) {
		at = from
	}
	if end := t.ends[at]; end != nil {
		at = end
	}
	for end := at; val != end && t.ends[val] == nil; val = hands(val) {
		t.ends[val] = end
	}
	return at
}

// hands returns the only value whose elements val has, or nil.
func hands(val *Value) *Value {
	n := val.Def
	switch {
	case n != nil && (n.Op == OpCopy || n.Op.Info().Traits&View != 0):
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

// sources returns the values of which val may have the elements; ok is false where they are
// its own. An input of an entry point has those of all calls.
func (t *indexTrace) sources(val *Value) (from []*Value, ok bool) {
	n := val.Def
	switch {
	case n == nil && val.Func.Owner == nil:
		for _, call := range t.callsOf(val.Func) {
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

// passedTo returns what a parameter of a repeat's body has, over all iterations.
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

// resultAt returns a result of a function, which may lack it.
func resultAt(f *Func, i int) ([]*Value, bool) {
	if f == nil || i >= len(f.Results) {
		return nil, false
	}
	return []*Value{f.Results[i]}, true
}

// callsOf returns the calls of an entry point.
func (t *indexTrace) callsOf(f *Func) []*Node {
	if t.calls == nil {
		t.calls = make(map[string][]*Node)
		for _, g := range t.m.AllFuncs() {
			for _, n := range g.Nodes {
				if a, ok := n.Attr.(*CallAttr); ok {
					t.calls[a.Func] = append(t.calls[a.Func], n)
				}
			}
		}
	}
	return t.calls[f.Name]
}

// origin checks what val, which is no input, may hold against the extent that it selects from.
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
		t.fail(ruleIndex, "%s comes from %s, whose elements may be any, and selects one of %v: let it be an input, a constant or what top_k yields", name, of, s.extent)
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
