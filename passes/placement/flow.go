package placement

import "slices"

// flow describes which targets wait for each other within the steps of an assignment.
//
// It matters in a pipeline, where several steps overlap. A queue runs steps one after the other. If target A makes
// something early in a step that target B needs, and later works on what B has made, then B waits in the next step
// until A has gone through all of this step. So the two targets never work at the same time.
//
// Example: node 0 makes a mask, which nodes 1 and 2 read. Node 2 also reads the result of node 1.
//
//	node 0 on B, node 1 on A, node 2 on B:    A waits for B (the mask), B waits for A
//	node 0 on A, node 1 on A, node 2 on B:    only B waits for A
//
// With the second assignment, A starts node 0 of the next step while B still runs node 2. It is worth some time of
// the single step if node 0 is slower on A.
type flow struct {
	g      *graph
	labels []int32
	counts [][]int  // by step, by pair: number of reads on the second target of what the first one makes
	waits  [][]bool // by step, by pair: the second target waits for the first, perhaps through other targets
	mutual int      // number of pairs that wait for each other, in all steps
	cross  int      // number of reads that cross between the targets of such pairs
}

// Limits of straighten.
const (
	flowTargets = 32         // targets of a problem
	flowWork    = 20_000_000 // nodes that all tried moves may look at
	flowTries   = 64         // candidates for one move
	flowGroup   = 16         // nodes that move together
	flowLoss    = 1.1        // relative time that a step may take
)

// straighten returns a solution in which fewer pairs of targets wait for each other, and whether there is one. Its
// steps take at most flowLoss times as long.
func (s *solver) straighten(from solution) (straight solution, changed bool) {
	if s.g.UnderWay < 2 || !from.fits() || len(s.g.Targets) > flowTargets {
		return from, false
	}
	first := newFlow(s.g, from.labels)
	best := first
	tries := flowWork / max(len(s.g.Nodes), 1)
	for next := best; next != nil && s.ctx.Err() == nil; {
		best = next
		next, tries = s.straighter(best, from.time*flowLoss, tries)
	}
	if best.mutual == first.mutual {
		return from, false
	}
	return s.judge(best.labels), true
}

// straighter returns a better flow after one move, or nil if there is none or no tries are left. Steps take at most
// limit seconds. It also returns how many tries are left.
func (s *solver) straighter(f *flow, limit float64, tries int) (*flow, int) {
	for _, c := range f.candidates() {
		for _, nodes := range f.groups(c) {
			if tries == 0 {
				return nil, 0
			}
			tries--
			next := newFlow(f.g, f.moved(nodes, c.to))
			if !next.better(f) {
				continue
			}
			if judged := s.judge(next.labels); judged.time <= limit && judged.over == 0 {
				return next, tries
			}
		}
	}
	return nil, tries
}

func newFlow(g *graph, labels []int32) *flow {
	f := &flow{g: g, labels: labels}
	for range g.Steps {
		f.counts = append(f.counts, make([]int, len(g.Targets)*len(g.Targets)))
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Caller {
			continue // no step waits for the caller
		}
		for _, v := range n.Reads {
			if from, to := f.source(v, labels[i]), labels[i]; from >= 0 && from != to {
				f.counts[n.Step][f.pair(from, to)]++
			}
		}
	}
	for step, counts := range f.counts {
		f.waits = append(f.waits, f.closure(counts))
		f.countMutual(int32(step))
	}
	return f
}

// pair returns the index of a pair of targets.
func (f *flow) pair(from, to int32) int { return int(from)*len(f.g.Targets) + int(to) }

// source returns the target whose queue target t waits for to read value v; -1 for none. That is the target that makes
// v or, for a value that exists before the step, the target that copies it.
func (f *flow) source(v, t int32) int32 {
	if maker := f.g.Values[v].Maker; maker >= 0 {
		return f.labels[maker]
	}
	if space := f.g.spaceOf(f.labels, v); !f.g.reaches(t, space) {
		return f.g.copier[space]
	}
	return -1
}

// closure returns the transitive closure of the pairs that have a count.
func (f *flow) closure(counts []int) []bool {
	n := int32(len(f.g.Targets))
	waits := make([]bool, len(counts))
	for i, c := range counts {
		waits[i] = c > 0
	}
	for by := range n {
		for from := range n {
			if !waits[f.pair(from, by)] {
				continue
			}
			for to := range n {
				if waits[f.pair(by, to)] {
					waits[f.pair(from, to)] = true
				}
			}
		}
	}
	return waits
}

// countMutual adds the pairs of a step that wait for each other.
func (f *flow) countMutual(step int32) {
	n := int32(len(f.g.Targets))
	for from := range n {
		for to := range n {
			if from != to && f.areMutual(step, from, to) {
				f.mutual++
				f.cross += f.counts[step][f.pair(from, to)]
			}
		}
	}
}

// areMutual reports whether two targets wait for each other in a step.
func (f *flow) areMutual(step, a, b int32) bool {
	waits := f.waits[step]
	return waits[f.pair(a, b)] && waits[f.pair(b, a)]
}

// better reports whether fewer targets wait for each other than in another flow, or for fewer values.
func (f *flow) better(than *flow) bool {
	return f.mutual < than.mutual || f.mutual == than.mutual && f.cross < than.cross
}

// candidate is a node to move to the target that reads its result, as these two targets wait for each other.
type candidate struct{ node, to int32 }

// candidates returns the first flowTries candidates.
func (f *flow) candidates() []candidate {
	var list []candidate
	for i := range f.g.Nodes {
		n := &f.g.Nodes[i]
		if n.Caller {
			continue
		}
		for _, v := range n.Reads {
			c := candidate{f.g.Values[v].Maker, f.labels[i]}
			if c.node < 0 || f.labels[c.node] == c.to || !f.areMutual(n.Step, f.labels[c.node], c.to) {
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

// groups returns the groups of nodes that may move for a candidate: the node alone, and the node with all nodes on its
// target that its result is computed from.
func (f *flow) groups(c candidate) [][]int32 {
	var groups [][]int32
	if alone := []int32{c.node}; f.mayMove(alone, c.to) {
		groups = append(groups, alone)
	}
	all := []int32{c.node}
	for k := 0; k < len(all) && len(all) <= flowGroup; k++ {
		for _, v := range f.g.Nodes[all[k]].Reads {
			if m := f.g.Values[v].Maker; m >= 0 && f.labels[m] == f.labels[c.node] && !slices.Contains(all, m) {
				all = append(all, m)
			}
		}
	}
	if len(all) > 1 && len(all) <= flowGroup && f.mayMove(all, c.to) {
		groups = append(groups, all)
	}
	return groups
}

// mayMove reports whether nodes may move to a target. A node that changes a value stays where it is.
func (f *flow) mayMove(nodes []int32, to int32) bool {
	return !slices.ContainsFunc(nodes, func(x int32) bool { return f.g.Nodes[x].Writes >= 0 || !f.g.allows(x, to) })
}

// moved returns the labels with some nodes on target to. The leaves that they read move to its home if it does not
// address their space.
func (f *flow) moved(nodes []int32, to int32) []int32 {
	labels := slices.Clone(f.labels)
	home := f.g.home(to)
	for _, x := range nodes {
		labels[x] = to
		for _, v := range f.g.Nodes[x].Reads {
			if leaf := f.g.leafOf(v); leaf >= 0 && !f.g.reaches(to, labels[leaf]) && f.g.allows(leaf, home) {
				labels[leaf] = home
			}
		}
	}
	return labels
}
