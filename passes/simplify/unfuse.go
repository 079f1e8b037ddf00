package simplify

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
)

// Unfuse lowers fused ops that their backend does not run.
//
// Before: every node has a backend. After: every fused op is run by its backend. The pieces of a lowered op are on the
// same backend if it runs them, else on the first target that does.
//
// Not earlier: assign decides which backend runs the op. Not later: pack makes the formats of the ops that will run.
//
// Cost: one walk, O(nodes * targets).
//
// Example: npu runs matmul, silu and mul, and no target runs swiglu. The last piece is fused itself and lowered
// further.
//
//	%m = matmul_swiglu %x, %wg, %wu    first: %m.gate = matmul %x, %wg
//	                                          %m.up = matmul %x, %wu
//	                                          %m = swiglu %m.gate, %m.up
//	                                   then:  %m.silu = silu %m.gate
//	                                          %m = mul %m.silu, %m.up
var Unfuse = pass.Pass{
	Name:     "unfuse",
	Doc:      "lower fused ops that the chosen backend cannot run",
	Run:      unfuse,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned,
	Breaks:   pass.FromPacked,
	Rules:    []pass.Rule{{Name: pass.RuleUnfuseLower, Doc: "the backend that was chosen for the fused op cannot run it"}},
}

// IsFused reports whether unfuse can lower n.
func IsFused(n *ir.Node) bool { return lowererOf(n) != nil }

// lowererOf returns the function that lowers a fused op: it adds all pieces but the last before the node, and turns the
// node into the last one. It returns nil for an op that is not fused.
func lowererOf(n *ir.Node) func(l *lowering, n *ir.Node) {
	switch n.Op {
	case ir.OpMatMul:
		if rewrite.Present(n) == 3 {
			return lowerResidual
		}
	case ir.OpMatMulSwiGLU:
		return lowerMatMulSwiGLU
	case ir.OpSwiGLU:
		return lowerSwiGLU
	case ir.OpRMSNormQuantize:
		return lowerRMSNormQuantize
	case ir.OpChain:
		return lowerChain
	}
	return nil
}

func unfuse(c *pass.Context, m *ir.Module) error {
	if !somethingToLower(c, m) {
		c.Unchanged = true
		return nil
	}
	var errs []error
	for _, f := range m.AllFuncs() {
		l := &lowering{c: c, e: rewrite.NewEdit(c, f)}
		for _, n := range f.Nodes {
			l.e.Update(n)
			l.node(n)
			l.e.Keep(n)
		}
		l.e.Done()
		moveViews(f)
		errs = append(errs, l.errs...)
	}
	return errors.Join(errs...)
}

// moveViews puts views into the space of their operand, which may have moved.
func moveViews(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Is(ir.View) {
			n.Result().Type.Space = n.Args[0].Type.Space
		}
	}
}

// somethingToLower reports whether some fused node is not run by its backend.
func somethingToLower(c *pass.Context, m *ir.Module) bool {
	l := &lowering{c: c}
	return slices.ContainsFunc(m.AllFuncs(), func(f *ir.Func) bool {
		return slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return IsFused(n) && !l.runs(n) })
	})
}

// lowering lowers the fused nodes of one function.
type lowering struct {
	c    *pass.Context
	e    *rewrite.Edit
	errs []error
}

// node lowers n until its backend runs it. The last piece may be fused itself.
func (l *lowering) node(n *ir.Node) {
	for lower := lowererOf(n); lower != nil && !l.runs(n); lower = lowererOf(n) {
		before := n.Op.String()
		lower(l, n)
		l.c.CauseChange(n, pass.RuleUnfuseLower, before, n.Op.String(), n.Backend)
		l.c.Count("nodes", 1)
		l.move(n)
	}
}

// runs reports whether the backend of n runs it. A node without a backend needs none.
func (l *lowering) runs(n *ir.Node) bool {
	t := l.c.Target(n)
	if t == nil {
		return true
	}
	ok, _ := t.Supports(n)
	return ok
}

