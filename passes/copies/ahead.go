package copies

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// copyAhead copies the caller's inputs into the spaces of backends with queues before everything else.
//
// A call returns when its work is submitted. The earlier its inputs are copied, the earlier the caller may overwrite
// them, and the copies run at the same time as the first work of the host.
//
//	split 0  cpu  %a = f(%t)                      split 0  gpu  %x.gpu = copy %x
//	split 1  gpu  %x.gpu = copy %x       ->       split 1  cpu  %a = f(%t)
//	              %b = g(%x.gpu)                  split 2  gpu  %b = g(%x.gpu)
//
// A backend without queues copies an input where it is read. An earlier copy would let neither the caller nor the host
// continue earlier, and its bytes would be live for longer. So does a backend that limits the inputs of a split.
func (w *copier) copyAhead(f *ir.Func) {
	if f.Owner != nil {
		return
	}
	first := firstSplit(f)
	for _, n := range f.Nodes {
		t := w.c.Target(n)
		if t == nil || !flow.DoesWork(n) || flow.IsTransfer(n) || flow.RunsFunction(n) || !t.Asynchronous() || t.MaxInputs > 0 {
			continue
		}
		for _, a := range n.Args {
			if a == nil || !flow.CopyBase(a).IsParam() || t.Addresses(a.Type.Space) {
				continue
			}
			// The first split copies what it reads before everything else anyway.
			if base, key := flow.CopyBase(a), (CopyKey{flow.CopyBase(a), t.Home()}); w.ahead[key] == nil && n.Split != first {
				w.ahead[key] = w.inputAhead(n, base)
			}
		}
	}
	w.flushAhead()
}

// firstSplit returns the number of the first split with work.
func firstSplit(f *ir.Func) int {
	for _, n := range f.Nodes {
		if flow.DoesWork(n) {
			return n.Split
		}
	}
	return 0
}

// inputAhead returns a copy of an input for n, which flushAhead puts before all splits.
func (w *copier) inputAhead(n *ir.Node, v *ir.Value) *ir.Value {
	cp := w.copyOf(n, v)
	w.heads = w.heads[:len(w.heads)-1] // copyOf has put it there
	w.before = append(w.before, cp.Def)
	w.c.Cause(cp.Def, pass.RuleCopyAhead, v.String())
	return cp
}

// flushAhead appends the copies to the new order, in one split for each backend.
func (w *copier) flushAhead() {
	for number := 0; len(w.before) > 0; number++ {
		var rest []*ir.Node
		backend := w.before[0].Backend
		for _, n := range w.before {
			if n.Backend != backend {
				rest = append(rest, n)
				continue
			}
			w.extra[n] = -1 - number
			w.place(n)
		}
		w.before = rest
	}
}
