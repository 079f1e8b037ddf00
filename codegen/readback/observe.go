package readback

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// A value that is handed out is found by the runtime by three arguments of a call: the number of the node in the
// function's table, the iteration, which selects the name, and the address. Another number or iteration would hand the
// value out under a wrong name, or with a wrong shape.

// observeCall is the method of the worker that hands a value out.
const observeCall = "Observe"

// wantObserved is the table of a function's observed values: those of its nodes, bodies included, in order.
func (c *checker) wantObserved(f *ir.Func) list {
	var rows list
	for _, n := range handOuts(nil, f) {
		var names list
		for _, id := range n.Attr.(*ir.ObserveAttr).Names {
			names = append(names, id)
		}
		x := n.Args[0]
		rows = append(rows, record{"Names": names, "Type": declared("dtype." + goNames[x.Type.DType]), "Dims": c.wantDims(x)})
	}
	return rows
}

// handOuts appends the nodes of f and its bodies that hand values out, in order.
func handOuts(list []*ir.Node, f *ir.Func) []*ir.Node {
	for _, n := range f.Nodes {
		switch {
		case n.Op == ir.OpObserve:
			list = append(list, n)
		case n.Body != nil:
			list = handOuts(list, n.Body)
		}
	}
	return list
}

// observe compares the call that hands a value out: worker 0 of the host alone makes it.
func (w *walker) observe(a *arguments) error {
	e, n := a.e, a.n
	if e.kind != kernelEvent || e.what != observeCall {
		return fmt.Errorf("%s, where the value is to be handed out", e)
	}
	a.kernel = &kernel{params: "args number iteration at"}
	w.worker(a)
	if n.Part.Mode != ir.PartOne {
		a.differ("it is not for worker 0 alone: its partition is %v", n.Part.Mode)
	}
	if !a.bind() {
		return a.result()
	}
	if args := a.take("args"); !args.isObject(objArgs) {
		a.differ("%v, where the step's arguments are due", args)
	}
	if w.numbers == nil {
		w.numbers = make(map[*ir.Node]int64)
		for i, o := range handOuts(nil, w.entry) {
			w.numbers[o] = int64(i)
		}
	}
	a.dim("number", ir.Const(w.numbers[n]))
	w.inIteration(a, a.number("iteration"))
	a.ptr("at", n.Args[0])
	return a.result()
}
