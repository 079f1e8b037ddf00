package assign

import (
	"fmt"
	"iter"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/simplify"
	"github.com/ggmlc/ggmlc/passes/target"
)

// This file holds what the rule sets ggml-2024 and ggml-2026 have in common: how ggml's scheduler of those years gives
// backends to the tensors of a graph. Unlike the rules of cost, these also give backends to views, weights, states and
// inputs, as later rules ask for the backend of a source. The README of ../shared/data/sched describes both versions;
// the rules have the names of its causes.
//
// In its terms, a tensor that is in a space already is a weight or a state. An input of the graph is a parameter, which
// belongs to the last target, or a foreign leaf that is marked as an input.
//
// For example, the rules of 2026 decide this function on the targets gpu and cpu as follows, if %w is stored in the
// space of gpu and gpu runs mul_mat only:
//
//	%x                         an input: cpu (inp)
//	%a = get_rows %e, %x       %e is stored on cpu: cpu (wgt)
//	%b = mul_mat %w, %a        %w is stored on gpu: gpu (wgt)
//	%c = add %b, %a            the sweeps bring gpu, which does not run it; cpu does: cpu (best)
//	%d = view %c               cpu, as what it views (vsrc)

// pinTensors gives any node the backend of the first pin that matches it. A weight or state without a space gets the
// home space of that backend.
func pinTensors(a *assigner, rule pass.RuleName, f *ir.Func) {
	for _, n := range f.Nodes {
		for _, p := range a.c.Options.Pins {
			if !isOpen(n) || !p.Matches(n) {
				continue
			}
			a.put(n, a.c.Targets.Get(p.Backend), rule, p.String())
			if n.Op == ir.OpWeight || n.Op == ir.OpState {
				a.declareSpace(n, a.c.Target(n).Home())
			}
		}
	}
}

// loadLeaves gives weights and states a space where the module states none, as ggml's loaders do before its
// scheduler runs.
func loadLeaves(a *assigner, rule pass.RuleName, f *ir.Func) {
	for _, n := range f.Nodes {
		if !isMember(n) || a.spaceOf(n.Result()) != "" {
			continue
		}
		t := a.c.Targets.Last()
		for _, d := range a.c.Targets.All() {
			if a.runsAll(d, a.leaves.readersOf(n)) {
				t = d
				break
			}
		}
		a.declareSpace(n, t.Home())
		if !a.trying {
			a.c.Cause(n, rule, t.Name)
		}
	}
}

// declareSpace sets the space of a weight or state, unless it has one.
func (a *assigner) declareSpace(n *ir.Node, space string) {
	l := a.leaves.named(n)
	if l.space() != "" {
		return
	}
	n.Result().Type.Space = space
	if l.declared != nil {
		l.declared.Space = space
	}
}

// isMember reports whether n names a weight or state.
func isMember(n *ir.Node) bool { return n.Op == ir.OpWeight || n.Op == ir.OpState }

// spaceOf returns the space of v if v is a weight or state and has a space already; otherwise it is empty.
func (a *assigner) spaceOf(v *ir.Value) string {
	if v.Def == nil || !isMember(v.Def) {
		return ""
	}
	return a.leaves.named(v.Def).space()
}

// backendOf returns the target of a value; nil while it is open.
func (a *assigner) backendOf(v *ir.Value) *target.Descriptor {
	if v.Def == nil {
		return a.c.Targets.Last()
	}
	return a.c.Target(v.Def)
}

// applyInputs gives the inputs of the graph to the last target.
func applyInputs(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range undecided(f, isInput) {
		a.put(n, a.c.Targets.Last(), rule)
	}
}

// isInput reports whether n is a foreign leaf that the caller writes.
func isInput(n *ir.Node) bool {
	attr, ok := n.Attr.(*ir.ForeignAttr)
	return ok && attr.Input
}

// firstWeight returns the first source of n that is a weight itself, not a view of one; nil if none is.
func firstWeight(n *ir.Node) *ir.Value {
	for _, v := range n.Sources() {
		if v != nil && v.Def != nil && v.Def.Op == ir.OpWeight {
			return v
		}
	}
	return nil
}

// sweepOrder is the order in which a sweep visits the nodes of a function.
type sweepOrder int

const (
	down sweepOrder = iota // from the first node to the last
	up
)

// nodes returns the nodes of f in the order.
func (o sweepOrder) nodes(f *ir.Func) iter.Seq2[int, *ir.Node] {
	if o == up {
		return slices.Backward(f.Nodes)
	}
	return slices.All(f.Nodes)
}

// spread is the set of targets that a sweep gives to further nodes.
type spread int

const (
	allTargets spread = iota
	allButLast        // a node on the last target ends the run of the node before
)

// sweep gives each open node that works the backend of the last decided node that it has visited, if may allows it.
//
// For example, with the targets gpu and cpu, where dots are open nodes:
//
//	                  .    gpu  .    .    cpu  .
//	down, allButLast  .    gpu  gpu  gpu  cpu  .
//	up, allButLast    gpu  gpu  gpu  gpu  cpu  .
//	down, allTargets  gpu  gpu  gpu  gpu  cpu  cpu
func sweep(order sweepOrder, which spread, may func(*target.Descriptor, *ir.Node) bool) func(*assigner, pass.RuleName, *ir.Func) {
	return func(a *assigner, rule pass.RuleName, f *ir.Func) {
		var run *target.Descriptor // backend of from; nil if it is not spread
		var from *ir.Node          // the last decided node
		for _, n := range order.nodes(f) {
			switch {
			case !flow.DoesWork(n):
			case !isOpen(n):
				if run, from = a.c.Target(n), n; which == allButLast && run == a.c.Targets.Last() {
					run = nil
				}
			case run != nil && may(run, n):
				a.put(n, run, rule, from.String())
			}
		}
	}
}

// applyViewed gives an open view or in-place result the backend of the value that it views, if that has one.
func (a *assigner) applyViewed(n *ir.Node, rule pass.RuleName) {
	if !isOpen(n) || n.Result() == nil || n.Result().Source() == nil {
		return
	}
	root := n.Result().Root()
	if t := a.backendOf(root); t != nil {
		a.put(n, t, rule, root.String())
	}
}

// rest decides a node that the sweeps did not reach, and its open sources. A view gets the backend of the value that
// it views, another source that of its first reader.
func (a *assigner) rest(n *ir.Node, viewed, reader pass.RuleName) {
	a.applyViewed(n, viewed)
	for _, v := range n.Sources() {
		if v == nil || v.Def == nil || !isOpen(v.Def) {
			continue
		}
		switch t := a.c.Target(n); {
		case v.Source() != nil:
			a.applyViewed(v.Def, viewed)
		case t != nil:
			a.put(v.Def, t, reader, n.String())
		}
	}
}

// applyCopied marks the graph inputs that working nodes read, where each input has several copies: such an input
// serves as the current one of its copies.
func applyCopied(a *assigner, rule pass.RuleName, f *ir.Func) {
	copies := pass.Flags[assignFlags](a.c).Copies
	if copies < 2 {
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

// refuseUnsupported reports the nodes that the rules gave to a target which does not run them. The rules of ggml's
// scheduler do not always ask. Foreign nodes are left out, as no target runs them.
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
