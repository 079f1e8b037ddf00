package simplify

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Canonicalize gives views and operand order one spelling.
//
// Before: types are known. After: no view shows all of its operand in the same shape; chains of views of one kind are
// one view; permutations that move no byte are reshapes; operands of commutative ops are in the order of operandRank.
//
// Not earlier: merged nodes make chains shorter. Not later: the patterns of fuse know this spelling only.
//
// Cost: a few walks, O(nodes) each.
//
//	%a = reshape %x {shape=[4,6]}
//	%b = reshape %a {shape=[24]}        %b = reshape %x {shape=[24]}
//	%p = permute %b {perm=[0]}          replaced by %b
//	%s = scale %p {scale=1}             replaced by %b
//	%m = matmul %y, %w
//	%z = add %r, %m                     %z = add %m, %r
var Canonicalize = pass.Pass{
	Name:   "canonicalize",
	Doc:    "one spelling for views and the order of operands",
	Run:    canonicalize,
	Needs:  ir.PropShaped,
	Breaks: pass.FromPacked,
	Rules:  rewrite.RulesOf(canonicalRewrites),
}

func canonicalize(c *pass.Context, m *ir.Module) error {
	return rewrite.Apply(c, m, canonicalRewrites)
}

var canonicalRewrites = slices.Concat(
	noopRewrites(ir.OpReshape, ir.OpPermute, ir.OpSlice, ir.OpCast, ir.OpScale),
	[]rewrite.Rewrite{
		{
			Rule:    pass.Rule{Name: pass.RuleCanonicalizeReshape, Doc: "a reshape of a reshape is one reshape"},
			Pattern: rewrite.Pattern{Op: ir.OpReshape, Args: []rewrite.Pattern{{Op: ir.OpReshape, Args: []rewrite.Pattern{rewrite.AnyValue("x")}}}},
			Build:   func(m *rewrite.Match) { m.Become(ir.OpReshape, m.Root.Attr, m.Value("x")) },
		},
		{
			Rule:    pass.Rule{Name: pass.RuleCanonicalizePermute, Doc: "a permutation of a permutation is one permutation"},
			Pattern: rewrite.Pattern{Op: ir.OpPermute, Args: []rewrite.Pattern{{Op: ir.OpPermute, Args: []rewrite.Pattern{rewrite.AnyValue("x")}, Bind: "inner"}}},
			Build:   composePermutes,
		},
		{
			Rule:    pass.Rule{Name: pass.RuleCanonicalizeSlice, Doc: "a slice of a slice of one axis is one slice"},
			Pattern: rewrite.Pattern{Op: ir.OpSlice, Args: []rewrite.Pattern{{Op: ir.OpSlice, Args: []rewrite.Pattern{rewrite.AnyValue("x")}, Bind: "inner"}}},
			Where:   areOneSlice,
			Build:   func(m *rewrite.Match) { m.Become(ir.OpSlice, oneSlice(m), m.Value("x")) },
		},
		{
			Rule:    pass.Rule{Name: pass.RuleCanonicalizeUnit, Doc: "a permutation that moves only dimensions of extent 1 is a reshape"},
			Pattern: rewrite.Pattern{Op: ir.OpPermute, Args: []rewrite.Pattern{rewrite.AnyValue("x")}},
			Where:   movesNoByte,
			Build: func(m *rewrite.Match) {
				m.Become(ir.OpReshape, &ir.ReshapeAttr{Shape: m.Root.Result().Type.Shape}, m.Value("x"))
				m.Root.Result().Type.Strides = nil
			},
		},
	},
	orderRewrites(ir.OpAdd, ir.OpMul, ir.OpMax, ir.OpMin),
)

// noopRewrites returns the rewrites for ops that may do nothing.
func noopRewrites(ops ...ir.Op) []rewrite.Rewrite {
	var rs []rewrite.Rewrite
	for _, op := range ops {
		rs = append(rs, rewrite.Rewrite{
			Rule:    pass.Rule{Name: pass.RuleCanonicalizeNoop, Doc: "a view, cast or scale that changes nothing is its operand"},
			Pattern: rewrite.Pattern{Op: op, Args: []rewrite.Pattern{rewrite.AnyValue("x")}},
			Where:   changesNothing,
			Build:   func(m *rewrite.Match) { m.Replace(m.Value("x")) },
		})
	}
	return rs
}

