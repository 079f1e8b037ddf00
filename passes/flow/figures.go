package flow

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Measure returns the figures of a module.
func Measure(m *ir.Module) pass.Figures {
	var fig pass.Figures
	for _, f := range m.Funcs {
		fig.Splits += addFigures(&fig, f) + 1
	}
	if m.Plan != nil {
		for i := range m.Plan.Arenas {
			fig.ArenaBytes += m.Plan.Arenas[i].Bytes()
		}
	}
	return fig
}

// addFigures adds the nodes and copies of f and of the bodies in it, and returns the last number of a split there; -1
// if there is none.
func addFigures(fig *pass.Figures, f *ir.Func) (last int) {
	last = -1
	fig.Nodes += len(f.Nodes)
	for _, n := range f.Nodes {
		last = max(last, n.Split)
		if IsTransfer(n) {
			fig.Copies++
			fig.BytesCopied += transferred(n)
		}
		if n.Body != nil {
			last = max(last, addFigures(fig, n.Body))
		}
	}
	return last
}
