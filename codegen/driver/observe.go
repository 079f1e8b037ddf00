package driver

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// canObserve refuses to observe values of a module on which the pass observe has run without the option.
func canObserve(m *ir.Module, o CompileOptions) error {
	index := func(name string) int {
		return slices.IndexFunc(passes.Passes(), func(p pass.Pass) bool { return p.Name == name })
	}
	if o.Passes.Observe == nil || o.Run != nil || index(m.Last) < index("observe") || observed(m) {
		return nil
	}
	return optionf("observe %v: pass observe has run on this module already: the last was %s; start from an earlier dump", o.Passes.Observe, m.Last)
}

// observesAny refuses an expression of --observe that no value follows.
func observesAny(m *ir.Module, o CompileOptions) error {
	if o.Passes.Observe == nil || o.Run != nil || o.To != "" || o.Before != "" || observed(m) {
		return nil
	}
	return optionf("observe %v: no value that programs hold as an array has this name or position: ggmlc dump --before observe shows them all", o.Passes.Observe)
}

// observed reports whether a function has observed results.
func observed(m *ir.Module) bool {
	return slices.ContainsFunc(m.Funcs, func(f *ir.Func) bool { return len(f.Observed) > 0 })
}
