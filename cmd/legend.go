package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// writeLegend explains, as comments, the rules that the causes of a dump name, so that a reader sees why a node is
// where it is. It writes nothing if no column shows causes.
func writeLegend(w io.Writer, m *ir.Module, o ir.PrintOptions) error {
	rules := shownRules(m, o)
	if len(rules) == 0 {
		return nil
	}
	widest := 0
	for _, r := range rules {
		widest = max(widest, len(r.Name))
	}
	var b strings.Builder
	b.WriteString("// rules\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "//   %-*s %s\n", widest, r.Name, r.Doc)
	}
	_, err := io.WriteString(w, wrap(b.String(), columns, "//"))
	return err
}

// shownRules returns the rules that a printed module names, in the order of the passes. Rules of other versions of
// ggmlc are left out, as their texts are unknown.
func shownRules(m *ir.Module, o ir.PrintOptions) []pass.Rule {
	named := make(map[string]bool)
	for _, f := range m.AllFuncs() {
		if o.Funcs != nil && !slices.Contains(o.Funcs, entryName(f)) {
			continue
		}
		for _, n := range f.Nodes {
			hidden := o.Show&ir.ShowTypes == 0 && n.Op.Info().Traits&ir.Leaf != 0 || o.Only != nil && !o.Only(n)
			if hidden {
				continue
			}
			for _, c := range shownCauses(n, o.Show) {
				named[c.Rule] = true
			}
		}
	}
	var rules []pass.Rule
	for _, p := range passes.Passes() {
		for _, r := range p.Rules {
			if named[string(r.Name)] {
				rules = append(rules, r)
			}
		}
	}
	return rules
}

// shownCauses returns the causes of n that the columns show: all causes, the one of its backend, the last one, or none.
func shownCauses(n *ir.Node, show ir.Show) []ir.Cause {
	if show&ir.ShowCauses != 0 {
		return n.Causes()
	}
	var list []ir.Cause
	if c, ok := n.PlacedBy(); ok && show&ir.ShowWhy != 0 {
		list = append(list, c)
	}
	if c, ok := n.LastCause(); ok && show&ir.ShowCause != 0 {
		list = append(list, c)
	}
	return list
}

// entryName returns the name of the entry point that f is, or whose body it is.
func entryName(f *ir.Func) string {
	for f.Owner != nil {
		f = f.Owner.Func
	}
	return f.Name
}
