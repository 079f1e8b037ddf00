package codegen

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
)

// indexBounds returns what the elements of an integer input must stay below because they
// select rows: of a table, of a state's sequences or of its positions. Kernels trust
// them, so the runtime checks, with the sizes of the call. There are none for values that
// select nothing; they are in the order of symbols, scales and constants.
func (g *generator) indexBounds(v *ir.Value) ([]runtime.Dim, error) {
	var bounds []runtime.Dim
	for _, extent := range extentsOf(v) {
		bound, ok := g.linear(extent)
		if !ok {
			return nil, notLinear(v, extent)
		}
		bounds = append(bounds, bound)
	}
	slices.SortFunc(bounds, func(a, b runtime.Dim) int {
		return cmp.Or(cmp.Compare(a.Sym, b.Sym), cmp.Compare(a.Scale, b.Scale), cmp.Compare(a.Const, b.Const))
	})
	return slices.Compact(bounds), nil
}

func notLinear(v *ir.Value, extent ir.Dim) error {
	return fmt.Errorf("@%s: %v selects one of %v, which is not linear in one symbol: give that extent a symbol of its own", v.Func.Name, v, extent)
}

// extentsOf returns the extents among which elements of v select, in any node that they get to.
func extentsOf(v *ir.Value) []ir.Dim {
	u := &uses{seen: make(map[*ir.Value]bool)}
	u.visit(v)
	return u.extents
}

// uses follows the elements of a value to the nodes that select by them.
type uses struct {
	seen    map[*ir.Value]bool
	extents []ir.Dim
}

// visit follows v to its readers. What a repeat's body results in is what it gets in the next
// iteration, and what the repeat results in.
func (u *uses) visit(v *ir.Value) {
	if u.seen[v] {
		return
	}
	u.seen[v] = true
	for _, n := range v.Func.Nodes {
		for i, a := range n.Args {
			if a == v {
				u.read(n, i)
			}
		}
	}
	owner := v.Func.Owner
	if owner == nil {
		return
	}
	for i, r := range v.Func.Results {
		if r == v {
			u.visit(v.Func.Params[i])
			u.visit(owner.Results[i])
		}
	}
}

// read notes what operand i of n selects among, or follows the values that have its elements.
func (u *uses) read(n *ir.Node, i int) {
	below := func(extent ir.Dim) { u.extents = append(u.extents, extent) }
	among := func(arg, axis int) { below(n.Args[arg].Type.Shape[axis]) }
	switch {
	case n.Is(ir.View), n.Op == ir.OpCopy, n.Op == ir.OpConcat:
		u.visit(n.Result())
	case n.Op == ir.OpRepeat:
		u.visit(n.Body.Params[bodyParam(n, i)])
	case n.Op == ir.OpGather && i == 1, n.Op == ir.OpCopyExperts && i == 1, n.Op == ir.OpStateWrite && i == 2:
		among(0, 0)
	case n.Op == ir.OpTake && i == 1:
		among(0, n.Args[0].Type.Rank()-1)
	case n.Op == ir.OpExpertsMatMul && i == 2, isAttention(n) && i == 3:
		among(1, 0)
	case n.Op == ir.OpStateWrite && i == 3:
		below(ir.PositionsOf(n, 0))
	case isAttention(n) && i == 4:
		below(ir.PositionsOf(n, 1))
	case isAttention(n) && i == 5: // a length
		below(ir.PositionsOf(n, 1).Add(ir.Const(1)))
	}
}

// bodyParam returns which parameter of its body operand i of a repeat becomes.
func bodyParam(n *ir.Node, i int) int {
	a := n.Attr.(*ir.RepeatAttr)
	if fixed := a.Carried + a.Invariant; i >= fixed {
		return fixed + (i-fixed)/int(a.Count)
	}
	return i
}

// CheckInputs reports what a program cannot check or hand over: operands of attention that are not from inputs, as its
// kernels rely on positions being below the lengths; inputs that select among an extent of several symbols; and
// inputs and results that are no plain arrays.
func CheckInputs(m *ir.Module) error {
	var errs []error
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			errs = append(errs, checkAttends(f, n))
		}
	}
	for _, f := range m.Funcs {
		errs = append(errs, checkArrays(f))
		for _, v := range f.Params {
			for _, extent := range extentsOf(v) {
				if _, _, _, ok := extent.Linear(); !ok {
					errs = append(errs, notLinear(v, extent))
				}
			}
		}
	}
	return errors.Join(errs...)
}

