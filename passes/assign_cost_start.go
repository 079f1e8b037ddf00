package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/passes/placement"
)

// starts returns the assignments from which the search begins, and than which its result is
// never worse: each target by itself, with what it does not run on the best other one; the
// first target in the list that runs a node; and what the rules of ggml's schedulers give.
func (p *costProblem) starts() [][]int32 {
	var list [][]int32
	add := func(name string, labels []int32) {
		p.startNames = append(p.startNames, name)
		list = append(list, labels)
	}
	for i, t := range p.targets {
		add(t.Name, p.alone(int32(i)))
	}
	add("first", p.firsts())
	was := save(p.a)
	for _, set := range []*ruleSet{&ggml2024, &ggml2026} {
		labels := p.byRules(set)
		was.restore()
		if labels != nil {
			add(set.name, labels)
		}
	}
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
	labels := make([]int32, len(p.Nodes)+len(p.Leaves))
	for i := range p.Nodes {
		labels[i] = by(p.Nodes[i].Seconds)
	}
	p.placeLeaves(labels, nil)
	return labels
}

// placeLeaves puts each leaf where its space is said, or where its first reader keeps its
// bytes; writers count before readers.
func (p *costProblem) placeLeaves(labels []int32, said []string) {
	first := noneOf(len(p.Leaves))
	note := func(v, t int32) {
		if o := int(p.Values[v].Owner) - len(p.Nodes); o >= 0 && first[o] < 0 {
			first[o] = int32(p.Targets[t].Home)
		}
	}
	for i := range p.Nodes {
		if v := p.Nodes[i].Writes; v >= 0 {
			note(v, labels[i])
		}
	}
	for i := range p.Nodes {
		for _, v := range p.Nodes[i].Reads {
			note(v, labels[i])
		}
	}
	for i := range p.Leaves {
		space := int32(p.Targets[len(p.Targets)-1].Home)
		if s, ok := p.index[saidOf(said, i)]; ok {
			space = int32(s)
		} else if first[i] >= 0 {
			space = first[i]
		}
		if may := p.Leaves[i].Spaces; !may[space] {
			space = int32(max(0, slices.Index(may, true)))
		}
		labels[len(p.Nodes)+i] = space
	}
}

func saidOf(said []string, i int) string {
	if said == nil {
		return ""
	}
	return said[i]
}

// byRules returns what another set of rules decides; nil where it leaves nodes open. The
// rules write into the module itself.
func (p *costProblem) byRules(set *ruleSet) []int32 {
	trial := *p.a
	trial.errs, trial.quiet = nil, true
	for _, r := range set.assign {
		if r.Name == "" {
			continue // it only checks
		}
		for _, f := range trial.funcs {
			r.apply(&trial, r.Name, f)
		}
	}
	said := make([]string, len(p.leaves))
	for i := range p.leaves {
		said[i] = p.leaves[i].space()
	}
	labels := make([]int32, len(p.Nodes)+len(p.Leaves))
	for i, n := range p.nodes {
		labels[i] = int32(len(p.targets) - 1)
		if n == nil {
			continue
		}
		if n.Backend == "" {
			return nil
		}
		labels[i] = int32(slices.Index(p.targets, p.a.c.Target(n)))
	}
	p.placeLeaves(labels, said)
	return labels
}

// saved is what rules write, by node and by leaf.
type saved struct {
	a        *assigner
	backends []string
	spaces   []string
}

func save(a *assigner) *saved {
	s := &saved{a: a}
	for _, f := range a.funcs {
		s.backends = slices.Grow(s.backends, len(f.Nodes))
		for _, n := range f.Nodes {
			s.backends = append(s.backends, n.Backend)
		}
	}
	for i := range a.leaves.list {
		for t := range a.leaves.list[i].types {
			s.spaces = append(s.spaces, t.Space)
		}
	}
	return s
}

func (s *saved) restore() {
	i := 0
	for _, f := range s.a.funcs {
		for _, n := range f.Nodes {
			n.Backend = s.backends[i]
			i++
		}
	}
	i = 0
	for k := range s.a.leaves.list {
		for t := range s.a.leaves.list[k].types {
			t.Space = s.spaces[i]
			i++
		}
	}
}
