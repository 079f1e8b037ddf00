// Package assign holds the pass assign, which gives every node a backend: by the rules of ggml's schedulers of
// 2024 or 2026, or by cost, as a problem that package placement solves.
package assign

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass gives every node a backend and every value a memory space.
//
// Before: the ops are those that will run. After: every node but views, weights, states
// and constants has a backend that runs it (a fused op: whose pieces some target runs);
// every value has a space.
//
// Not earlier: a backend is asked about the op that will run. Not later: formats, splits
// and copies follow from the backend.
//
// Cost: O(nodes * targets).
//
// This file is the frame: the user's pins come first, then the rules of the chosen set, in
// the order of their table (assign_rules.go); each rule gives backends to nodes that have
// none yet. What is left over after all rules is an error that names every refusal. Then
// spaces follow: parameters and results lie where the last target keeps its bytes, weights
// and states where their first reader does, results where their backend prefers.
var Pass = pass.Pass{
	Name:     "assign",
	Doc:      "choose a backend for every node",
	Run:      assign,
	Required: true,
	Needs:    ir.PropShaped,
	Gives:    ir.PropAssigned,
	Breaks:   pass.FromSplit,
	Rules:    assignRuleDocs(),
	Flags:    assignFlags{Offload: true, Copies: 1},
}

type assignFlags struct {
	Offload bool `debug:"offload,under ggml's rules: targets may take ops off the last one, whose weights these are"`
	Copies  int  `debug:"copies,under ggml's rules: copies of each input of the graph"`
}

// assigner is what rules work on.
type assigner struct {
	c      *pass.Context
	m      *ir.Module
	funcs  []*ir.Func // all
	leaves *leafTable
	sheets []factTable // by function; see fill
	spaces []string    // by leaf: where it lies; empty where that is open
	number map[*ir.Func]int
	in     *ir.Func   // whose nodes are asked for
	at     *factTable // of it
	errs   []error
	touch  map[string][]*ir.Node // nodes that read or write a version of a state, by name; nil until they are asked for
	of     *RuleSet              // that a trial tries
	quiet  bool                  // a trial: nothing is counted, no cause is given
}

func newAssigner(c *pass.Context, m *ir.Module) *assigner {
	leaves := leavesOf(m)
	return &assigner{c: c, m: m, funcs: leaves.funcs, leaves: leaves}
}

func assign(c *pass.Context, m *ir.Module) error {
	set, err := RuleSetOf(c.Options)
	if err != nil {
		return err
	}
	a := newAssigner(c, m)
	a.fill()
	a.run(set.pin)
	a.run(set.assign...)
	a.refuseRest()
	if err := errors.Join(a.errs...); err != nil {
		return err
	}
	a.place()
	return nil
}

// run applies rules, one after the other, to all functions.
func (a *assigner) run(rules ...assignRule) {
	for _, r := range rules {
		for _, f := range a.funcs {
			a.enter(f)
			r.apply(a, r.Name, f)
		}
	}
}

// put gives the node its backend and says why.
func (a *assigner) put(n *ir.Node, t *target.Descriptor, rule pass.RuleName, operands ...string) {
	before := n.Backend
	a.choose(n, t)
	if a.quiet {
		return
	}
	a.c.CauseChange(n, rule, before, t.Name, operands...)
	a.c.Count(t.Name, 1)
}

// putBy is put because of a node or value, whose name a trial need not write.
func (a *assigner) putBy(n *ir.Node, t *target.Descriptor, rule pass.RuleName, of fmt.Stringer) {
	if a.quiet {
		a.choose(n, t)
		return
	}
	a.put(n, t, rule, of.String())
}

// refuseRest reports the nodes that no rule found a backend for.
func (a *assigner) refuseRest() {
	for _, f := range a.funcs {
		for n := range a.open(f) {
			if a.refuseAll(f, n) {
				continue
			}
			_, refusals := pass.FirstSupporting(a.c, n)
			a.refuse(fmt.Errorf("@%s %v: none of the rules %s gives this %v a target: pin it", f.Name, n, a.c.Options.Rules, n.Op), refusals)
		}
	}
}

// refuseAll reports a node that no target runs, if it is one: no pin and no other rules would help.
func (a *assigner) refuseAll(f *ir.Func, n *ir.Node) bool {
	t, refusals := pass.FirstSupporting(a.c, n)
	if t == nil {
		a.refuse(fmt.Errorf("@%s %v: no target runs this %v%s", f.Name, n, n.Op, ofTypes(n)), refusals)
	}
	return t == nil
}

// refuse reports what is wrong, and below it what the targets say.
func (a *assigner) refuse(err error, refusals []string) {
	a.errs = append(a.errs, err)
	for _, r := range refusals {
		a.errs = append(a.errs, errors.New("  "+r))
	}
}

// ofTypes lists the types of the node's operands, for messages.
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

// statesOf returns the names of the states of which n reads versions, each once.
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

// place gives every value the space where its bytes lie.
func (a *assigner) place() {
	a.leafSpaces()
	home := a.c.Targets.Last().Home()
	for _, f := range a.funcs {
		for _, p := range f.Params {
			if p.Type.Space == "" {
				p.Type.Space = home
			}
		}
		for _, n := range f.Nodes {
			for _, r := range n.Results {
				if s := r.Source(); s != nil {
					r.Type.Space = s.Type.Space
				} else if !flow.IsLeafNode(n) { // foreign leaves, which the caller writes, may have no backend
					r.Type.Space = cmp.Or(rewrite.ResultSpace(a.c.Targets, n), home)
				}
			}
		}
	}
}

// leafSpaces puts weights, states and constants where their first reader keeps its bytes,
// unless the module says where they are.
func (a *assigner) leafSpaces() {
	first := make([]*target.Descriptor, len(a.leaves.list))
	for _, f := range a.funcs {
		for _, n := range f.Nodes {
			if t := a.c.Target(n); t != nil {
				a.leaves.noteReader(n, t, first)
			}
		}
	}
	for i := range a.leaves.list {
		a.leaves.list[i].settle(cmp.Or(first[i], a.c.Targets.Last()).Home())
	}
}

// noteReader notes a target as that of the leaves that n reads, unless one is known.
func (t *leafTable) noteReader(n *ir.Node, on *target.Descriptor, first []*target.Descriptor) {
	for _, v := range n.Args {
		if v == nil {
			continue
		}
		if def := v.Root().Def; def != nil && flow.IsLeafNode(def) {
			if i := t.number(def); first[i] == nil {
				first[i] = on
			}
		}
	}
}

// backendOfValue returns the target that a value is with once nodes are assigned: that of
// its node; for views and leaves that passes after assign have made, that of what is viewed
// or the best that addresses the leaf.
func backendOfValue(l *target.List, v *ir.Value) *target.Descriptor {
	switch {
	case v.Def == nil:
		return l.Last()
	case v.Def.Backend != "":
		return l.Get(v.Def.Backend)
	case v.Source() != nil:
		return backendOfValue(l, v.Source())
	}
	return l.Best(v.Type.Space, nil)
}
