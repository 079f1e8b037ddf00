package pass

import (
	"github.com/ggmlc/ggmlc/ir"
)

// Fuel is a budget of rule applications, for finding the first bad one by halves: with
// --debug all/fuel=N only the first N applications of rules happen.
type Fuel struct {
	left    int64
	limited bool

	// Last is the last application that was allowed, as text.
	Last string
}

func NewFuel(n int64) *Fuel { return &Fuel{left: n, limited: n >= 0} }

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
