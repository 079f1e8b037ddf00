package assign

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
)

// explain gives every node that was decided a cause: the effect of moving it to each other target that runs it, and
// the reasons of the targets that do not. The causes of a node may be
//
//	assign.step "step 1.2 ms" "proved best" "gpu 1.3 times" "cpu 2.4 times" "first 1.3 times"
//	assign.cost gpu "cpu 0.4 ms more, 2 copies of 1.3 MiB"
//
// The first node of each step has the first one.
func explain(c *pass.Context, p *problem, s *solution) {
	mover := placement.NewMover(&p.Problem, s.Labels)
	step := -1
	for i, v := range p.nodes {
		if v.given {
			continue
		}
		if at := int(p.Nodes[i].Step); at != step {
			step = at
			c.Cause(v.node, RuleStep.Name, p.figures(s, step)...)
		}
		rule, texts := p.whyThere(mover.Moves(i))
		if _, moved := slices.BinarySearch(s.Moved, int32(i)); moved {
			rule = ruleFlow
		}
		name := p.backends[s.Labels[i]].Name
		c.CauseChange(v.node, rule.Name, "", name, append(texts, v.kind.reasons()...)...)
		c.Count(name, 1)
	}
	for i := range p.leaves {
		if p.stated[i] != "" {
			continue
		}
		rule, texts := p.whyStored(mover.LeafMoves(i))
		for _, n := range p.leaves[i].nodes {
			c.CauseChange(n, rule.Name, "", p.spaces[s.Labels[len(p.Nodes)+i]].Name, texts...)
		}
	}
}

// figures describes what is predicted for a step, and how the solution compares with its bound and with the starts.
func (p *problem) figures(s *solution, step int) []string {
	predicted := Prediction{Seconds: s.Steps[step], Proved: s.Proved}
	if s.Bound > 0 {
		predicted.Above = s.Seconds/s.Bound - 1
	}
	for i, start := range s.starts {
		text := ""
		if t := s.Starts[i]; math.IsInf(t, 1) {
			text = p.whyNot(start.labels)
		} else {
			text = ratioText(t, s.Seconds)
		}
		predicted.Others = append(predicted.Others, Other{start.name, text})
	}
	return predicted.operands()
}

// ratioText compares a time with that of the solution: "1.3 times".
func ratioText(t, chosen float64) string {
	if chosen <= 0 {
		return shortTime(t)
	}
	return fmt.Sprintf("%.3g times", t/chosen)
}

// maxMoves is the number of moves that a cause names.
const maxMoves = 2

// movesText describes the best moves, and reports whether there is a move that would make the step shorter but for
// which there is no memory. It sorts the moves, best first.
func (p *problem) movesText(moves []placement.Move) (texts []string, full bool) {
	slices.SortStableFunc(moves, func(a, b placement.Move) int { return cmp.Compare(a.Seconds, b.Seconds) })
	for i, m := range moves {
		full = full || m.Over > 0 && m.Seconds < 0
		if i < maxMoves {
			texts = append(texts, p.moveText(m))
		}
	}
	return texts, full
}

// whyThere returns the rule by which a node is where it is, and describes its best moves.
func (p *problem) whyThere(moves []placement.Move) (pass.Rule, []string) {
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

// whyStored is whyThere for a leaf, which moves together with the nodes that read it.
func (p *problem) whyStored(moves []placement.Move) (pass.Rule, []string) {
	texts, full := p.movesText(moves)
	switch {
	case full:
		return ruleFull, texts
	case len(moves) > 0 && moves[0].Seconds < 0:
		return ruleWhole, texts
	}
	return ruleHere, texts
}

// maxReasons is the number of refusals that a cause names.
const maxReasons = 8

// reasons returns why other targets do not run the node.
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

// moveText describes the effect of a move: "gpu0 1.2 ms more, 2 copies of 1.3 MiB". The time of several nodes is that
// of all steps per item, as flow.StepWeights counts them: a step for up to 512 tokens counts 1/512.
func (p *problem) moveText(m placement.Move) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", p.backends[m.Target].Name, signed(m.Seconds))
	if m.Nodes > 1 {
		fmt.Fprintf(&b, " per item, for %d nodes", m.Nodes)
	}
	switch {
	case m.Copies > 0 && m.Bytes < 0:
		fmt.Fprintf(&b, ", %s more, %s less", counted(m.Copies), pass.BytesText(int64(-m.Bytes)))
	case m.Copies == 1:
		b.WriteString(", 1 copy of " + pass.BytesText(int64(m.Bytes)))
	case m.Copies > 1:
		fmt.Fprintf(&b, ", %d copies of %s", m.Copies, pass.BytesText(int64(m.Bytes)))
	case m.Copies == -1:
		b.WriteString(", 1 copy less")
	case m.Copies < 0:
		fmt.Fprintf(&b, ", %d copies less", -m.Copies)
	}
	if m.Over > 0 {
		fmt.Fprintf(&b, ", %s too much", pass.BytesText(m.Over))
	}
	return b.String()
}

// counted is a number of copies: "1 copy", "2 copies".
func counted(copies int) string {
	if copies == 1 {
		return "1 copy"
	}
	return fmt.Sprintf("%d copies", copies)
}
