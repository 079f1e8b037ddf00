package driver

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/ir"
)

// PinMatch is what a pin has put on its backend.
type PinMatch struct {
	Pin   pass.Pin
	Nodes []string // with their functions, in order: "@decode %v9"
}

// pinWatch looks at a module just after the pass that applies pins: later passes join nodes
// and keep the causes of one of them.
type pinWatch struct {
	pins    []pass.Pin
	matches []PinMatch // of all pins, once assign has run
}

// after reads off the causes which pin put which nodes where; it fits passes.RunOptions.Each.
func (w *pinWatch) after(pass string, m *ir.Module) {
	if pass != "assign" || len(w.pins) == 0 {
		return
	}
	nodes := make(map[string][]string)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if pin := pinOf(n); pin != "" {
				nodes[pin] = append(nodes[pin], fmt.Sprintf("@%s %v", f.Name, n))
			}
		}
	}
	for _, p := range w.pins {
		w.matches = append(w.matches, PinMatch{p, nodes[p.String()]})
	}
}

// pinOf returns the pin that put n where it is; empty for none.
func pinOf(n *ir.Node) string {
	for _, c := range n.Causes() {
		if (c.Rule == "assign.pin" || c.Rule == "spread.pin" || c.Rule == "usr") && len(c.Operands) > 0 {
			return c.Operands[0]
		}
	}
	return ""
}

// unused reports pins that put no node anywhere.
func (w *pinWatch) unused() error {
	var errs []error
	for _, m := range w.matches {
		if len(m.Nodes) == 0 {
			why := ""
			if strings.Contains(m.Pin.String(), "%") {
				why = ", as names in pins have no %"
			}
			errs = append(errs, fmt.Errorf("pin %v: it matches the name, position or weight of no node that an earlier pin leaves%s: ggmlc dump --before assign shows them", m.Pin, why))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return &OptionError{err}
	}
	return nil
}
