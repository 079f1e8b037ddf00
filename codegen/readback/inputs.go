package readback

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Kernels trust integers that select rows of something. This file says what of the caller's
// inputs they trust, which the runtime has to check.

// selection is an operand whose elements have to be below a bound.
type selection struct {
	arg   int
	below int64
}

// selections returns the operands of a node that select something.
func selections(n *ir.Node) []selection {
	extent := func(arg, axis int) int64 { return n.Args[arg].Type.Shape[axis].Upper() }
	switch n.Op {
	case ir.OpGather, ir.OpCopyExperts:
		return []selection{{1, extent(0, 0)}}
	case ir.OpTake:
		return []selection{{1, n.Args[0].Type.Inner().Upper()}}
	case ir.OpExpertsMatMul:
		return []selection{{2, extent(1, 0)}}
	case ir.OpStateWrite:
		return []selection{{2, extent(0, 0)}, {3, extent(0, 2)}}
	case ir.OpAttention, ir.OpAttentionSegments:
		return []selection{{3, extent(1, 0)}, {4, extent(1, 2)}, {5, extent(1, 2) + 1}}
	}
	return nil
}

// below returns what the elements of an input of an entry point have to be below; 0 for any.
func below(f *ir.Func, input *ir.Value) int64 {
	var bound int64
	visit(f, func(n *ir.Node) {
		for _, s := range selections(n) {
			if from := origin(n.Args[s.arg], true); from == input && (bound == 0 || s.below < bound) {
				bound = s.below
			}
		}
	})
	return bound
}

// visit calls yield for the nodes of f and of the bodies in it.
func visit(f *ir.Func, yield func(n *ir.Node)) {
	for _, n := range f.Nodes {
		yield(n)
		if n.Body != nil {
			visit(n.Body, yield)
		}
	}
}

// origin returns the parameter of an entry point whose elements a value has: all of them in
// their order, or, with some, possibly a part or in another order. It is nil for none.
func origin(v *ir.Value, some bool) *ir.Value {
	for v != nil {
		n := v.Def
		switch {
		case n != nil && (n.Op == ir.OpCopy || n.Op == ir.OpReshape || some && n.Is(ir.View)):
			v = n.Args[0]
		case n != nil:
			return nil
		case v.Func.Owner == nil:
			return v
		default:
			v = passed(v, some)
		}
	}
	return nil
}

// passed returns the operand of a repeat that a parameter of its body begins with; nil where
// rounds differ.
func passed(v *ir.Value, some bool) *ir.Value {
	n := v.Func.Owner
	a, ok := n.Attr.(*ir.RepeatAttr)
	if !ok || v.Index >= a.Carried+a.Invariant || v.Index < a.Carried && !some {
		return nil
	}
	return n.Args[v.Index]
}

func indexOf(f *ir.Func, v *ir.Value) int64 { return int64(slices.Index(f.Params, v)) }

// wantAttends are the inputs that attentions of f read together, each once.
func (c *checker) wantAttends(f *ir.Func) list {
	var want list
	var seen [][3]int64
	visit(f, func(n *ir.Node) {
		if n.Op != ir.OpAttention && n.Op != ir.OpAttentionSegments {
			return
		}
		var at [3]int64
		for i := range at {
			at[i] = indexOf(f, origin(n.Args[3+i], false))
		}
		if min(at[0], at[1], at[2]) < 0 || slices.Contains(seen, at) {
			return
		}
		seen = append(seen, at)
		want = append(want, record{"Slot": at[0], "Pos": at[1], "Lengths": at[2]})
	})
	return want
}

// wantReaches are the sizes that follow from positions: those of numbers of segments that no
// input has.
func (c *checker) wantReaches(f *ir.Func) list {
	given := make(map[*ir.Symbol]bool)
	for _, v := range f.Params {
		for _, d := range v.Type.Shape {
			d.Symbols(func(s *ir.Symbol) { given[s] = true })
		}
	}
	var want list
	var seen [][2]int64
	visit(f, func(n *ir.Node) {
		a, ok := n.Attr.(*ir.AttentionSegmentsAttr)
		if !ok {
			return
		}
		pos := indexOf(f, origin(n.Args[4], false))
		a.Segments.Symbols(func(s *ir.Symbol) {
			r := [2]int64{c.symbolIndex(s), pos}
			if given[s] || pos < 0 || slices.Contains(seen, r) {
				return
			}
			seen = append(seen, r)
			want = append(want, record{"Sym": r[0], "Pos": r[1]})
		})
	})
	return want
}
