package assign

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/simplify"
	"github.com/ggmlc/ggmlc/passes/target"
)

// This file has the rules that ggml-2024 and ggml-2026 share. They are those by which ggml's scheduler of these years
// gives backends to the tensors of a graph, under the names of its causes; the README of ../shared/data/sched describes
// both versions. Unlike the rules of cost, they give backends to views, weights, states and inputs too, as later rules
// ask where an operand comes from.
//
// A tensor has a place already if it is a weight or a state. A graph's inputs are parameters, which belong to the last
// target, and foreign leaves that are marked as inputs.

// pinTensors is the user's word on any node. A weight or state that nobody placed goes to
// the backend's memory.
func pinTensors(a *assigner, rule pass.RuleName, f *ir.Func) {
	for _, n := range f.Nodes {
		for _, p := range a.c.Options.Pins {
			if !a.isOpen(n) || !p.Matches(n) {
				continue
			}
			a.put(n, a.c.Targets.Get(p.Backend), rule, p.String())
			if n.Op == ir.OpWeight || n.Op == ir.OpState {
				a.declareSpace(n, a.targetOf(n).Home())
			}
		}
	}
}

// loadLeaves places the weights and states of which the module does not say where they
// lie, as ggml's loaders do before its scheduler runs.
func loadLeaves(a *assigner, rule pass.RuleName, f *ir.Func) {
	for i, id := range a.at.ids {
		k := &a.at.facts[id]
		if !k.has(isMember) || a.spaces[k.leaf] != "" {
			continue
		}
		n, t := f.Nodes[i], a.c.Targets.Last()
		for _, d := range a.c.Targets.All() {
			if a.runsAll(d, a.leaves.readersOf(n)) {
				t = d
				break
			}
		}
		a.declareSpace(n, t.Home())
		if !a.quiet {
			a.c.Cause(n, rule, t.Name)
		}
	}
}

// declareSpace says where a weight or state lies, unless that is known.
func (a *assigner) declareSpace(n *ir.Node, space string) {
	l := a.leaves.number(n)
	if a.spaces[l] != "" {
		return
	}
	a.spaces[l] = space
	if a.quiet {
		return
	}
	n.Result().Type.Space = space
	if t := a.leaves.list[l].declared; t != nil {
		t.Space = space
	}
}

// allocated returns the space in which v lies already: that of a weight or state.
func (a *assigner) allocated(v *ir.Value) string { return a.spaceAt(a.member(v)) }

// spaceAt returns the space of a weight or state by its number as a leaf; empty for -1.
func (a *assigner) spaceAt(leaf int32) string {
	if leaf < 0 {
		return ""
	}
	return a.spaces[leaf]
}

// backendOf returns the target that a value is with; nil while that is open.
func (a *assigner) backendOf(v *ir.Value) *target.Descriptor {
	if v.Def == nil {
		return a.c.Targets.Last()
	}
	return a.targetOf(v.Def)
}

// applyInputs gives the inputs of the graph to the last target.
func applyInputs(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range a.undecided(f, takesIn) {
		a.put(n, a.c.Targets.Last(), rule)
	}
}

// isInput reports whether n is a foreign leaf that the caller writes.
func isInput(n *ir.Node) bool {
	attr, ok := n.Attr.(*ir.ForeignAttr)
	return ok && attr.Input
}

// firstWeight returns the first source of n that is a weight; nil if none is. A view of a
// weight is none.
func firstWeight(n *ir.Node) *ir.Value {
	for _, v := range n.Sources() {
		if v != nil && v.Def != nil && v.Def.Op == ir.OpWeight {
			return v
		}
	}
	return nil
}

// sweep gives each open node that works the backend of the nearest node before it (after
// it with up), if may allows that. With skipLast, a node on the last target ends the run,
// and its backend is not spread.
func sweep(up, skipLast bool, may func(*target.Descriptor, *ir.Node) bool) func(*assigner, pass.RuleName, *ir.Func) {
	return func(a *assigner, rule pass.RuleName, f *ir.Func) {
		last := int32(len(a.c.Targets.All())) - 1
		run, from := unknownTarget, 0
		for i := range f.Nodes {
			if up {
				i = len(f.Nodes) - 1 - i
			}
			id := a.at.ids[i]
			switch choice := a.at.chosen[id]; {
			case !a.at.facts[id].has(doesWork):
			case choice != openChoice:
				if run, from = choice, i; skipLast && run == last {
					run = unknownTarget
				}
			case run >= 0 && may(a.targetAt(run), f.Nodes[i]):
				a.putBy(f.Nodes[i], a.targetAt(run), rule, f.Nodes[from])
			}
		}
	}
}

// applyViewed gives an open view or in-place result the backend of what it views, and
// reports whether the node is decided then.
func (a *assigner) applyViewed(n *ir.Node, rule pass.RuleName) bool {
	if !a.isOpen(n) {
		return true
	}
	if n.Result() == nil || n.Result().Source() == nil {
		return false
	}
	root := n.Result().Root()
	if t := a.backendOf(root); t != nil {
		a.putBy(n, t, rule, root)
	}
	return !a.isOpen(n)
}

// rest decides what the sweeps did not reach, in one walk: views take the backend of what
// they view, open sources that of what they view or of their first reader.
func (a *assigner) rest(n *ir.Node, viewed, reader pass.RuleName) {
	a.applyViewed(n, viewed)
	for _, v := range n.Sources() {
		if v == nil || v.Def == nil || !a.isOpen(v.Def) {
			continue
		}
		switch t := a.targetOf(n); {
		case v.Source() != nil:
			a.applyViewed(v.Def, viewed)
		case t != nil:
			a.putBy(v.Def, t, reader, n)
		}
	}
}

// applyCopied notes which graph inputs are the current one of their own several copies:
// those that a working node reads, where there are several copies of each input.
func applyCopied(a *assigner, rule pass.RuleName, f *ir.Func) {
	copies := pass.Flags[assignFlags](a.c).Copies
	if copies < 2 || a.quiet {
		return
	}
	seen := make(map[*ir.Node]bool)
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) {
			continue
		}
		for _, v := range n.Sources() {
			if v != nil && v.Def != nil && isInput(v.Def) && !seen[v.Def] {
				seen[v.Def] = true
				a.c.Cause(v.Def, rule, n.String())
				v.Def.Submitted().Slots = copies
			}
		}
	}
}

// refuseUnsupported reports the nodes that the rules gave to a target which does not run
// them: those of ggml's scheduler do not always ask. Foreign nodes nobody runs.
func refuseUnsupported(a *assigner, _ pass.RuleName, f *ir.Func) {
	for _, n := range f.Nodes {
		t := a.c.Target(n)
		if t == nil || !flow.DoesWork(n) || n.Op == ir.OpForeign || flow.RunsFunction(n) {
			continue
		}
		if ok, why := t.Supports(n); !ok && !simplify.IsFused(n) && !a.refuseAll(f, n) {
			last, _ := n.LastCause()
			a.errs = append(a.errs, &pass.RulesError{Text: fmt.Sprintf("@%s %v: the rule %s of --rules %s puts it on %s, which does not run it: %s: pin it to another target, or choose other rules",
				f.Name, n, last.Rule, a.c.Options.Rules, t.Name, why)})
		}
	}
}
