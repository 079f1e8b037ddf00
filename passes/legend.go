package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// ShownRules returns the rules that a module names when it is printed with these options, in the order of the passes.
// Rules of other versions of ggmlc are left out, as their texts are unknown.
func ShownRules(m *ir.Module, o ir.PrintOptions) (rules []pass.Rule) {
	named := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		if o.Funcs != nil && !slices.Contains(o.Funcs, f.Entry().Name) {
			continue
		}
		for _, n := range f.Nodes {
			hidden := o.Show&ir.ShowTypes == 0 && n.Op.Info().Traits&ir.Leaf != 0 || o.Only != nil && !o.Only(n)
			if hidden {
				continue
			}
			for _, c := range n.ShownCauses(o.Show) {
				named[c.Rule] = true
			}
		}
	}
	for _, p := range Passes() {
		for _, r := range p.Rules {
			if named[string(r.Name)] {
				rules = append(rules, r)
			}
		}
	}
	return rules
}
