package assign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
)

// explain gives every node that was decided a cause: which other targets run it and what
// moving it there would mean, and why the rest do not.
func (p *costProblem) explain(r *placement.Result) {
	mover := placement.NewMover(&p.Problem, r.Labels)
	step := -1
	for i, n := range p.nodes {
		if p.given[i] {
			continue // nothing was decided
		}
		if s := int(p.Nodes[i].Step); s != step {
			step = s
			p.a.c.Cause(n, RuleStep.Name, p.figures(r, step)...)
		}
		rule, texts := p.whyThere(mover.Moves(i))
		if _, moved := slices.BinarySearch(r.Moved, int32(i)); moved {
			rule = ruleFlow
		}
		p.explainNode(n, p.kind[i], r.Labels[i], rule, texts)
	}
	for i := range p.leaves {
		if l := &p.leaves[i]; p.said[i] == "" && len(l.nodes) > 0 {
			p.explainLeaf(l, r.Labels[len(p.Nodes)+i], mover.LeafMoves(i))
		}
	}
}

// figures says what is predicted for a step, and in all.
func (p *costProblem) figures(r *placement.Result, step int) []string {
	texts := []string{"step " + shortTime(r.Steps[step])}
	if r.Proved {
		texts = append(texts, "proved best")
	} else if r.Bound > 0 {
		texts = append(texts, fmt.Sprintf("at most %.3g%% above the bound", 100*(r.Seconds/r.Bound-1)))
	}
	for i, name := range p.startNames {
		switch t := r.Starts[i]; {
		case math.IsInf(t, 1):
			texts = append(texts, name+" "+p.whyNot(p.startLabels[i]))
		default:
			texts = append(texts, fmt.Sprintf("%s %s", name, ratioText(t, r.Seconds)))
		}
	}
	return texts
}

// ratioText compares a time with that which was chosen.
func ratioText(t, chosen float64) string {
	if chosen <= 0 {
		return shortTime(t)
	}
	return fmt.Sprintf("x%.3g", t/chosen)
}

// maxMoves is how many moves a cause names.
const maxMoves = 2

// movesText returns what the best moves would mean, and whether one of them would make the
// step shorter and cannot be made for want of memory. It sorts the moves, best first.
func (p *costProblem) movesText(moves []placement.Move) (texts []string, full bool) {
	slices.SortStableFunc(moves, func(a, b placement.Move) int { return cmp.Compare(a.Seconds, b.Seconds) })
	for i, m := range moves {
		full = full || m.Over > 0 && m.Seconds < 0
		if i < maxMoves {
			texts = append(texts, p.moveText(m))
		}
	}
	return texts, full
}

// whyThere returns the rule by which a node is where it is, and what its best moves would mean.
func (p *costProblem) whyThere(moves []placement.Move) (pass.Rule, []string) {
	texts, full := p.movesText(moves)
	switch {
	case full:
		return ruleFull, texts
	case len(moves) == 0:
		return ruleOnly, texts
	case moves[0].Seconds < 0:
		return ruleWhole, texts
	}
	return ruleCost, texts
}

func (p *costProblem) explainNode(n *ir.Node, k *nodeKind, label int32, rule pass.Rule, texts []string) {
	texts = append(texts, k.reasons()...)
	p.a.c.CauseChange(n, rule.Name, "", p.targets[label].Name, texts...)
	p.a.c.Count(p.targets[label].Name, 1)
}

// maxReasons is how many refusals a cause names.
const maxReasons = 8

// reasons returns why targets do not run the node.
func (kind *nodeKind) reasons() []string {
	var texts []string
	more := 0
	for _, why := range kind.refusals {
		switch {
		case why == "":
		case len(texts) < maxReasons:
			texts = append(texts, why)
		default:
			more++
		}
	}
	if more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return texts
}

// moveText says what a move would mean: "gpu0 +1.2ms, 2 copies, 1.3MiB".
func (p *costProblem) moveText(m placement.Move) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.targets[m.Target].Name, signed(m.Seconds))
	if m.Nodes > 1 {
		fmt.Fprintf(&b, " for %d nodes", m.Nodes)
	}
	switch {
	case m.Copies > 0 && m.Bytes < 0:
		fmt.Fprintf(&b, ", %s more, %s less", counted(m.Copies), shortSize(int64(-m.Bytes)))
	case m.Copies == 1:
		b.WriteString(", 1 copy of " + shortSize(int64(m.Bytes)))
	case m.Copies > 1:
		fmt.Fprintf(&b, ", %d copies of %s", m.Copies, shortSize(int64(m.Bytes)))
	case m.Copies == -1:
		b.WriteString(", 1 copy less")
	case m.Copies < 0:
		fmt.Fprintf(&b, ", %d copies less", -m.Copies)
	}
	if m.Over > 0 {
		fmt.Fprintf(&b, ", %s too much", shortSize(m.Over))
	}
	return b.String()
}

// counted is a number of copies in words.
func counted(copies int) string {
	if copies == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", copies)
}

// explainLeaf gives the nodes that name a leaf a cause: what it would mean if it lay
// elsewhere, together with those that read it.
func (p *costProblem) explainLeaf(l *namedLeaf, label int32, moves []placement.Move) {
	texts, full := p.movesText(moves)
	rule := ruleHere.Name
	switch {
	case full:
		rule = ruleFull.Name
	case len(moves) > 0 && moves[0].Seconds < 0:
		rule = ruleWhole.Name
	}
	for _, n := range l.nodes {
		p.a.c.CauseChange(n, rule, "", p.spaces[label].Name, texts...)
	}
}

// signed is a difference of times with its sign.
func signed(seconds float64) string {
	if seconds < 0 {
		return "-" + shortTime(-seconds)
	}
	return "+" + shortTime(seconds)
}

// shortTime is a time with three digits and a unit.
func shortTime(s float64) string {
	for _, u := range []struct {
		name  string
		scale float64
	}{{"s", 1}, {"ms", 1e-3}, {"us", 1e-6}} {
		if s >= u.scale {
			return fmt.Sprintf("%.3g%s", s/u.scale, u.name)
		}
	}
	return fmt.Sprintf("%.3gns", s/1e-9)
}

// shortSize is a number of bytes with three digits and a unit.
func shortSize(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.3gGiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.3gMiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.3gKiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%dB", n)
}