// changesNothing reports whether the root's result may be replaced by its operand. Two cases are left alone although
// the values are equal: a parameter or leaf would become a result of the function, which has to be copied then; or a
// later node overwrites one of the two, and the other has to stay as it is.
func changesNothing(_ *pass.Context, m *rewrite.Match) bool {
	x, y := m.Value("x"), m.Root.Result()
	if !x.Type.Equal(y.Type) || slices.Contains(y.Func.Results, y) && (x.IsParam() || x.Def.Is(ir.Leaf)) {
		return false
	}
	if !m.Root.Is(ir.View) && (m.OverwrittenLater(x) || m.OverwrittenLater(y)) {
		return false
	}
	switch attr := m.Root.Attr.(type) {
	case *ir.PermuteAttr:
		return slices.IsSorted(attr.Perm)
	case *ir.ScaleAttr:
		return attr.Scale == 1 && attr.Bias == 0
	case *ir.SliceAttr:
		return attr.Start.Is(0)
	}
	return true
}

// composePermutes makes one permutation of the root and the inner one.
func composePermutes(m *rewrite.Match) {
	outer := m.Root.Attr.(*ir.PermuteAttr).Perm
	inner := m.Value("inner").Def.Attr.(*ir.PermuteAttr).Perm
	perm := make([]int, len(outer))
	for i, p := range outer {
		perm[i] = inner[p]
	}
	m.Become(ir.OpPermute, &ir.PermuteAttr{Perm: perm}, m.Value("x"))
}

// areOneSlice reports whether both slices cut the same axis, and one slice in place of them has the type of the outer
// one. The type may differ: slices with an extent of 0 or 1 have several strides.
func areOneSlice(_ *pass.Context, m *rewrite.Match) bool {
	outer, inner := m.Root.Attr.(*ir.SliceAttr), m.Value("inner").Def.Attr.(*ir.SliceAttr)
	if outer.Axis != inner.Axis {
		return false
	}
	types, err := ir.Infer(&ir.Node{Op: ir.OpSlice, Attr: oneSlice(m), Args: []*ir.Value{m.Value("x")}})
	return err == nil && types[0].SameData(m.Root.Result().Type)
}

// oneSlice returns the attributes of the slice that takes the place of both.
func oneSlice(m *rewrite.Match) *ir.SliceAttr {
	outer, inner := m.Root.Attr.(*ir.SliceAttr), m.Value("inner").Def.Attr.(*ir.SliceAttr)
	return &ir.SliceAttr{Axis: outer.Axis, Start: inner.Start.Add(outer.Start), Len: outer.Len}
}

// movesNoByte reports whether the operand is dense, and the dimensions that are not 1 keep their order.
func movesNoByte(_ *pass.Context, m *rewrite.Match) bool {
	x := m.Value("x").Type
	last := -1
	for _, p := range m.Root.Attr.(*ir.PermuteAttr).Perm {
		if x.Shape[p].Is(1) {
			continue
		}
		if p < last {
			return false
		}
		last = p
	}
	return target.IsDense(x)
}

// orderRewrites returns the rewrites for commutative ops.
func orderRewrites(ops ...ir.Op) []rewrite.Rewrite {
	var rs []rewrite.Rewrite
	for _, op := range ops {
		rs = append(rs, rewrite.Rewrite{
			Rule:    pass.Rule{Name: pass.RuleCanonicalizeOrder, Doc: "operands of commutative ops have one order: activation functions first, weights last"},
			Pattern: rewrite.Pattern{Op: op, Args: []rewrite.Pattern{rewrite.AnyValue("a"), rewrite.AnyValue("b")}},
			Where:   wrongOrder,
			Build:   func(m *rewrite.Match) { m.Become(m.Root.Op, m.Root.Attr, m.Value("b"), m.Value("a")) },
		})
	}
	return rs
}

// wrongOrder reports whether the operands have to be swapped. Operands of which one is broadcast stay: the larger one
// comes first.
func wrongOrder(_ *pass.Context, m *rewrite.Match) bool {
	a, b := m.Value("a"), m.Value("b")
	if !a.Type.SameData(b.Type) {
		return false
	}
	ra, rb := operandRank(a), operandRank(b)
	return rb < ra || rb == ra && m.E.Position(b) > m.E.Position(a)
}

// operandRank returns a number that orders operands: activation functions, products, other nodes, parameters, weights.
// Of the same rank, the operand that is computed later comes first.
func operandRank(v *ir.Value) int {
	switch {
	case v.IsParam():
		return 3
	case v.IsWeight():
		return 4
	case v.Def.Op == ir.OpMatMul:
		return 1
	case v.Def.Is(ir.Elementwise) && rewrite.Present(v.Def) == 1:
		return 0
	}
	return 2
}
