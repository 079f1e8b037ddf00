package pass

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// RulesError reports that the rules which the user chose give a plan that cannot run. The rules of ggml's schedulers do
// not check everything that a plan needs.
type RulesError struct{ Text string }

// Error returns the text.
func (e *RulesError) Error() string { return e.Text }

// NoTargetError reports a node that no target runs, under any rules.
type NoTargetError struct {
	Text     string   // node, op and types
	Refusals []string // the reason of each target, which the text does not have
}

// Error returns the text.
func (e *NoTargetError) Error() string { return e.Text }

// WithRefusals returns an error, joined with one for each reason of a target. Their texts begin with a blank: they
// continue the first.
func WithRefusals(err error, refusals []string) error {
	all := []error{err}
	for _, r := range refusals {
		all = append(all, errors.New("  "+r))
	}
	return errors.Join(all...)
}

// BudgetError reports that a plan needs more memory than a target has or the user allows.
type BudgetError struct {
	Name        string // of the space or backend, or of the weight or state that is too large
	Need, Limit int64  // bytes
	Arenas      []ir.Arena
	Own         bool   // the limit is the memory of the target, not a setting of the user
	Movable     bool   // other rules may put less there
	Enough      bool   // Need is enough, but not known to be necessary: no plan was found that keeps the limit
	Advice      string // what to do; empty for the general advice
}

// Error names the arenas that need most.
func (e *BudgetError) Error() string {
	if e.Need <= e.Limit { // the figures do not show what is missing
		return e.Name + ": " + cmp.Or(e.Advice, e.help())
	}
	by := "--max-memory allows"
	if e.Own {
		by = "there is"
	}
	needs := "needs"
	if e.Enough {
		needs = "would do with"
	}
	text := fmt.Sprintf("%s %s %d bytes%s, %d%s more than %s", e.Name, needs, e.Need, ir.RoundedBytes(e.Need), e.Need-e.Limit, ir.RoundedBytes(e.Need-e.Limit), by)
	for i, a := range e.Arenas {
		text += fmt.Sprintf("%c %s %d%s", ":,"[min(i, 1)], a.Class, a.Bytes(), ir.RoundedBytes(a.Bytes()))
	}
	return text + ": " + cmp.Or(e.Advice, e.help())
}

// help returns the general advice. Fewer or shorter sequences do not help if weights alone are too large.
func (e *BudgetError) help() string {
	var ways []string
	if e.Movable {
		ways = append(ways, "let --rules cost decide what goes where")
	}
	heavy := slices.ContainsFunc(e.Arenas, func(a ir.Arena) bool { return a.Class == ir.ClassWeights && a.Bytes() > e.Limit })
	if !heavy {
		ways = append(ways, "lower --ctx or --batch")
	}
	ways = append(ways, "quantize")
	if e.Own {
		return strings.Join(append(ways, "or raise memory= of the target, if it has more"), ", ")
	}
	return strings.Join(append(ways, "or allow more"), ", ")
}

// InternalError reports a bug of the compiler: a pass panicked, or left a module without the properties that it
// promises.
type InternalError struct {
	Pass, Module string
	Err          error
	Stack        string // of the panic; empty if the verifier objected
	Repro        string // the file with the module as it was before the pass; empty for none
	Flags        string // of the command that runs the pass on it again
}

// Error returns the error and the command that reproduces it.
func (e *InternalError) Error() string {
	text := fmt.Sprintf("internal error: pass %s, module %s: %v", e.Pass, e.Module, e.Err)
	if e.Repro != "" {
		text += fmt.Sprintf("\nreproduce with: ggmlc opt --passes %s %s%s", e.Pass, e.Flags, e.Repro)
	}
	return text
}

// Unwrap returns the error of the verifier, or the value of the panic.
func (e *InternalError) Unwrap() error { return e.Err }

// TooLarge returns the error for a weight, state or value that is larger than the largest allocation.
func TooLarge(name string, need, limit int64) error {
	return &BudgetError{Name: name, Need: need, Limit: limit, Own: true,
		Advice: fmt.Sprintf("the largest allocation is %d bytes: lower --ctx or --batch, quantize, or pin it to another target", limit)}
}
