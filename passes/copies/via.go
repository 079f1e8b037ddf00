package copies

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// direct returns what a copy of v for n reads. This is v, unless the device that has v and the one that runs n exchange
// bytes only by way of the host. Then it is a copy of v in the memory of the last target, which serves the rest of the
// function. It is made before the open split. So the copy of a value that the open split computes reads the value
// itself.
//
//	split 0  gpu:0  %a = f(...)
//	split 1  cpu    %a.cpu = copy %a
//	split 2  gpu:1  %a.gpu:1 = copy %a.cpu
//	                %b = g(%a.gpu:1)
func (w *copier) direct(n *ir.Node, v *ir.Value) *ir.Value {
	last := w.c.Targets.Last()
	if w.c.Targets.Direct(v.Type.Space, w.c.Target(n).Home()) || w.computedHere(v) {
		return v
	}
	key := CopyKey{v, last.Home()}
	if w.known[key] == nil {
		w.known[key] = w.copyBefore(n, v, last, pass.RuleCopyVia)
	}
	return w.known[key]
}

// copyBefore returns a copy of v in the home of a backend, made in a split of that backend before the open one.
func (w *copier) copyBefore(n *ir.Node, v *ir.Value, t *target.Descriptor, rule pass.RuleName) *ir.Value {
	cp := w.node(n, ir.OpCopy, nil, v.Name()+"."+t.Name, v)
	cp.Result().Type.Space = t.Home()
	w.elsewhere(cp, t.Name)
	w.c.CauseChange(cp, rule, v.Type.Space, t.Home(), v.String(), n.String())
	w.c.Count("inserted", 1)
	return cp.Result()
}
