package assign

import (
	"slices"

	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/placement"
)

// start is an assignment from which the search begins. Its result is never worse than a start.
type start struct {
	name   string
	labels []int32 // of all variables
}

// starts returns the assignments from which the search begins. With the targets gpu and cpu they are:
//
//	gpu        each node on gpu; a node that gpu does not run on the fastest other target
//	cpu        likewise for cpu
//	first      each node on the first target in the list that runs it
//	ggml-2024  the decisions of these rules, if they decide all nodes
//	ggml-2026  likewise
func (p *problem) starts(trials []trial) []start {
	var list []start
	users := p.firstUsers()
	add := func(name string, nodes []int32, stated []string) {
		list = append(list, start{name, append(slices.Clone(nodes), p.leafLabels(nodes, users, stated)...)})
	}
	for t, d := range p.backends {
		add(d.Name, p.alone(t), nil)
	}
	add("first", p.firsts(), nil)
	for _, t := range trials {
		add(t.name, t.nodes, t.stated)
	}
	return list
}

// alone returns the labels of nodes that are all on one target, if it runs them.
func (p *problem) alone(t int) []int32 {
	return p.choose(func(seconds []float64) int {
		if seconds[t] < placement.Never {
			return t
		}
		return fastest(seconds)
	})
}

func fastest(seconds []float64) int {
	best := 0
	for t, s := range seconds {
		if s < seconds[best] {
			best = t
		}
	}
	return best
}

// firsts returns the labels of nodes that are each on the first target that runs them.
func (p *problem) firsts() []int32 {
	return p.choose(func(seconds []float64) int {
		return slices.IndexFunc(seconds, func(s float64) bool { return s < placement.Never })
	})
}

// choose returns the labels of nodes that by returns for their seconds on each target.
func (p *problem) choose(by func(seconds []float64) int) []int32 {
	labels := make([]int32, len(p.Nodes))
	for i := range p.Nodes {
		labels[i] = int32(by(p.Nodes[i].Seconds))
	}
	return labels
}

// leafLabels returns the space of each leaf: the stated one, or else the home space of its first user's target. stated
// may be nil. A space in which the leaf may not be stored is replaced by the first one in which it may be.
func (p *problem) leafLabels(nodes, firstUsers []int32, stated []string) []int32 {
	labels := make([]int32, len(p.Leaves))
	for i := range p.Leaves {
		space := p.Targets[len(p.Targets)-1].Home
		if s, ok := p.spaceStated(stated, i); ok {
			space = s
		} else if n := firstUsers[i]; n >= 0 {
			space = p.Targets[nodes[n]].Home
		}
		if may := p.Leaves[i].Spaces; !may[space] {
			space = max(0, slices.Index(may, true))
		}
		labels[i] = int32(space)
	}
	return labels
}

// firstUsers returns for each leaf the first node that writes it, or else the first that reads it; -1 for none.
func (p *problem) firstUsers() []int32 {
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

// spaceStated returns the space that is stated for leaf i; ok is false for none.
func (p *problem) spaceStated(stated []string, i int) (space int, ok bool) {
	if stated == nil || stated[i] == "" {
		return 0, false
	}
	space, ok = p.index[stated[i]]
	return space, ok
}

// trial is what another set of rules decides.
type trial struct {
	name   string
	nodes  []int32  // labels
	stated []string // by leaf: its space as far as the rules decide it
}

// tryRules returns what other sets of rules decide, and takes it back. Sets that leave nodes open are left out.
func (a *assigner) tryRules(p *problem, sets ...*RuleSet) []trial {
	var trials []trial
	before := a.decisions()
	a.trying = true
	for _, set := range sets {
		a.run(set.assign...)
		if t, ok := p.trialOf(a); ok {
			t.name = set.Name
			trials = append(trials, t)
		}
		a.restore(before)
	}
	a.trying = false
	return trials
}

// decisions are what rules may change in a module.
type decisions struct {
	backends []string // of all nodes, in order
	spaces   []string // of the types of all leaves, in order
}

// decisions returns what has been decided so far.
func (a *assigner) decisions() (d decisions) {
	for _, f := range a.funcs {
		for _, n := range f.Nodes {
			d.backends = append(d.backends, n.Backend)
		}
	}
	for i := range a.leaves.list {
		for t := range a.leaves.list[i].types {
			d.spaces = append(d.spaces, t.Space)
		}
	}
	return d
}

// restore decides what was decided before.
func (a *assigner) restore(d decisions) {
	for _, f := range a.funcs {
		for _, n := range f.Nodes {
			n.Backend, d.backends = d.backends[0], d.backends[1:]
		}
	}
	for i := range a.leaves.list {
		for t := range a.leaves.list[i].types {
			t.Space, d.spaces = d.spaces[0], d.spaces[1:]
		}
	}
}

// trialOf returns what rules have decided; ok is false if some node is open.
func (p *problem) trialOf(a *assigner) (t trial, ok bool) {
	numbers := make(map[string]int32)
	for i, d := range p.backends {
		numbers[d.Name] = int32(i)
	}
	caller := int32(len(p.backends) - 1)
	for n := range variables(a.funcs) {
		switch {
		case n == nil:
			t.nodes = append(t.nodes, caller)
		case isOpen(n):
			return trial{}, false
		default:
			t.nodes = append(t.nodes, numbers[n.Backend])
		}
	}
	for i := range a.leaves.list {
		t.stated = append(t.stated, a.leaves.list[i].space())
	}
	return t, true
}
