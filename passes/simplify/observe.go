package simplify

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Observe makes the values that --observe names results of their entry point.
//
// Before: the nodes that will run, each on its backend. After: each value that the option names, and that is in memory
// as numbers, is a result after those of the caller (ir.Func.Observed).
//
// Not earlier: a result cannot be fused away, and what is observed has to be the program that runs without it. Not
// later: a value on a device needs a copy to the host, which copy inserts.
//
// Cost: one walk, O(nodes). Without the option it does nothing.
//
//	%y = matmul %x, %w
//	%z = silu %y
//	return %z          return %z, %y
//
// A part of a value that the devices of a group have (ir.Func.Parts) is handed out with its index: y@1[:,8:12].
//
// All passes that follow know what a result is: copy brings it to the host, plan keeps its bytes to the end of the
// step, check proves that nothing overwrites them, and readback compares where the program looks for it. So the program
// hands values over when the step has ended, from where the plan has them, and its steps have no code for it.
//
// The price is that a step keeps all observed values at once, and that roll finds no layers whose values are observed:
// each layer is written out, and its values have names of their own.
//
// The alternatives were these. A call between two nodes would hand a value over in the middle of a step: then every
// worker has to wait there, plan, check and readback need rules for readers that are no nodes, and the epochs are not
// those of the program that runs without it. An op that reads a value and makes none has the same epochs to change, and
// dce, roll and order would have to know that it must stay and where. Reading the arena from outside finds bytes that
// are in use again.
var Observe = pass.Pass{
	Name:   "observe",
	Doc:    "make the values that --observe names results, which the program hands out",
	Run:    observe,
	Needs:  ir.PropShaped | ir.PropAssigned | ir.PropPacked,
	Breaks: pass.FromSplit,
}

func observe(c *pass.Context, m *ir.Module) error {
	if c.Options.Observe == nil {
		return nil
	}
	for _, f := range m.Funcs {
		part := f.PartIndexes()
		for _, n := range f.Nodes {
			if !pass.Observes(c.Options.Observe, n) || flow.Unobservable(n) != "" {
				continue
			}
			name := n.Result().Name()
			f.AddResult(name+part[name], n.Result())
			f.Observed++
			c.Count("values", 1)
		}
	}
	return nil
}
