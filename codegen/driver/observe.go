package driver

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// observesAny refuses an expression of --observe that no value follows.
func observesAny(m *ir.Module, o CompileOptions) error {
	observed := func(f *ir.Func) bool { return f.Observed > 0 }
	if o.Passes.Observe == nil || o.Run != nil || o.To != "" || o.Before != "" || slices.ContainsFunc(m.Funcs, observed) {
		return nil
	}
	return optionf("observe %v: no value that programs hold as an array has this name or position: ggmlc dump --before observe shows them all", o.Passes.Observe)
}
