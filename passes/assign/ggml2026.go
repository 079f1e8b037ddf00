package assign

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// ggml2026 is ggml's scheduler as of August 2026. It checks what backends support, and copies only values that a
// backend cannot address.
var ggml2026 = RuleSet{
	Name: "ggml-2026",
	pin:  assignRule{Rule: ruleUsr, apply: pinTensors},
	assign: []assignRule{
		bodyRule,
		{Rule: ruleLoad, apply: loadLeaves},
		{Rule: ruleDst, apply: dst2026},
		{Rule: ruleInp, apply: applyInputs},
		{Rule: ruleOff, apply: offload2026},
		{Rule: ruleWgt, apply: weight2026},
		{Rule: ruleSup, apply: sweep(down, allButLast, supports)},
		{Rule: ruleSup, apply: sweep(up, allButLast, supports)},
		{Rule: ruleSup, apply: sweep(down, allTargets, supports)},
		{Rule: ruleSup, apply: sweep(up, allTargets, supports)},
		{Rule: pass.Rule{Name: pass.RuleGGMLBest, Doc: "no rule before reached it: the target that runs it and addresses most of its sources"}, apply: applyMost},
		{Rule: pass.Rule{Name: pass.RuleGGMLUpg, Doc: "a target earlier in the list has the same memory, runs it and addresses all of its sources"}, apply: upgrade},
		{Rule: ruleVsrc4, also: []pass.Rule{ruleCur4}, apply: rest2026},
		piecesRule,
	},
	finish:       []assignRule{{Rule: ruleCpy, apply: applyCopied}, {apply: refuseUnsupported}},
	Crosses:      crosses2026,
	CopyOnce:     true,
	CutAtWeights: true,
	MaxInputs:    30,
	FullAfter:    true,
	Grows:        true,
}

var (
	ruleSup   = pass.Rule{Name: pass.RuleGGMLSup, Doc: "the nearest decided node has this target, which runs it too; or it is a view that nothing else reached, on the first target in the list"}
	ruleVsrc4 = pass.Rule{Name: pass.RuleGGMLViewSrc4, Doc: "it views a tensor of this target, and the rules of 2026 found nothing else"}
	ruleCur4  = pass.Rule{Name: pass.RuleGGMLCur4, Doc: "its first reader has this target, and the rules of 2026 found nothing else"}
)

func supports(t *target.Descriptor, n *ir.Node) bool {
	ok, _ := t.Supports(n)
	return ok
}

func dst2026(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range undecided(f, func(n *ir.Node) bool { return isMember(n) || sharesBytes(n) }) {
		a.putBest(n, n, rule)
	}
}

// weighs reports whether the weights of n decide where it runs. The weights of rotations and the sinks of attention
// are too small for that.
func weighs(n *ir.Node) bool {
	switch n.Op {
	case ir.OpRope, ir.OpRopeTable, ir.OpAttention:
		return false
	case ir.OpForeign:
		name := n.Attr.(*ir.ForeignAttr).Op
		return name != "ROPE" && name != "FLASH_ATTN_EXT"
	}
	return true
}

func weight2026(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n, w := range weighted(f) {
		if !weighs(n) {
			continue
		}
		if t := a.c.Targets.Best(a.spaceOf(w), n); t != nil {
			a.put(n, t, rule, w.String())
		}
	}
}

func offload2026(a *assigner, rule pass.RuleName, f *ir.Func) {
	if !pass.Flags[assignFlags](a.c).Offload {
		return
	}
	last := a.c.Targets.Last()
	for n, w := range weighted(f) {
		space := a.spaceOf(w)
		if last.Addresses(space) && weighs(n) && a.c.Targets.HostReads(space) && a.c.Targets.Best(space, n) == last {
			a.offload(n, rule, supports)
		}
	}
}

func applyMost(a *assigner, rule pass.RuleName, f *ir.Func) {
	for n := range open(f) {
		var best *target.Descriptor
		most := -1
		for _, t := range a.c.Targets.All() {
			if !supports(t, n) {
				continue
			}
			if reached, _ := a.addressed(t, n); reached > most {
				best, most = t, reached
			}
		}
		if best != nil {
			a.put(n, best, rule)
		}
	}
}

// addressed returns how many sources of n the target can address, and whether these are all. A source whose space
// is not known yet does not count.
func (a *assigner) addressed(t *target.Descriptor, n *ir.Node) (reached int, all bool) {
	all = true
	for _, v := range n.Sources() {
		if v == nil {
			continue
		}
		if space := a.believed(v); space != "" && t.Addresses(space) {
			reached++
		} else {
			all = false
		}
	}
	return reached, all
}

// believed returns the space that ggml assumes for v; empty while it is open. ggml does not know that the result of
// an in-place op stays where the overwritten value is.
func (a *assigner) believed(v *ir.Value) string {
	if space := a.spaceOf(v.Root()); space != "" {
		return space
	}
	t := a.backendOf(v)
	if t == nil {
		t = a.backendOf(v.Root())
	}
	if t == nil {
		return ""
	}
	return t.Home()
}

func upgrade(a *assigner, rule pass.RuleName, f *ir.Func) {
	above := a.aboveInMemory()
	for _, n := range f.Nodes {
		if !flow.DoesWork(n) || flow.RunsFunction(n) {
			continue
		}
		for _, better := range above[n.Backend] {
			if !supports(better, n) {
				continue
			}
			if _, all := a.addressed(better, n); all {
				a.put(n, better, rule)
				break
			}
		}
	}
}

// aboveInMemory returns for each target, by name, the targets before it in the list that have the same home space.
func (a *assigner) aboveInMemory() map[string][]*target.Descriptor {
	targets := a.c.Targets.All()
	above := make(map[string][]*target.Descriptor)
	for i, t := range targets {
		for _, better := range targets[:i] {
			if better.Home() == t.Home() {
				above[t.Name] = append(above[t.Name], better)
			}
		}
	}
	return above
}

func rest2026(a *assigner, _ pass.RuleName, f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Is(ir.Leaf) {
			continue
		}
		a.rest(n, ruleVsrc4.Name, ruleCur4.Name)
		if !isOpen(n) {
			continue
		}
		if t, _ := pass.FirstSupporting(a.c, n); t != nil {
			a.put(n, t, ruleSup.Name)
		}
	}
}

// crosses2026 reports whether v has to be copied for a node on t: v belongs to another backend and is stored in a
// space that t does not address.
func crosses2026(c *pass.Context, t *target.Descriptor, v *ir.Value) bool {
	of := backendOfValue(c.Targets, v)
	if of == t {
		return false
	}
	if r := v.Root(); r.Def != nil && r.Def.Is(ir.Leaf) && !isInput(r.Def) && r.Def.Op != ir.OpForeign {
		return !t.Addresses(r.Type.Space)
	}
	return of == nil || !t.Addresses(of.Home())
}