// checkArrays reports inputs and results of an entry point that callers cannot read or write: those of a dtype that has
// no Go type, and matrices in the layout of a kernel, which callers would take for rows.
func checkArrays(f *ir.Func) error {
	var errs []error
	check := func(v *ir.Value, name string) {
		switch t := v.Type; {
		case t.Layout != dtype.Plain:
			errs = append(errs, fmt.Errorf("@%s: %s: callers read and write plain rows, and its layout is %v: pass the plain matrix, and pack it in the function", f.Name, name, t.Layout))
		case goElem[t.DType] == "":
			errs = append(errs, fmt.Errorf("@%s: %s: callers have no type for %v: cast it first", f.Name, name, t.DType))
		}
	}
	for _, v := range f.Params {
		check(v, v.Name())
	}
	for i, v := range f.Results {
		check(v, cmp.Or(f.ResultNames[i], v.String()))
	}
	return errors.Join(errs...)
}

// checkAttends reports an attention of which the runtime cannot compare positions with lengths: it compares element i of
// an input of positions with the length that element i of an input of sequences selects.
func checkAttends(f *ir.Func, n *ir.Node) error {
	if !isAttention(n) {
		return nil
	}
	var first, sizes [3]ir.Dim
	for i := range first {
		v := n.Args[3+i]
		param, from := rowsOf(v)
		if first[i] = from; param >= 0 {
			sizes[i] = f.Entry().Params[param].Type.Elems()
		}
		lengths := i == 2
		if param < 0 || lengths && !sizes[i].Equal(v.Type.Elems()) {
			return fmt.Errorf("@%s: %v: its %s, %v, has not the elements of an input, so that nothing compares positions with lengths: let it be an input, reshaped or copied at most, or with slots and positions the same slice of both",
				f.Name, n, n.Op.Info().Args[3+i].Name, v)
		}
	}
	if !first[0].Equal(first[1]) || !sizes[0].Equal(sizes[1]) {
		return fmt.Errorf("@%s: %v: its slots are elements of an input of %v from %v on, and its positions those of an input of %v from %v on, so that nothing compares these positions with the lengths of these sequences: let the elements be the same",
			f.Name, n, sizes[0], first[0], sizes[1], first[1])
	}
	return nil
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
		case isAttention(n): // CheckInputs has seen that they are inputs
			found = []attend{{paramOf(n.Args[3]), paramOf(n.Args[4]), paramOf(n.Args[5])}}
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

// checkReach reports a node whose number of segments is unknown at run time: it follows neither
// from a parameter's shape nor from positions that the caller gives.
func checkReach(f *ir.Func, n *ir.Node) error {
	a, ok := n.Attr.(*ir.AttentionSegmentsAttr)
	if !ok || paramOf(n.Args[4]) >= 0 {
		return nil
	}
	var unknown error
	shaped := shapedBy(f.Entry())
	a.Segments.Symbols(func(s *ir.Symbol) {
		if !shaped[s] {
			unknown = fmt.Errorf("@%s: %v: nothing states how large %s is: let %v be an input, or use attention", f.Name, n, s.Name, n.Args[4])
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

// paramOf returns the index of the parameter of the entry point whose elements v has, all or some of its rows, in any
// shape and memory; -1 if there is none.
func paramOf(v *ir.Value) int {
	param, _ := rowsOf(v)
	return param
}

// rowsOf returns that parameter, and the row of it that is the first row of v.
func rowsOf(v *ir.Value) (param int, first ir.Dim) {
	for {
		n := v.Def
		switch {
		case n == nil && v.Func.Owner == nil:
			return v.Index, first
		case n == nil:
			owner := v.Func.Owner
			a, ok := owner.Attr.(*ir.RepeatAttr)
			if !ok || v.Index < a.Carried || v.Index >= a.Carried+a.Invariant {
				return -1, first
			}
			v = owner.Args[v.Index]
		case n.Op == ir.OpReshape || n.Op == ir.OpCopy:
			v = n.Args[0]
		case n.Op == ir.OpSlice && n.Args[0].Type.Rank() == 1:
			first = first.Add(n.Attr.(*ir.SliceAttr).Start)
			v = n.Args[0]
		default:
			return -1, first
		}
	}
}
