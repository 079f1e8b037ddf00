package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/placement"
)

// starts returns the assignments from which the search begins, and than which its result is
// never worse: each target by itself, with what it does not run on the best other one; the
// first target in the list that runs a node; and what the rules of ggml's schedulers give.
func (p *costProblem) starts() [][]int32 {
	var list [][]int32
	p.startNames = nil // with other limits all begins again
	add := func(name string, labels []int32) {
		p.startNames = append(p.startNames, name)
		list = append(list, labels)
	}
	for i, t := range p.targets {
		add(t.Name, p.alone(int32(i)))
	}
	add("first", p.firsts())
	for _, trial := range p.tried {
		if labels := p.byRules(trial); labels != nil {
			add(trial.of.Name, labels)
		}
	}
	p.startLabels = list
	return list
}

// alone puts all on one target that it runs.
func (p *costProblem) alone(t int32) []int32 {
	return p.choose(func(seconds []float64) int32 {
		if seconds[t] < placement.Never {
			return t
		}
		return fastest(seconds)
	})
}

func fastest(seconds []float64) int32 {
	best := 0
	for t, s := range seconds {
		if s < seconds[best] {
			best = t
		}
	}
	return int32(best)
}

// firsts puts each node on the first target that runs it.
func (p *costProblem) firsts() []int32 {
	return p.choose(func(seconds []float64) int32 {
		return int32(slices.IndexFunc(seconds, func(s float64) bool { return s < placement.Never }))
	})
}

// choose returns labels: those of nodes by their seconds, those of leaves by their first
// reader.
func (p *costProblem) choose(by func(seconds []float64) int32) []int32 {
	chosen := make([]int32, len(p.times))
	for i, seconds := range p.times {
		chosen[i] = by(seconds)
	}
	labels := make([]int32, len(p.Nodes)+len(p.Leaves))
	for i, time := range p.time {
		labels[i] = chosen[time]
	}
	p.placeLeaves(labels, nil)
	return labels
}

// placeLeaves puts each leaf where its space is said, or where its first user keeps its
// bytes.
func (p *costProblem) placeLeaves(labels []int32, said []string) {
	if p.firstUser == nil {
		p.firstUser = p.firstUsers()
	}
	home := int32(p.Targets[len(p.Targets)-1].Home)
	for i := range p.Leaves {
		space := home
		if s, ok := p.spaceSaid(said, i); ok {
			space = int32(s)
		} else if n := p.firstUser[i]; n >= 0 {
			space = int32(p.Targets[labels[n]].Home)
		}
		if may := p.Leaves[i].Spaces; !may[space] {
			space = int32(max(0, slices.Index(may, true)))
		}
		labels[len(p.Nodes)+i] = space
	}
}

// firstUsers returns the first node that writes each leaf, or, where none does, reads it; -1 for
// none.
func (p *costProblem) firstUsers() []int32 {
	first := flow.NoneOf(len(p.Leaves))
	note := func(v int32, i int) {
		if o := int(p.Values[v].Owner) - len(p.Nodes); o >= 0 && first[o] < 0 {
			first[o] = int32(i)
		}
	}
	for i := range p.Nodes {
		if v := p.Nodes[i].Writes; v >= 0 {
			note(v, i)
		}
	}
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Reads {
			note(v, i)
		}
	}
	return first
}

// spaceSaid returns the space where leaf i is said to lie, if anything is said.
func (p *costProblem) spaceSaid(said []string, i int) (space int, ok bool) {
	if said == nil || said[i] == "" {
		return 0, false
	}
	space, ok = p.index[said[i]]
	return space, ok
}

// byRules returns what a trial of other rules has decided; nil where these leave nodes open.
func (p *costProblem) byRules(trial *assigner) []int32 {
	labels := make([]int32, 0, len(p.Nodes)+len(p.Leaves))
	for i, f := range trial.funcs {
		s := &trial.sheets[i]
		for _, id := range s.ids {
			switch {
			case !s.facts[id].has(doesWork):
			case s.chosen[id] == openChoice:
				return nil
			default:
				labels = append(labels, s.chosen[id])
			}
		}
		if len(f.Results) > 0 {
			labels = append(labels, int32(len(p.targets)-1)) // the reader of the results
		}
	}
	labels = labels[:cap(labels)]
	p.placeLeaves(labels, trial.spaces)
	return labels
}
