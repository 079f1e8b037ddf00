package placement

import (
	"context"
	"slices"
)

// descent improves a state by moves. It keeps a move if the state is better after it, and ends when no move helps,
// when the work is used up, or when the context ends.
//
// Some improvements need several labels to change at once, so there are four kinds of moves: a node, a node with its
// readers, a group around a leaf, and a run of consecutive nodes.
//
// Example: nodes 0 and 1 run on the CPU, and each is 1 s faster on the GPU. Node 1 reads the large result of node 0,
// of which a copy takes 5 s. Copies of the input of node 0 and of the result of node 1 take 0.5 s each.
//
//	node 0 to the GPU       -1 + 0.5 + 5 s, worse
//	node 1 to the GPU       -1 + 5 + 0.5 s, worse
//	both to the GPU         -2 + 0.5 + 0.5 s, better
type descent struct {
	*state
	ctx   context.Context
	limit int // for state.work
}

// descend improves an assignment. It changes at most limit labels, or as many more as its last move needs. It returns
// the better assignment and how many labels it changed.
func (g *graph) descend(ctx context.Context, labels []int32, limit int) (better []int32, work int) {
	d := &descent{newState(g, labels), ctx, limit}
	for !d.spent() {
		cost, over := d.cost, d.over
		d.moveEachNode()
		d.movePairs()
		d.moveLeaves()
		d.moveRuns()
		d.log = d.log[:0]
		if !d.better(cost, over) {
			break
		}
	}
	return d.labels, d.work
}

// spent reports whether the descent has to end.
func (d *descent) spent() bool { return d.exceeds(1) || d.ctx.Err() != nil }

// exceeds reports whether an amount of work is more than what is left.
func (d *descent) exceeds(work int) bool { return d.work+work > d.limit }

// moveEachNode moves single nodes.
func (d *descent) moveEachNode() {
	for i := range d.g.Nodes {
		x := int32(i)
		if d.spent() {
			return
		}
		if len(d.g.allowed[x]) < 2 {
			continue
		}
		for _, t := range d.promising(x) {
			if t != d.labels[x] {
				d.try(func() { d.moveNodes(t, x) })
			}
		}
	}
}

// movePairs moves each node together with one of the nodes that read its result, then with all of them.
func (d *descent) movePairs() {
	for v := range d.g.Values {
		maker, readers := d.g.Values[v].Owner, d.g.readers[v]
		if d.spent() {
			return
		}
		if maker < 0 || d.g.isLeaf(maker) || len(readers) > manyReaders {
			continue
		}
		var all []int32
		if len(readers) > 1 {
			all = append(slices.Clone(readers), maker)
		}
		for _, t := range d.promising(maker) {
			for _, r := range readers {
				d.try(func() { d.moveNodes(t, maker, r) })
			}
			if all != nil {
				d.try(func() { d.moveNodes(t, all...) })
			}
		}
	}
}

// moveLeaves moves the group around each leaf, then the leaf alone.
func (d *descent) moveLeaves() {
	for i := range d.g.Leaves {
		x := d.g.leafVariable(i)
		if d.spent() {
			return
		}
		users := d.g.usersOf(x)
		if len(users) == 0 || len(users) > maxGroup {
			continue
		}
		gr := d.g.around(users...)
		for _, t := range d.promising(users[0]) {
			if !d.exceeds(len(gr.nodes) + 1) {
				d.try(func() { d.moveGroup(gr, t) })
			}
		}
		for _, space := range d.g.allowed[x] {
			if space != d.labels[x] {
				d.try(func() { d.set(x, space) })
			}
		}
	}
}

// moveRuns moves maximal runs of consecutive nodes on one target.
func (d *descent) moveRuns() {
	for i := range d.g.Steps {
		s := &d.g.Steps[i]
		for first := s.First; first < s.End && d.ctx.Err() == nil; {
			end := first + 1
			for end < s.End && d.labels[end] == d.labels[first] {
				end++
			}
			d.moveRun(s, first, end)
			first = end
		}
	}
}

// moveRun moves a run of nodes to the first target that makes the state better.
func (d *descent) moveRun(s *Step, first, end int) {
	nodes := make([]int32, 0, end-first)
	for n := first; n < end; n++ {
		nodes = append(nodes, int32(n))
	}
	targets := d.runTargets(s, first, end)
	for i, t := range targets {
		if t == d.labels[first] || slices.Contains(targets[:i], t) || d.exceeds(2*len(nodes)) {
			continue
		}
		gr := d.g.around(nodes...)
		if d.try(func() { d.moveGroup(gr, t) }) {
			return
		}
	}
}

// runTargets returns the targets to try for a run: all where there are few, and those of the runs before and after.
func (d *descent) runTargets(s *Step, first, end int) []int32 {
	var targets []int32
	if len(d.g.Targets) <= fewTargets {
		for t := range d.g.Targets {
			targets = append(targets, int32(t))
		}
	}
	if first > s.First {
		targets = append(targets, d.labels[first-1])
	}
	if end < s.End {
		targets = append(targets, d.labels[end])
	}
	return targets
}
