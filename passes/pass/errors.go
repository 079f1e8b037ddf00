package pass

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// This file holds what the rule sets ggml-2024 and ggml-2026 have in common: how ggml's
// scheduler of those years gives backends to the tensors of a graph. Unlike the rules of
// cost, these also give backends to views, weights, states and inputs, as later rules ask
// where a source is. The README of ../shared/data/sched describes both versions; the rules
// have the names of its causes.
//
// In its terms, a tensor lies in a space already if it is a weight or a state; a graph
// input is a parameter, which is with the last target, or a foreign leaf that says so.

// RulesError says that the rules which the user chose lead to what cannot run: those of
// ggml's schedulers do not ask everything that matters.
type RulesError struct{ Text string }

// Error returns what is wrong.
func (e *RulesError) Error() string { return e.Text }

// BudgetError says that a plan needs more memory than there is or the user allows.
type BudgetError struct {
	Name        string // of the space or backend, or of the weight or state that is too large
	Need, Limit int64  // bytes
	Arenas      []ir.Arena
	Own         bool   // the limit is what the target has, not what the user allows
	Movable     bool   // other rules may put less there
	Enough      bool   // Need is enough, and less may be: no plan was found that keeps the limit
	Advice      string // what to do; empty is what helps in general
}

// Error names the arenas that need most.
func (e *BudgetError) Error() string {
	if e.Need <= e.Limit { // no figure says what is missing
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

// help says what may keep a limit: fewer or shorter sequences do not help against weights.
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

// InternalError is a bug of the compiler: a pass that panicked or left a module that does
// not hold what it promises.
type InternalError struct {
	Pass, Module string
	Err          error
	Stack        string // where it panicked; empty where the verifier objected
	Repro        string // the file that holds the module as it was before; empty for none
	Flags        string // of the command that runs the pass on it again
}

// Error says what went wrong and how to see it again.
func (e *InternalError) Error() string {
	text := fmt.Sprintf("internal error: pass %s, module %s: %v", e.Pass, e.Module, e.Err)
	if e.Repro != "" {
		text += fmt.Sprintf("\nreproduce with: ggmlc opt --passes %s %s%s", e.Pass, e.Flags, e.Repro)
	}
	return text
}

// Unwrap returns what the pass panicked with, if that was an error.
func (e *InternalError) Unwrap() error { return e.Err }
