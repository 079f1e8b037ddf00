package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
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
	was := save(p.a.m)
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
	trial := &assigner{c: p.a.c, m: p.a.m, touch: p.a.touch, declared: p.a.declared, readers: p.a.leafReaders(), quiet: true}
	funcs := p.a.m.AllFuncs()
	for _, r := range set.assign {
		if r.Name == "" {
			continue // it only checks
		}
		for _, f := range funcs {
			r.apply(trial, r.Name, f)
		}
	}
	said := make([]string, len(p.leaves))
	for i, l := range p.leaves {
		for _, t := range l.types {
			said[i] = firstOf(said[i], t.Space)
		}
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

// saved is what rules write.
type saved struct {
	nodes    []*ir.Node
	backends []string
	causes   []int
	types    []*ir.Type
	spaces   []string
}

func save(m *ir.Module) *saved {
	s := &saved{}
	keep := func(t *ir.Type) {
		s.types = append(s.types, t)
		s.spaces = append(s.spaces, t.Space)
	}
	for _, w := range m.Weights {
		keep(&w.Type)
	}
	for _, st := range m.States {
		keep(&st.Type)
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			s.nodes = append(s.nodes, n)
			s.backends = append(s.backends, n.Backend)
			s.causes = append(s.causes, len(n.Causes))
			if n.Is(ir.Leaf) {
				keep(&n.Result().Type)
			}
		}
	}
	return s
}

func (s *saved) restore() {
	for i, n := range s.nodes {
		n.Backend = s.backends[i]
		n.Causes = n.Causes[:s.causes[i]]
	}
	for i, t := range s.types {
		t.Space = s.spaces[i]
	}
}
