package pass

import "github.com/ggmlc/ggmlc/ir"

// Fuel is a budget of rule applications, to find the first bad one by bisection: with --debug all/fuel=N only the first
// N applications of rules happen.
type Fuel struct {
	left    int64
	limited bool

	// Last describes the last application that was allowed; empty without a limit.
	Last string
}

// NewFuel returns a budget of n applications; a negative n is no limit.
func NewFuel(n int64) *Fuel { return &Fuel{left: n, limited: n >= 0} }

// take reports whether there is fuel for one application, and uses it.
func (f *Fuel) take(pass string, rule RuleName, n *ir.Node) bool {
	if !f.limited {
		return true
	}
	if f.left == 0 {
		return false
	}
	f.left--
	f.Last = pass + " " + string(rule)
	if n != nil {
		f.Last += " " + n.String()
	}
	return true
}
