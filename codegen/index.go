package codegen

import (
	"fmt"
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
	case isAttention(n) && i == 3:
		return extent(1, 0)
	case isAttention(n) && i == 4:
		return extent(1, 2)
	case isAttention(n) && i == 5:
		return extent(1, 2) + 1 // a length
	}
	return 0
}

// isAttention reports whether n has the operands of an attention.
func isAttention(n *ir.Node) bool {
	return n.Op == ir.OpAttention || n.Op == ir.OpAttentionSegments
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
		case isAttention(n):
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

// reach is a symbol that counts the positions that tokens look at, and the parameter of an
// entry point that has the tokens' positions.
type reach struct {
	symbol *ir.Symbol
	pos    int
}

// reaches returns the symbols in the numbers of segments of f and of the bodies in it that no
// parameter's shape has: their sizes are those of what is looked at.
func reaches(f *ir.Func) []reach {
	shaped := shapedBy(f)
	return slices.DeleteFunc(reachesIn(f), func(r reach) bool { return shaped[r.symbol] })
}

// shapedBy returns the symbols in the shapes of parameters.
func shapedBy(f *ir.Func) map[*ir.Symbol]bool {
	shaped := make(map[*ir.Symbol]bool)
	for _, p := range f.Params {
		for _, d := range p.Type.Shape {
			d.Symbols(func(s *ir.Symbol) { shaped[s] = true })
		}
	}
	return shaped
}

// checkReach reports a node whose number of segments nobody knows when it runs: it follows neither
// from a parameter's shape nor from positions that the caller gives.
func checkReach(f *ir.Func, n *ir.Node) error {
	a, ok := n.Attr.(*ir.AttentionSegmentsAttr)
	if !ok || paramOf(n.Args[4]) >= 0 {
		return nil
	}
	entry := f
	for entry.Owner != nil {
		entry = entry.Owner.Func
	}
	var unknown error
	shaped := shapedBy(entry)
	a.Segments.Symbols(func(s *ir.Symbol) {
		if !shaped[s] {
			unknown = fmt.Errorf("@%s: %v: nothing says how large %s is: let %v be an input, or use attention", f.Name, n, s.Name, n.Args[4])
		}
	})
	return unknown
}

// reachesIn returns all symbols in the numbers of segments of f and of the bodies in it, each
// once for each parameter.
func reachesIn(f *ir.Func) []reach {
	var list []reach
	add := func(r reach) {
		if r.pos >= 0 && !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	for _, n := range f.Nodes {
		if n.Body != nil {
			for _, r := range reachesIn(n.Body) {
				add(r)
			}
		}
		if a, ok := n.Attr.(*ir.AttentionSegmentsAttr); ok {
			a.Segments.Symbols(func(s *ir.Symbol) { add(reach{s, paramOf(n.Args[4])}) })
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
