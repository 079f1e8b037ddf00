package codegen

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// indexBound returns what the elements of an integer input must stay below because they
// select rows: of a table, of a state's sequences or of its positions. Kernels trust
// them, so the runtime checks. It is 0 for values that select nothing.
func indexBound(v *ir.Value) int64 {
	var bound int64
	for _, n := range v.Func.Nodes {
		for i, a := range n.Args {
			if a == v {
				bound = tighter(bound, selected(n, i))
			}
		}
	}
	return bound
}

// selected returns how many rows operand i of n selects among; 0 where it selects none.
func selected(n *ir.Node, i int) int64 {
	extent := func(arg, axis int) int64 { return n.Args[arg].Type.Shape[axis].Upper() }
	switch {
	case n.Is(ir.View):
		return indexBound(n.Result())
	case n.Op == ir.OpRepeat && i < len(n.Body.Params):
		return indexBound(n.Body.Params[i])
	case n.Op == ir.OpGather && i == 1:
		return extent(0, 0)
	case n.Op == ir.OpTake && i == 1:
		return n.Args[0].Type.Inner().Upper()
	case n.Op == ir.OpExpertsMatMul && i == 2:
		return extent(1, 0)
	case n.Op == ir.OpCopyExperts && i == 1:
		return extent(0, 0)
	case n.Op == ir.OpCopy:
		return indexBound(n.Result()) // the same indices, elsewhere
	case n.Op == ir.OpStateWrite && i == 2:
		return extent(0, 0)
	case n.Op == ir.OpStateWrite && i == 3:
		return extent(0, 2)
	case n.Op == ir.OpAttention && i == 3:
		return extent(1, 0)
	case n.Op == ir.OpAttention && i == 4:
		return extent(1, 2)
	case n.Op == ir.OpAttention && i == 5:
		return extent(1, 2) + 1 // a length
	}
	return 0
}

// attend names the parameters of an entry point that an attention reads together: sequence
// and position of each token, and the length of each sequence.
type attend struct{ slot, pos, lengths int }

// attends returns what the attentions of f and of the bodies in it read, each once.
func attends(f *ir.Func) []attend {
	var list []attend
	for _, n := range f.Nodes {
		var found []attend
		switch {
		case n.Body != nil:
			found = attends(n.Body)
		case n.Op == ir.OpAttention:
			if a := (attend{paramOf(n.Args[3]), paramOf(n.Args[4]), paramOf(n.Args[5])}); min(a.slot, a.pos, a.lengths) >= 0 {
				found = []attend{a}
			}
		}
		for _, a := range found {
			if !slices.Contains(list, a) {
				list = append(list, a)
			}
		}
	}
	return list
}

// paramOf returns the index of the parameter of the entry point whose elements v has, in
// whatever shape and memory; -1 if it is none.
func paramOf(v *ir.Value) int {
	for {
		n := v.Def
		switch {
		case n == nil && v.Func.Owner == nil:
			return v.Index
		case n == nil:
			owner := v.Func.Owner
			a, ok := owner.Attr.(*ir.RepeatAttr)
			if !ok || v.Index < a.Carried || v.Index >= a.Carried+a.Invariant {
				return -1
			}
			v = owner.Args[v.Index]
		case n.Op == ir.OpReshape || n.Op == ir.OpCopy:
			v = n.Args[0]
		default:
			return -1
		}
	}
}

// tighter returns the smaller of two bounds, of which 0 is none.
func tighter(a, b int64) int64 {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
