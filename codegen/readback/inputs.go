package readback

import (
	"cmp"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Kernels trust integers that select rows. This file computes which inputs of the caller such
// integers come from. The runtime has to check these inputs.

// selection is an operand whose elements have to be below a bound.
type selection struct {
	arg   int
	below ir.Dim
}

// selections returns the operands of a node that select something.
func selections(n *ir.Node) []selection {
	extent := func(arg, axis int) ir.Dim { return n.Args[arg].Type.Shape[axis] }
	positions := func(arg int) ir.Dim { return positionsIn(n, n.Args[arg].Type) }
	switch n.Op {
	case ir.OpGather, ir.OpCopyExperts:
		return []selection{{1, extent(0, 0)}}
	case ir.OpTake:
		return []selection{{1, n.Args[0].Type.Inner()}}
	case ir.OpExpertsMatMul:
		return []selection{{2, extent(1, 0)}}
	case ir.OpStateWrite:
		return []selection{{2, extent(0, 0)}, {3, positions(0)}}
	case ir.OpAttention, ir.OpAttentionSegments:
		return []selection{{3, extent(1, 0)}, {4, positions(1)}, {5, positions(1).Add(ir.Const(1))}}
	}
	return nil
}

// positionsIn returns how many positions a node may write to a state or read from it: the rows of the state, or for a
// ring the number that the node states.
func positionsIn(n *ir.Node, state ir.Type) ir.Dim {
	if ring := ringOf(n); ring != 0 {
		return ir.Const(ring)
	}
	return state.Shape[2]
}

// ringOf returns the positions of the sequences of a ring; 0 for other states.
func ringOf(n *ir.Node) int64 {
	switch a := n.Attr.(type) {
	case *ir.StateWriteAttr:
		return a.Ring
	case *ir.AttentionAttr:
		return a.Ring
	case *ir.AttentionSegmentsAttr:
		return a.Ring
	}
	return 0
}

// bound is an extent of a tensor, as the runtime has it.
type bound struct{ symbol, scale, offset int64 }

// compare orders bounds by their symbols, scales and offsets in turn.
func (b bound) compare(c bound) int {
	return cmp.Or(cmp.Compare(b.symbol, c.symbol), cmp.Compare(b.scale, c.scale), cmp.Compare(b.offset, c.offset))
}

// wantBelow returns what the elements of each input of an entry point have to be below: extents
// in order, each once.
func (c *checker) wantBelow(f *ir.Func) map[*ir.Value]list {
	bounds := make(map[*ir.Value][]bound)
	visit(f, func(n *ir.Node) {
		for _, s := range selections(n) {
			for input := range origins(n.Args[s.arg]) {
				bounds[input] = insert(bounds[input], c.boundOf(s.below))
			}
		}
	})
	want := make(map[*ir.Value]list)
	for input, sorted := range bounds {
		for _, b := range sorted {
			want[input] = append(want[input], record{"Sym": b.symbol, "Scale": b.scale, "Const": b.offset})
		}
	}
	return want
}

func (c *checker) boundOf(d ir.Dim) bound {
	sym, scale, offset, ok := d.Linear()
	switch {
	case !ok:
		fail("%s rows are selected from, which follows from no symbol", readable(d))
	case sym == nil:
		return bound{offset: offset}
	}
	return bound{c.symbolIndex(sym), scale, offset}
}

// insert puts b at its place in a sorted list, unless it is there.
func insert(sorted []bound, b bound) []bound {
	at, there := slices.BinarySearchFunc(sorted, b, bound.compare)
	if there {
		return sorted
	}
	return slices.Insert(sorted, at, b)
}

// origins returns the parameters of an entry point whose elements a value may have: some of
// them, in any order, in any iteration. Verify demands that integers which the program computes
// are within bounds.
func origins(v *ir.Value) map[*ir.Value]bool {
	params, met := make(map[*ir.Value]bool), make(map[*ir.Value]bool)
	for open := []*ir.Value{v}; len(open) > 0; {
		last := open[len(open)-1]
		open = open[:len(open)-1]
		if met[last] {
			continue
		}
		met[last] = true
		if last.Def == nil && last.Func.Owner == nil {
			params[last] = true
		}
		open = append(open, givers(last)...)
	}
	return params
}

// givers returns the values whose elements v has, or has in one of the iterations.
func givers(v *ir.Value) []*ir.Value {
	n := v.Def
	switch {
	case n == nil && v.Func.Owner == nil:
		return nil
	case n == nil:
		return entries(v)
	case n.Is(ir.View), n.Op == ir.OpCopy:
		return n.Args[:1]
	case n.Op == ir.OpConcat:
		return n.Args
	case n.Op == ir.OpRepeat:
		return []*ir.Value{n.Body.Results[v.Index]}
	}
	return nil
}

// entries returns what a parameter of a body is in the iterations of its repeat.
func entries(v *ir.Value) []*ir.Value {
	n := v.Func.Owner
	a := n.Attr.(*ir.RepeatAttr)
	switch fixed := a.Carried + a.Invariant; {
	case v.Index < a.Carried:
		return []*ir.Value{n.Args[v.Index], n.Body.Results[v.Index]}
	case v.Index < fixed:
		return []*ir.Value{n.Args[v.Index]}
	default:
		table := fixed + (v.Index-fixed)*int(a.Count)
		return n.Args[table : table+int(a.Count)]
	}
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

// origin returns the parameter of an entry point that a value is, in another shape or memory, or consecutive elements of
// it from skipped on. It is nil for none.
func origin(v *ir.Value) (param *ir.Value, skipped ir.Dim) {
	for v != nil {
		n := v.Def
		switch {
		case n != nil && (n.Op == ir.OpCopy || n.Op == ir.OpReshape):
			v = n.Args[0]
		case n != nil && n.Op == ir.OpSlice && len(n.Args[0].Type.Shape) == 1:
			skipped = n.Attr.(*ir.SliceAttr).Start.Add(skipped)
			v = n.Args[0]
		case n != nil:
			return nil, skipped
		case v.Func.Owner == nil:
			return v, skipped
		default:
			v = invariant(v)
		}
	}
	return nil, skipped
}

// invariant returns the operand of a repeat that a parameter of its body is in all iterations;
// nil where they differ.
func invariant(v *ir.Value) *ir.Value {
	n := v.Func.Owner
	a, ok := n.Attr.(*ir.RepeatAttr)
	if !ok || v.Index >= a.Carried+a.Invariant || v.Index < a.Carried {
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
		var skipped, extents [3]ir.Dim
		for i := range at {
			param, first := origin(n.Args[3+i])
			at[i], skipped[i] = indexOf(f, param), first
			if param != nil {
				extents[i] = param.Type.Elems()
			}
		}
		if min(at[0], at[1], at[2]) < 0 {
			fail("%v: nothing compares its positions with lengths, as not all of them are inputs", n)
		}
		if !skipped[0].Equal(skipped[1]) || !extents[0].Equal(extents[1]) || !extents[2].Equal(n.Args[5].Type.Elems()) {
			fail("%v: its slots, positions and lengths are not of the same tokens: they begin with elements %v of inputs of %v", n, skipped, extents)
		}
		if slices.Contains(seen, at) {
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
		param, _ := origin(n.Args[4])
		pos := indexOf(f, param)
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
