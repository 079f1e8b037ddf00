package passes

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// ggml2024 is ggml's scheduler as of May 2024: it never asks whether a backend supports an
// op, and copies whatever another backend has, even within one memory.
var ggml2024 = ruleSet{
	name: "ggml-2024",
	pin:  assignRule{Rule: ruleUsr, apply: pinTensors},
	assign: []assignRule{
		bodyRule,
		{Rule: ruleLoad, apply: loadLeaves},
		{Rule: ruleDst, apply: dst2024},
		{Rule: Rule{"1.vsrc", "it is a view of a tensor that lies in a space already: the first target in the list that addresses it"}, apply: viewOfPlaced},
		{Rule: ruleInp, apply: applyInputs},
		{Rule: ruleOff, apply: offload2024},
		{Rule: ruleWgt, apply: weight2024},
		{Rule: Rule{"2.2", "the nearest decided node before it has this target, which is not the last"}, apply: sweep(false, true, always)},
		{Rule: Rule{"2.1", "the nearest decided node after it has this target, which is not the last"}, apply: sweep(true, true, always)},
		{Rule: Rule{"2.4", "the nearest decided node before it has this target"}, apply: sweep(false, false, always)},
		{Rule: Rule{"2.3", "the nearest decided node after it has this target"}, apply: sweep(true, false, always)},
		{Rule: ruleVsrc3, also: []Rule{ruleCur3}, apply: rest2024},
		{Rule: ruleCpy, apply: applyCopied},
		{apply: refuseUnsupported},
	},
	crosses:      crosses2024,
	copyOnce:     true,
	cutAtWeights: true,
	maxInputs:    10,
	fullAfter:    true,
}

// Rules that both versions have under one name. What they add in 2026 stands in their docs.
var (
	ruleUsr  = Rule{"usr", "the user put it there"}
	ruleLoad = Rule{"0.load", "nobody said where it lies: in the memory of the first target in the list that runs all of its readers, as ggml's loader has it"}
	ruleDst  = Rule{"1.dst", "it lies in a space already, or in 2026 views such a tensor: the first target in the list that addresses the space and, in 2026, runs it"}
	ruleInp  = Rule{"1.inp", "it is an input of the graph: the last target"}
	ruleOff  = Rule{"1.off", "its first weight lies with the last target, and one earlier in the list offers to take the op"}
	ruleWgt  = Rule{"1.wgt", "it goes where its first weight lies: to the first target in the list that addresses the weight and, in 2026, runs the node"}
	ruleCpy  = Rule{"4.cpy", "there are several copies of this input of the graph, and it serves as the current one"}

	ruleVsrc3 = Rule{"3.vsrc", "it views a tensor of this target"}
	ruleCur3  = Rule{"3.cur", "its first reader has this target"}
)

func always(*target.Descriptor, *ir.Node) bool { return true }

func dst2024(a *assigner, rule string, f *ir.Func) {
	for n := range a.undecided(f, isMember) {
		a.putBest(n, nil, rule)
	}
}

func viewOfPlaced(a *assigner, rule string, f *ir.Func) {
	for n := range a.undecided(f, hasSource) {
		a.putBest(n, nil, rule)
	}
}

// putBest gives n, where its result lies in a space already, to the best target that addresses
// that and runs on; a nil on is run by all.
func (a *assigner) putBest(n, on *ir.Node, rule string) {
	space := a.spaceAt(a.at.facts[n.ID].leaf)
	if space == "" {
		return
	}
	switch t := a.c.Targets.Best(space, on); {
	case t == nil:
	case a.quiet:
		a.choose(n, t)
	default:
		a.put(n, t, rule, space)
	}
}

// weighed calls yield for the undecided nodes that read a weight, with the space of the first one.
func (a *assigner) weighed(f *ir.Func) func(yield func(n *ir.Node, space string) bool) {
	return func(yield func(*ir.Node, string) bool) {
		s := a.sheet(f)
		for i, id := range s.ids {
			if w := s.facts[id].weight; w >= 0 && s.chosen[id] == openChoice && !yield(f.Nodes[i], a.spaces[w]) {
				return
			}
		}
	}
}

// putByWeight is put because of the first weight of a node.
func (a *assigner) putByWeight(n *ir.Node, t *target.Descriptor, rule string) {
	if a.quiet {
		a.choose(n, t)
		return
	}
	a.put(n, t, rule, firstWeight(n).String())
}

func weight2024(a *assigner, rule string, f *ir.Func) {
	for n, space := range a.weighed(f) {
		if t := a.c.Targets.Best(space, nil); t != nil {
			a.putByWeight(n, t, rule)
		}
	}
}

func offload2024(a *assigner, rule string, f *ir.Func) {
	for n, space := range a.weighed(f) {
		if a.c.Targets.Best(space, nil) == a.c.Targets.Last() {
			a.offload(n, rule, always)
		}
	}
}

// offload gives n to the best target before the last that offers to take it, if may allows
// that.
func (a *assigner) offload(n *ir.Node, rule string, may func(*target.Descriptor, *ir.Node) bool) {
	for _, t := range a.c.Targets.All() {
		if t == a.c.Targets.Last() {
			return
		}
		if t.Offers(n) && may(t, n) {
			a.putByWeight(n, t, rule)
			return
		}
	}
}

func rest2024(a *assigner, _ string, f *ir.Func) {
	for i, id := range a.at.ids {
		if !a.at.facts[id].has(isGiven) {
			a.rest(f.Nodes[i], ruleVsrc3.Name, ruleCur3.Name)
		}
	}
}

// crosses2024 reports whether v has to be copied for a node on t: another backend has it.
func crosses2024(c *Context, t *target.Descriptor, v *ir.Value) bool {
	return backendOfValue(c.Targets, v) != t
}
