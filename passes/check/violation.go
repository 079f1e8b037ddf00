package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// The rules that a violation can name.
const (
	RuleAddress    = "address"
	RuleAlign      = "align"
	RulePartition  = "partition"
	RuleReach      = "reach"
	RuleKernel     = "kernel"
	RuleCopy       = "copy"
	RuleReads      = "reads"
	RuleOverlap    = "overlap"
	RuleHazard     = "hazard"
	RuleQueue      = "queue"
	RuleRace       = "race"
	RuleConcurrent = "concurrent"
)

// Violation is a claim that does not hold.
type Violation struct {
	Rule  string
	Func  string   // the entry point; for a body with the iterations that lead there, such as decode/body[3]
	Nodes []string // one or two: the one that fails, and the one that it conflicts with
	Range string   // the bytes, such as "host activations [0x40,0x80)"; empty if none
	What  string   // what is wrong

	Unreached *Unreached // for RuleReach: what cannot be addressed
}

// Error returns the violation in one line.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: @%s", v.Rule, v.Func)
	if len(v.Nodes) > 0 {
		b.WriteString(": " + strings.Join(v.Nodes, " and "))
	}
	if v.Range != "" {
		b.WriteString(": " + v.Range)
	}
	return b.String() + ": " + v.What
}

// stops reports whether the plan cannot be laid out with this violation. Those of a single access or of an alignment do
// not stop the check.
func (v *Violation) stops() bool {
	return v.Rule != RuleReach && v.Rule != RuleKernel && v.Rule != RuleAlign
}

// Error holds the violations of a plan.
type Error struct {
	Violations []*Violation
	More       int // violations that are not listed
}

// One mistake can have many consequences: maxListed bounds the violations that are kept, maxShown those in a message.
const maxListed, maxShown = 4096, 50

// Error returns the violations, a line for each.
func (e *Error) Error() string {
	shown := e.Violations[:min(len(e.Violations), maxShown)]
	lines := make([]string, len(shown))
	for i, v := range shown {
		lines[i] = v.Error()
	}
	if more := e.More + len(e.Violations) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the violations.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Violations))
	for i, v := range e.Violations {
		errs[i] = v
	}
	return errs
}

// report adds a violation. Violations with the same key, unless it is empty, are reported once: a node that is wrong is
// wrong in each iteration.
func (c *checker) report(key string, v *Violation) {
	if key != "" && c.seen[key] {
		return
	}
	c.seen[key] = true
	if len(c.found) == maxListed {
		c.more++
		return
	}
	c.found = append(c.found, v)
}

// fail reports a violation at a node, independent of iterations.
func (c *checker) fail(rule string, n *ir.Node, format string, args ...any) {
	what := fmt.Sprintf(format, args...)
	c.report("", &Violation{Rule: rule, Func: n.Func.Name, Nodes: []string{n.String()}, What: what})
}

// result returns the error for the violations that were found.
func (c *checker) result() error {
	if len(c.found) == 0 {
		return nil
	}
	return &Error{c.found, c.more}
}

// stopped reports whether some violation keeps the plan from being laid out.
func (c *checker) stopped() bool { return slices.ContainsFunc(c.found, (*Violation).stops) }

// inRange describes bytes of an arena.
func (c *checker) inRange(p ir.Place) string {
	a := c.m.Plan.Arenas[p.Arena]
	text := fmt.Sprintf("%s %v [%#x,%#x)", a.Space, a.Class, p.Offset, p.Offset+p.Bytes)
	if len(a.Chunks) > 1 {
		text += fmt.Sprintf(" of chunk %d", p.Chunk)
	}
	return text
}
