package ir

import (
	"fmt"
	"strings"
)

// Violation is a broken invariant of a module.
type Violation struct {
	Func string // name of the function; empty for the module's members
	Node string // node, value or member, as the text form names it
	Rule string // what is broken: links, names, ssa, operands, attributes, type, symbols, shape, alias, index, …
	Text string
}

// String returns the violation as errors show it, such as
// @decode %y: shape: declared f32[4], inferred f32[5].
func (v Violation) String() string {
	where := v.Node
	switch {
	case v.Func != "":
		where = strings.TrimSpace("@" + quoteName(v.Func) + " " + v.Node)
	case v.Node == "":
		where = "module"
	}
	return where + ": " + v.Rule + ": " + v.Text
}

// VerifyError holds all violations that Verify has found.
type VerifyError struct{ Violations []Violation }

// Error returns the violations, one on a line.
func (e *VerifyError) Error() string {
	lines := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		lines[i] = v.String()
	}
	return strings.Join(lines, "\n")
}

// Verify checks the invariants that the properties of m promise and that can be checked without
// targets. It returns nil, or a *VerifyError with the violations. Its time is linear in the nodes.
//
// The checks run in stages:
//
//  1. Names of members are unique, links lead back, values are defined once and before they are read,
//     operands and attributes are those of the op, types are possible, and dimensions mention
//     declared symbols only. A node up to which all of this holds is also checked as follows: if the module is shaped,
//     its declared types equal the types from the shape rules; if the module is assigned, split or partitioned, the
//     decisions about it are complete and consistent, see verify_plan.go.
//  2. No function calls itself.
//  3. If the module is shaped: calls have the types of what they call.
//  4. No old version of a value is read after the next one is written, be it in a body or by a
//     callee, and no body names a state that its function overwrites.
//  5. The functions of a language model have the form that the runtime expects.
//  6. Integers that select rows are inputs or within bounds.
//  7. Queues, events and addresses are complete and consistent.
//
// The first stage visits the nodes once, as each visit of a large module waits for memory. Each stage relies on the
// stages before and runs only if these have found nothing. Names of values are not checked: NewValue, Rename and
// TakeName keep them unique.
func Verify(m *Module) error {
	if found := violations(m); len(found) > 0 {
		return &VerifyError{found}
	}
	return nil
}

// violations returns the violations in m, in the order of the checks.
func violations(m *Module) []Violation {
	v := newVerifier(m)
	v.members()
	for _, f := range m.Funcs {
		v.function(f, nil)
	}
	for _, stage := range []func(){v.recursion, v.callTypes, v.versions, v.language, v.encoder, v.indexes, v.plan} {
		if len(v.found) == 0 {
			stage()
		}
	}
	return v.found
}

// verifier checks the parts of a module and collects the violations.
type verifier struct {
	m       *Module
	f       *Func            // the current function
	node    any              // the current place in it: a text, *Node, *Value or a member; nil for the function
	open    []*Func          // f and the functions around it
	funcs   []bool           // by id: whether a function has it
	symbols map[*Symbol]bool // of the module
	sources map[string]bool  // names of the module's sources
	found   []Violation
	broken  bool // found has violations of links, names or operands, on which other checks rely

	// What the first stage found in the functions, for the later ones.
	calls     []*Node                   // of other functions
	selecting []*Node                   // with operands that select rows
	submitted []*Node                   // to queues
	writes    bool                      // a node overwrites bytes
	lists     map[*Func]map[string]bool // see observed
}

func newVerifier(m *Module) *verifier {
	v := &verifier{m: m, funcs: make([]bool, m.nextFunc), symbols: make(map[*Symbol]bool, len(m.Symbols)), sources: make(map[string]bool, len(m.Sources))}
	for _, s := range m.Symbols {
		v.symbols[s] = true
	}
	for _, s := range m.Sources {
		v.sources[s.Name] = true
	}
	return v
}

// fail records a violation at the current function and node.
func (v *verifier) fail(rule, format string, args ...any) {
	fn := ""
	if v.f != nil {
		fn = v.f.Name
	}
	v.broken = v.broken || isStructural(rule)
	v.found = append(v.found, Violation{fn, v.where(), rule, fmt.Sprintf(format, args...)})
}

// isStructural reports whether other checks rely on what the rule demands.
func isStructural(rule string) bool {
	switch rule {
	case "links", "op", "ssa", "operands", "attributes", "type", "symbols":
		return true
	}
	return false
}

// must records a violation unless ok. It returns ok.
func (v *verifier) must(ok bool, rule, format string, args ...any) bool {
	if !ok {
		v.fail(rule, format, args...)
	}
	return ok
}

// where returns the current place as violations name it.
func (v *verifier) where() string {
	switch at := v.node.(type) {
	case string:
		return at
	case *Weight:
		return fmt.Sprintf("weight %q", at.Name)
	case *State:
		return fmt.Sprintf("state %q", at.Name)
	case *Symbol:
		return fmt.Sprintf("symbol %q", at.Name)
	case *Source:
		return fmt.Sprintf("source %q", at.Name)
	case *Func:
		return fmt.Sprintf("function %q", at.Name)
	case *Arena:
		return "arena " + at.Space + " " + at.Class.String()
	case fmt.Stringer:
		return at.String()
	}
	return ""
}
