package simplify

import (
	"fmt"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Fold computes nodes whose operands are constants.
//
// Before: types are known. After: no pure node reads constants only, unless its result is larger than the limit or has
// a symbolic size.
//
// Not earlier: folding needs final shapes. Not later: cse merges equal constants.
//
// Cost: one walk and the work of the folded nodes, which the limit on results bounds.
//
// The value is that of ir/eval, rounded to the result's dtype. Weights are not folded: no decision depends on their
// values. A strided view stays a view, as the types of its own views follow from its strides. The nodes that read it
// are folded:
//
//	%c = constant [1 2; 3 4]         %c = constant [1 2; 3 4]
//	%p = permute %c {perm=[1,0]}     %p = permute %c             stays, strided
//	%n = neg %p                      %n = constant [-1 -3; -2 -4]
var Fold = pass.Pass{
	Name:   "fold",
	Doc:    "compute what constants alone decide",
	Run:    fold,
	Needs:  ir.PropShaped,
	Breaks: pass.FromSplit,
	Rules:  []pass.Rule{{Name: pass.RuleFoldConstant, Doc: "all operands are constants, and the result is small"}},
	Flags:  foldFlags{Limit: 4096},
}

type foldFlags struct {
	Limit int64 `debug:"limit,bytes of the largest constant that folding makes, at most 4096"`
}

// maxConstant is the size in bytes of the largest constant in the text of a module.
const maxConstant = 4096

func fold(c *pass.Context, m *ir.Module) error {
	limit := min(pass.Flags[foldFlags](c).Limit, maxConstant)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if !foldable(n, limit) || !c.Allow(pass.RuleFoldConstant, n) {
				continue
			}
			if err := foldNode(c, n); err != nil {
				return fmt.Errorf("@%s %v: %w", f.Name, n, err)
			}
		}
	}
	c.Unchanged = c.NoneCounted()
	return nil
}

// foldable reports whether constants decide n, and its result is a small, plain and dense value of a dtype into which
// eval's values can be rounded.
func foldable(n *ir.Node, limit int64) bool {
	if !n.Is(ir.Pure) || n.Is(ir.Leaf) || !isDecided(n) {
		return false
	}
	t := n.Result().Type
	bytes, known := t.Bytes().IsConst()
	return known && bytes <= limit && t.Layout == dtype.Plain && t.Dense() && t.Space == "" && !t.DType.IsQuantized()
}

// isDecided reports whether constants alone decide the result of n.
func isDecided(n *ir.Node) bool {
	if n.Body != nil || len(n.Args) == 0 || len(n.Results) != 1 || slices.ContainsFunc(ir.AttrDims(n.Attr), isSymbolic) {
		return false
	}
	return !slices.ContainsFunc(n.Args, func(a *ir.Value) bool { return a != nil && !isConstant(a) })
}

func isSymbolic(d ir.Dim) bool {
	_, constant := d.IsConst()
	return !constant
}

// isConstant reports whether v is a constant or a strided view of one.
func isConstant(v *ir.Value) bool {
	return v.Def != nil && (v.Def.Op == ir.OpConstant || v.Def.Is(ir.View) && !v.Type.Dense() && isDecided(v.Def))
}

// foldNode turns n into a constant.
func foldNode(c *pass.Context, n *ir.Node) error {
	result, err := valueOf(c, n)
	if err != nil {
		return err
	}
	data, exact := encode(n.Result().Type.DType, result.Flat())
	if !exact {
		return nil
	}
	c.CauseChange(n, pass.RuleFoldConstant, n.Op.String(), ir.OpConstant.String(), valueNames(n.Args)...)
	c.Count("nodes", 1)
	n.Op, n.Attr, n.Args = ir.OpConstant, &ir.ConstantAttr{Data: data}, nil
	return nil
}

// valueOf computes the result of a node that constants decide, and of the strided views that it reads.
func valueOf(c *pass.Context, n *ir.Node) (eval.Tensor, error) {
	args := make([]eval.Tensor, len(n.Args))
	for i, a := range n.Args {
		if a == nil {
			continue
		}
		t, err := constantTensor(c, a)
		if err != nil {
			return eval.Tensor{}, err
		}
		args[i] = t
	}
	results, err := eval.Node(c.Ctx, n, args, nil)
	if err != nil {
		return eval.Tensor{}, err
	}
	return results[0], nil
}

// constantTensor returns the elements of a constant or of a strided view of one.
func constantTensor(c *pass.Context, v *ir.Value) (eval.Tensor, error) {
	if v.Def.Op != ir.OpConstant {
		return valueOf(c, v.Def)
	}
	shape := make([]int, len(v.Type.Shape))
	for i, d := range v.Type.Shape {
		n, _ := d.IsConst()
		shape[i] = int(n)
	}
	return eval.Decode(v.Type.DType, v.Def.Attr.(*ir.ConstantAttr).Data, shape...)
}

// encode returns the bytes of the values in a dtype. The codec takes float32; exact is false if an integer or f64 would
// be rounded to that.
func encode(d dtype.DType, values []float64) (data []byte, exact bool) {
	src := make([]float32, len(values))
	for i, x := range values {
		src[i] = float32(x)
		if (d.IsInt() || d == dtype.F64) && float64(src[i]) != x && !math.IsNaN(x) {
			return nil, false
		}
	}
	data = make([]byte, d.Bytes(len(values)))
	return data, dtype.Encode(d, data, src) == nil
}

func valueNames(vs []*ir.Value) []string {
	var list []string
	for _, v := range vs {
		if v != nil {
			list = append(list, v.String())
		}
	}
	return list
}