// move puts a piece that its backend does not run on the first target that does. If there is none, it is an error,
// unless the piece is fused.
func (l *lowering) move(n *ir.Node) {
	if l.runs(n) {
		return
	}
	t, refusals := pass.FirstSupporting(l.c, n)
	switch {
	case t != nil:
		n.Backend = t.Name
		n.Result().Type.Space = rewrite.ResultSpace(l.c.Targets, n)
	case !IsFused(n):
		l.errs = append(l.errs, fmt.Errorf("@%s %v: no target runs %v, a piece of a fused op: %s",
			l.e.F.Name, n, n.Op, strings.Join(refusals, "; ")))
	}
}

// emit adds a piece before n, on the same backend if that runs it.
func (l *lowering) emit(n *ir.Node, op ir.Op, attr any, suffix string, args ...*ir.Value) *ir.Value {
	piece := l.e.Add(n, op, attr, n.Result().Name()+suffix, args...)
	piece.CausedAs(n)
	l.c.CauseChange(piece, pass.RuleUnfuseLower, n.Op.String(), op.String(), n.String(), n.Backend)
	l.c.Count("nodes", 1)
	l.move(piece)
	return piece.Result()
}

// become turns n into its last piece.
func become(n *ir.Node, op ir.Op, args ...*ir.Value) { n.Op, n.Attr, n.Args = op, nil, args }

func lowerResidual(l *lowering, n *ir.Node) {
	become(n, ir.OpAdd, l.emit(n, ir.OpMatMul, n.Attr, ".product", n.Args[0], n.Args[1]), n.Args[2])
}

func lowerMatMulSwiGLU(l *lowering, n *ir.Node) {
	to := n.Attr.(*ir.MatMulSwiGLUAttr).To
	if to == dtype.F32 {
		gate, up := l.gateUp(n)
		become(n, ir.OpSwiGLU, gate, up)
		return
	}
	become(n, ir.OpCast, l.swiGLU(n))
	n.Attr = &ir.CastAttr{To: to}
}

// gateUp adds the two products of n.
func (l *lowering) gateUp(n *ir.Node) (gate, up *ir.Value) {
	return l.emit(n, ir.OpMatMul, nil, ".gate", n.Args[0], n.Args[1]), l.emit(n, ir.OpMatMul, nil, ".up", n.Args[0], n.Args[2])
}

// swiGLU adds the f32 result that n rounds, in as few pieces as its backend runs.
func (l *lowering) swiGLU(n *ir.Node) *ir.Value {
	const suffix = ".f32"
	plain := *n
	plain.Attr = swiGLUTo(dtype.F32)
	if l.runs(&plain) {
		return l.emit(n, ir.OpMatMulSwiGLU, plain.Attr, suffix, n.Args...)
	}
	gate, up := l.gateUp(n)
	plain.Op, plain.Attr, plain.Args = ir.OpSwiGLU, nil, []*ir.Value{gate, up}
	if l.runs(&plain) {
		return l.emit(n, ir.OpSwiGLU, nil, suffix, gate, up)
	}
	return l.emit(n, ir.OpMul, nil, suffix, l.emit(n, ir.OpSiLU, nil, ".silu", gate), up)
}

func lowerSwiGLU(l *lowering, n *ir.Node) {
	become(n, ir.OpMul, l.emit(n, ir.OpSiLU, nil, ".silu", n.Args[0]), n.Args[1])
}

func lowerRMSNormQuantize(l *lowering, n *ir.Node) {
	a := n.Attr.(*ir.NormQuantizeAttr)
	norm := l.emit(n, ir.OpRMSNorm, &ir.NormAttr{Eps: a.Eps}, ".norm", n.Args...)
	if a.To.IsActivation() {
		become(n, ir.OpQuantize, norm)
		n.Attr = &ir.QuantizeAttr{To: a.To}
		return
	}
	become(n, ir.OpCast, norm)
	n.Attr = &ir.CastAttr{To: a.To}
}

// lowerChain makes a node of each step.
func lowerChain(l *lowering, n *ir.Node) {
	x, steps := n.Args, n.Attr.(*ir.ChainAttr).Steps
	y := make([]*ir.Value, 0, len(steps))
	for i, s := range steps {
		args := make([]*ir.Value, len(s.Args))
		for k, r := range s.Args {
			from := x
			if r.Step {
				from = y
			}
			args[k] = from[r.Index]
		}
		if i == len(steps)-1 {
			become(n, s.Op, args...)
			n.Attr = s.Attr
			return
		}
		y = append(y, l.emit(n, s.Op, s.Attr, fmt.Sprintf(".y%d", i), args...))
	}
}
