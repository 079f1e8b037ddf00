package assign

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// assigner is the state of the pass, which rules read and change.
type assigner struct {
	c      *pass.Context
	m      *ir.Module
	funcs  []*ir.Func // all functions and bodies of m
	leaves *leafTable
	touch  map[string][]*ir.Node // by state: the nodes that read or write a version of it; nil until a rule asks
	errs   []error
	trying bool // what rules decide is taken back: it needs no causes and is not counted
}

func newAssigner(c *pass.Context, m *ir.Module) *assigner {
	funcs := m.AllFuncs()
	return &assigner{c: c, m: m, funcs: funcs, leaves: leavesOf(m, funcs)}
}

// run applies rules, one after the other, to all functions.
func (a *assigner) run(rules ...assignRule) {
	for _, r := range rules {
		for _, f := range a.funcs {
			r.apply(a, r.Name, f)
		}
	}
}

// put gives the node its backend and records the rule as the cause.
func (a *assigner) put(n *ir.Node, t *target.Descriptor, rule pass.RuleName, operands ...string) {
	before := n.Backend
	n.Backend = t.Name
	if a.trying {
		return
	}
	a.c.CauseChange(n, rule, before, t.Name, operands...)
	a.c.Count(t.Name, 1)
}

// isOpen reports whether a node has no backend yet.
func isOpen(n *ir.Node) bool { return n.Backend == "" }

// open returns the nodes of f that need a backend and have none yet.
func open(f *ir.Func) iter.Seq[*ir.Node] { return undecided(f, flow.DoesWork) }

// undecided returns the nodes of f that have no backend yet and for which holds is true. The rules of ggml give
// backends to leaves and views too. A node that gets a backend while the caller iterates is not visited again.
func undecided(f *ir.Func, holds func(*ir.Node) bool) iter.Seq[*ir.Node] {
	return func(yield func(*ir.Node) bool) {
		for _, n := range f.Nodes {
			if isOpen(n) && holds(n) && !yield(n) {
				return
			}
		}
	}
}

// runsAll reports whether a target runs all of the nodes, and none of them has another backend.
func (a *assigner) runsAll(t *target.Descriptor, nodes []*ir.Node) bool {
	for _, n := range nodes {
		if ok, _ := t.Supports(n); !ok || !isOpen(n) && n.Backend != t.Name {
			return false
		}
	}
	return true
}

// stateNodes returns for each state the nodes that read or write one of its versions.
func stateNodes(funcs []*ir.Func) map[string][]*ir.Node {
	touch := make(map[string][]*ir.Node)
	for _, f := range funcs {
		for _, n := range f.Nodes {
			if !flow.DoesWork(n) {
				continue
			}
			for _, name := range statesOf(n) {
				touch[name] = append(touch[name], n)
			}
		}
	}
	return touch
}

// statesOf returns the names of the states of which n reads versions, without duplicates.
func statesOf(n *ir.Node) []string {
	var names []string
	for _, v := range n.Args {
		if v == nil {
			continue
		}
		if r := v.Root(); r.Def != nil && r.Def.Op == ir.OpState {
			if name := r.Def.Attr.(*ir.StateAttr).Name; !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// refuseRest reports the nodes that no rule found a backend for.
func (a *assigner) refuseRest() {
	for _, f := range a.funcs {
		for n := range open(f) {
			if a.refuseAll(f, n) {
				continue
			}
			_, refusals := pass.FirstSupporting(a.c, n)
			a.refuse(&pass.RulesError{Text: fmt.Sprintf("@%s %v: none of the rules %s gives this %v a target: pin it, or choose other rules",
				f.Name, n, a.c.Options.Rules, n.Op)}, refusals)
		}
	}
}

// refuseAll reports a node that no target runs, and whether n is one: then no pin and no other rules would help.
func (a *assigner) refuseAll(f *ir.Func, n *ir.Node) bool {
	t, refusals := pass.FirstSupporting(a.c, n)
	if t == nil {
		text := fmt.Sprintf("@%s %v: no target runs this %v%s", f.Name, n, n.Op, ofTypes(n))
		a.refuse(&pass.NoTargetError{Text: text, Refusals: refusals}, refusals)
	}
	return t == nil
}

// refuse adds an error, followed by the reasons of the targets.
func (a *assigner) refuse(err error, refusals []string) {
	a.errs = append(a.errs, pass.WithRefusals(err, refusals))
}

// ofTypes lists the types of the node's operands for messages: " of f32[4,8], f32[8,8]".
func ofTypes(n *ir.Node) string {
	var types []string
	for _, v := range n.Sources() {
		if v != nil {
			t := v.Type
			t.Space = ""
			types = append(types, t.String())
		}
	}
	if len(types) == 0 {
		return ""
	}
	return " of " + strings.Join(types, ", ")
}
