package placement

import "slices"

// This file lets steps that are under way at once overlap. A queue runs steps one after the other. If a
// target makes something early in a step that another one needs, and later works on what that one has
// made, the other one waits in the next step until this step has gone through both. So work that costs
// little is moved to where its result is read.

// flow is what targets wait for within the steps of an assignment.
type flow struct {
	g      *graph
	labels []int32
	counts [][]int  // by step; by target that makes a value and target that reads it: how many are brought over
	reach  [][]bool // likewise: the second waits for the first, perhaps through others
	knots  int      // pairs of targets that wait for each other
	cross  int      // values that are brought from one to the other of such pairs
}

// Limits of straighten.
const (
	flowTargets = 32         // of a problem; it does nothing where there are more
	flowWork    = 20_000_000 // nodes that are looked at in all: what takes about 0.2 s
	flowTries   = 64         // candidates in a round
	flowGroup   = 16         // nodes that move together
	flowLoss    = 1.1        // how many times as long a step may take
)

// straighten changes an assignment so that fewer targets wait for each other in a step.
func (s *solver) straighten(r *Result) {
	if s.g.UnderWay < 2 || !r.Fits() || len(s.g.Targets) > flowTargets {
		return
	}
	first := newFlow(s.g, r.Labels)
	best := first
	tries := flowWork / max(len(s.g.Nodes), 1)
	for next := best; next != nil && s.ctx.Err() == nil; {
		best = next
		next = s.straighter(best, r.Seconds*flowLoss, &tries)
	}
	if best.knots == first.knots {
		return
	}
	for i := range s.g.Nodes {
		if best.labels[i] != r.Labels[i] {
			r.Moved = append(r.Moved, int32(i))
		}
	}
	r.Proved = false
	r.Labels, r.Seconds = best.labels, s.clock.total(best.labels)
}

// straighter returns what one move makes of a flow, if there is one that makes it better and steps
// no longer than so many seconds; nil for none. It counts tries down.
func (s *solver) straighter(f *flow, seconds float64, tries *int) *flow {
	for _, c := range f.candidates() {
		for _, group := range f.groups(c) {
			if *tries--; *tries < 0 {
				return nil
			}
			labels := f.moved(group, c.to)
			next := newFlow(f.g, labels)
			if !next.better(f) {
				continue
			}
			if got := s.clock.judge(labels); got.time <= seconds && got.over == 0 {
				return next
			}
		}
	}
	return nil
}

func newFlow(g *graph, labels []int32) *flow {
	f := &flow{g: g, labels: labels}
	for range g.Steps {
		f.counts = append(f.counts, make([]int, len(g.Targets)*len(g.Targets)))
	}
	for i := range g.Nodes {
		if g.Nodes[i].Caller {
			continue // no step waits for what the caller does with a result
		}
		for _, v := range g.Nodes[i].Reads {
			if from, to := f.giver(v, labels[i]), labels[i]; from >= 0 && from != to {
				f.counts[g.Nodes[i].Step][f.at(from, to)]++
			}
		}
	}
	for _, counts := range f.counts {
		f.reach = append(f.reach, f.closure(counts))
	}
	f.count()
	return f
}

// at returns the index of a pair of targets.
func (f *flow) at(from, to int32) int { return int(from)*len(f.g.Targets) + int(to) }

// giver returns the target whose queue target t waits for to read v; -1 for none.
func (f *flow) giver(v, t int32) int32 {
	facts := &f.g.facts[v]
	if facts.maker >= 0 {
		return f.labels[facts.maker]
	}
	if space := f.g.lies(f.labels, facts); !f.g.reaches(t, space) {
		return f.g.outOf[space]
	}
	return -1
}

// closure returns which targets wait for which.
func (f *flow) closure(counts []int) []bool {
	n := int32(len(f.g.Targets))
	reach := make([]bool, len(counts))
	for i, c := range counts {
		reach[i] = c > 0
	}
	for by := range n {
		for from := range n {
			if !reach[f.at(from, by)] {
				continue
			}
			for to := range n {
				reach[f.at(from, to)] = reach[f.at(from, to)] || reach[f.at(by, to)]
			}
		}
	}
	return reach
}

// count counts the pairs that wait for each other.
func (f *flow) count() {
	n := int32(len(f.g.Targets))
	for step, counts := range f.counts {
		for from := range n {
			for to := range n {
				if from != to && f.knotted(int32(step), from, to) {
					f.knots++
					f.cross += counts[f.at(from, to)]
				}
			}
		}
	}
}

// knotted reports whether two targets wait for each other in a step.
func (f *flow) knotted(step, a, b int32) bool {
	reach := f.reach[step]
	return reach[f.at(a, b)] && reach[f.at(b, a)]
}

// better reports whether fewer targets wait for each other than in another flow, or for less.
func (f *flow) better(than *flow) bool {
	return f.knots < than.knots || f.knots == than.knots && f.cross < than.cross
}

// candidate is a node whose result a target reads that it waits for as well.
type candidate struct{ node, to int32 }

// candidates returns some.
func (f *flow) candidates() []candidate {
	var list []candidate
	for i := range f.g.Nodes {
		n := &f.g.Nodes[i]
		for _, v := range n.Reads {
			c := candidate{f.g.facts[v].maker, f.labels[i]}
			if c.node < 0 || n.Caller || f.labels[c.node] == c.to || !f.knotted(n.Step, f.labels[c.node], c.to) {
				continue
			}
			if !slices.Contains(list, c) {
				list = append(list, c)
			}
			if len(list) == flowTries {
				return list
			}
		}
	}
	return list
}

// groups returns what may move together for a candidate: the node alone, and with what it is made of at
// the same target.
func (f *flow) groups(c candidate) [][]int32 {
	var groups [][]int32
	alone := []int32{c.node}
	if f.mayMove(alone, c.to) {
		groups = append(groups, alone)
	}
	all := alone
	for k := 0; k < len(all) && len(all) <= flowGroup; k++ {
		for _, v := range f.g.Nodes[all[k]].Reads {
			if m := f.g.facts[v].maker; m >= 0 && f.labels[m] == f.labels[c.node] && !slices.Contains(all, m) {
				all = append(all[:len(all):len(all)], m)
			}
		}
	}
	if len(all) > 1 && len(all) <= flowGroup && f.mayMove(all, c.to) {
		groups = append(groups, all)
	}
	return groups
}

// mayMove reports whether nodes may run on a target: a node that changes bytes stays where they are.
func (f *flow) mayMove(nodes []int32, to int32) bool {
	return !slices.ContainsFunc(nodes, func(x int32) bool { return f.g.Nodes[x].Writes >= 0 || !f.g.mayBe(x, to) })
}

// moved returns the labels with nodes, and the leaves that they read, at a target.
func (f *flow) moved(nodes []int32, to int32) []int32 {
	labels := slices.Clone(f.labels)
	home := f.g.homes[to]
	for _, x := range nodes {
		labels[x] = to
		for _, v := range f.g.Nodes[x].Reads {
			if leaf := f.g.leafOf(v); leaf >= 0 && !f.g.reaches(to, labels[leaf]) && f.g.mayBe(leaf, home) {
				labels[leaf] = home
			}
		}
	}
	return labels
}
