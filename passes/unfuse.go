package passes

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// unfusePass takes fused ops apart that their backend cannot run.
//
// Before: every node has a backend. After: every fused op is run by its backend; the
// pieces of those that were not are on the same backend, where it runs them, else on the
// next one in the list that does.
//
// Not earlier: only assign knows who must run the op. Not later: pack makes the formats of
// the ops that will run.
//
// Cost: one walk, O(nodes * targets).
var unfusePass = Pass{
	Name:     "unfuse",
	Doc:      "lower fused ops that the chosen backend cannot run",
	Run:      unfuse,
	Required: true,
	Needs:    ir.PropShaped | ir.PropAssigned,
	Rules:    []Rule{{ruleUnfuse, "the backend that was chosen for the fused op cannot run it"}},
}

const ruleUnfuse = "unfuse.lower"

// lowererOf returns the function that writes a fused op as simpler ones and returns the
// value that takes the place of its result; nil for an op that is not fused.
func lowererOf(n *ir.Node) func(l *lowering, n *ir.Node) *ir.Value {
	switch n.Op {
	case ir.OpMatMul:
		if present(n) == 3 {
			return lowerResidual
		}
	case ir.OpMatMulSwiGLU:
		return lowerMatMulSwiGLU
	case ir.OpSwiGLU:
		return lowerSwiGLU
	case ir.OpRMSNormQuantize:
		return lowerRMSNormQuantize
	}
	return nil
}

func unfuse(c *Context, m *ir.Module) error {
	for _, f := range m.AllFuncs() {
		l := &lowering{c: c, e: newEdit(c, f)}
		for _, n := range f.Nodes {
			l.e.update(n)
			lower := lowererOf(n)
			if lower == nil || supported(c, n) {
				l.e.keep(n)
				continue
			}
			l.from = n
			l.e.replace(n.Result(), lower(l, n))
		}
		l.e.done()
		if l.err != nil {
			return l.err
		}
	}
	return nil
}

func supported(c *Context, n *ir.Node) bool {
	t := c.Target(n)
	if t == nil {
		return true
	}
	ok, _ := t.Supports(n)
	return ok
}

// lowering emits the pieces of one node after another.
type lowering struct {
	c    *Context
	e    *edit
	from *ir.Node
	err  error
}

// emit adds a piece on the backend of the fused node or, where that cannot run it either,
// on the first that can. A piece that is itself fused is taken apart likewise.
func (l *lowering) emit(op ir.Op, attr any, name string, args ...*ir.Value) *ir.Value {
	n := l.e.add(l.from, op, attr, name, args...)
	n.Causes = append(n.Causes, l.from.Causes...)
	l.c.CauseChange(n, ruleUnfuse, l.from.Op.String(), "", l.from.String(), n.Backend)
	l.c.Count("nodes", 1)
	if supported(l.c, n) {
		return n.Result()
	}
	if t, _ := firstSupporting(l.c, n); t != nil {
		n.Backend = t.Name
		n.Result().Type.Space = resultSpace(l.c.Targets, n)
		return n.Result()
	}
	if lower := lowererOf(n); lower != nil {
		l.e.drop(n)
		return lower(l, n)
	}
	l.err = fmt.Errorf("%v: no target runs %v, which is a part of it", l.from, op)
	return n.Result()
}

func lowerResidual(l *lowering, n *ir.Node) *ir.Value {
	y := l.emit(ir.OpMatMul, n.Attr, n.Result().Name, n.Args[0], n.Args[1])
	return l.emit(ir.OpAdd, nil, n.Result().Name, y, n.Args[2])
}

func lowerMatMulSwiGLU(l *lowering, n *ir.Node) *ir.Value {
	name := n.Result().Name
	gate := l.emit(ir.OpMatMul, nil, name+".gate", n.Args[0], n.Args[1])
	up := l.emit(ir.OpMatMul, nil, name+".up", n.Args[0], n.Args[2])
	return l.emit(ir.OpSwiGLU, nil, name, gate, up)
}

func lowerSwiGLU(l *lowering, n *ir.Node) *ir.Value {
	gate := l.emit(ir.OpSiLU, nil, n.Result().Name+".silu", n.Args[0])
	return l.emit(ir.OpMul, nil, n.Result().Name, gate, n.Args[1])
}

func lowerRMSNormQuantize(l *lowering, n *ir.Node) *ir.Value {
	y := l.emit(ir.OpRMSNorm, n.Attr, n.Result().Name+".norm", n.Args...)
	return l.emit(ir.OpQuantize, nil, n.Result().Name, y)
}
