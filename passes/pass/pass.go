// Package pass declares what a pass is ([Pass]) and what it may use ([Context], [Options], statistics, fuel, errors).
// It knows no pass; package passes has the table of them and runs them.
package pass

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Pass is one step of the pipeline.
type Pass struct {
	Name string
	Doc  string // one line
	Run  func(*Context, *ir.Module) error

	// Required passes cannot be disabled.
	Required bool

	// All of Needs and nothing of Breaks holds before the pass; Gives holds after it. Breaks are decisions of later
	// passes, which would no longer hold or which the pass does not take into account.
	Needs, Gives, Breaks ir.Props

	// Rules are the reasons that the pass gives in causes. Each can be disabled.
	Rules []Rule

	// Flags is the zero value of a struct whose fields, tagged `debug:"name,doc"`, are set
	// by --debug PASS/NAME=VALUE; nil for none. A pass reads them with [Flags].
	Flags any
}

// Values for Pass.Breaks: a property and the properties of all later decisions, which build on it.
const (
	FromSynced      = ir.PropSynced | ir.PropChecked
	fromPlaced      = ir.PropPlaced | FromSynced
	FromPartitioned = ir.PropPartitioned | fromPlaced
	FromOrdered     = ir.PropOrdered | FromPartitioned
	FromRolled      = ir.PropRolled | FromOrdered
	FromQueued      = ir.PropQueued | FromRolled
	FromCopied      = ir.PropCopied | FromQueued
	FromSplit       = ir.PropSplit | FromCopied
	FromPacked      = ir.PropPacked | FromSplit
	FromAssigned    = ir.PropAssigned | FromPacked
)

// Rule is a reason for which a pass decides something.
type Rule struct {
	Name RuleName // unique in the pipeline
	Doc  string   // one sentence
}

// As returns the pass under another name, to run it again. It declares no rules, as a rule has one pass.
func (p Pass) As(name string) Pass {
	p.Name = name
	p.Rules = nil
	return p
}

// Declares reports whether the pass declares the rule.
func (p *Pass) Declares(rule RuleName) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Name == rule })
}
