package assign

import (
	"iter"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// ggml2024 is ggml's scheduler as of May 2024. It does not check whether a backend supports an op, and copies every
// value that belongs to another backend, even within one memory.
var ggml2024 = RuleSet{
	Name: "ggml-2024",
	pin:  assignRule{Rule: ruleUsr, apply: pinTensors},
	assign: []assignRule{
		bodyRule,
		{Rule: ruleLoad, apply: loadLeaves},
		{Rule: ruleDst, apply: dst2024},
		{Rule: pass.Rule{Name: pass.RuleGGMLViewSrc1, Doc: "it is a view of a tensor that is in a space already: the first target in the list that addresses it"}, apply: viewOfPlaced},
		{Rule: ruleInp, apply: applyInputs},
		{Rule: ruleOff, apply: offload2024},
		{Rule: ruleWgt, apply: weight2024},
		{Rule: pass.Rule{Name: pass.RuleGGML22, Doc: "the nearest decided node before it has this target, which is not the last"}, apply: sweep(down, allButLast, always)},
		{Rule: pass.Rule{Name: pass.RuleGGML21, Doc: "the nearest decided node after it has this target, which is not the last"}, apply: sweep(up, allButLast, always)},
		{Rule: pass.Rule{Name: pass.RuleGGML24, Doc: "the nearest decided node before it has this target"}, apply: sweep(down, allTargets, always)},
		{Rule: pass.Rule{Name: pass.RuleGGML23, Doc: "the nearest decided node after it has this target"}, apply: sweep(up, allTargets, always)},
		{Rule: ruleVsrc3, also: []pass.Rule{ruleCur3}, apply: rest2024},
	},
	finish:       []assignRule{{Rule: ruleCpy, apply: applyCopied}, {apply: refuseUnsupported}},
	Crosses:      crosses2024,
	CopyOnce:     true,
	CutAtWeights: true,
	MaxInputs:    10,
	FullAfter:    true,
}

// Rules that both versions have under one name. Their docs state what the version of 2026 adds.
var (
	ruleUsr  = pass.Rule{Name: pass.RuleGGMLUsr, Doc: "the user put it there"}
	ruleLoad = pass.Rule{Name: pass.RuleGGMLLoad, Doc: "the module states no space for it: the memory of the first target in the list that runs all of its readers, as in ggml's loader"}
	ruleDst  = pass.Rule{Name: pass.RuleGGMLDst, Doc: "it is in a space already or, in 2026, views such a tensor: the first target in the list that addresses the space and, in 2026, runs it"}
	ruleInp  = pass.Rule{Name: pass.RuleGGMLInp, Doc: "it is an input of the graph: the last target"}
	ruleOff  = pass.Rule{Name: pass.RuleGGMLOff, Doc: "its first weight is in the memory of the last target, and a target earlier in the list offers to take the op"}
	ruleWgt  = pass.Rule{Name: pass.RuleGGMLWgt, Doc: "the first target in the list that addresses its first weight and, in 2026, runs the node"}
	ruleCpy  = pass.Rule{Name: pass.RuleGGMLCpy, Doc: "there are several copies of this input of the graph, and it serves as the current one"}

	ruleVsrc3 = pass.Rule{Name: pass.RuleGGMLViewSrc3, Doc: "it views a tensor of this target"}
	ruleCur3  = pass.Rule{Name: pass.RuleGGMLCur3, Doc: "its first reader has this target"}
)

func always(*target.Descriptor, *ir.Node) bool { return true }

func dst2024(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range undecided(f, isMember) {
		a.putBest(n, nil, rule)
	}
}

func viewOfPlaced(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range undecided(f, sharesBytes) {
		a.putBest(n, nil, rule)
	}
}

// sharesBytes reports whether the first result of n has the bytes of another value.
func sharesBytes(n *ir.Node) bool { return n.Result() != nil && n.Result().Source() != nil }

// putBest gives n, if its result is a weight or state that has a space already, to the best target that addresses
// the space and runs the node on; with a nil on, to the best that addresses the space.
func (a *assigner) putBest(n, on *ir.Node, rule pass.RuleName) {
	if n.Result() == nil {
		return
	}
	space := a.spaceOf(n.Result().Root())
	if space == "" {
		return
	}
	if t := a.c.Targets.Best(space, on); t != nil {
		a.put(n, t, rule, space)
	}
}

// weighted returns the undecided nodes of f that read a weight, each with its first one.
func weighted(f *ir.Func) iter.Seq2[*ir.Node, *ir.Value] {
	return func(yield func(*ir.Node, *ir.Value) bool) {
		for n := range undecided(f, func(*ir.Node) bool { return true }) {
			if w := firstWeight(n); w != nil && !yield(n, w) {
				return
			}
		}
	}
}

func weight2024(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n, w := range weighted(f) {
		if t := a.c.Targets.Best(a.spaceOf(w), nil); t != nil {
			a.put(n, t, rule, w.String())
		}
	}
}

func offload2024(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n, w := range weighted(f) {
		if a.c.Targets.Best(a.spaceOf(w), nil) == a.c.Targets.Last() {
			a.offload(n, rule, always)
		}
	}
}

// offload gives n to the first target before the last that offers to take it, if may allows it.
func (a *assigner) offload(n *ir.Node, rule pass.RuleName, may func(*target.Descriptor, *ir.Node) bool) {
	for _, t := range a.c.Targets.All() {
		if t == a.c.Targets.Last() {
			return
		}
		if t.Offers(n) && may(t, n) {
			a.put(n, t, rule, firstWeight(n).String())
			return
		}
	}
}

func rest2024(a *assigner, _ pass.RuleName, f *ir.Func) {
	for _, n := range f.Nodes {
		if !n.Is(ir.Leaf) {
			a.rest(n, ruleVsrc3.Name, ruleCur3.Name)
		}
	}
}

// crosses2024 reports whether v has to be copied for a node on t: v belongs to another backend.
func crosses2024(c *pass.Context, t *target.Descriptor, v *ir.Value) bool {
	return backendOfValue(c.Targets, v) != t
}
