package order

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// window is how many nodes after the first one of a group are tried for it. It bounds how far a node moves.
const window = 16

// groups returns an order in which nodes that can run at the same time follow each other, for targets whose queues do
// that. Each group begins with the next node of the order before, and takes the nodes after it, within a window, that
// need none of the group and nothing that is not there yet. For example:
//
//	before        after
//	%q = matmul   %q = matmul
//	%r = rope %q  %k = matmul
//	%k = matmul   %v = matmul
//	%s = rope %k  ───────────
//	%v = matmul   %r = rope %q
//	              %s = rope %k
//
// The order before is returned if the peak of live bytes of some space would be higher.
func (g *dataflow) groups(c *pass.Context, now []int) []int {
	w := &grouper{g: g, c: c, at: make([]int, len(g.work))}
	for from := 0; from < len(now); {
		to := w.runEnd(now, from)
		w.run(now[from:to])
		from = to
	}
	if slices.Equal(w.list, now) || anyHigher(g.peaks(w.list), g.peaks(now)) {
		return now
	}
	for _, i := range w.moved {
		if !c.Allow(pass.RuleOrderTogether, g.work[i]) {
			return now
		}
	}
	for _, i := range w.moved {
		c.Cause(g.work[i], pass.RuleOrderTogether)
	}
	return w.list
}

// anyHigher reports whether some number of a is higher than that of b.
func anyHigher(a, b []int64) bool {
	for i := range a {
		if a[i] > b[i] {
			return true
		}
	}
	return false
}

// grouper makes the order of groups.
type grouper struct {
	g     *dataflow
	c     *pass.Context
	list  []int
	at    []int // by node: the number of its group, from 1, or 0 if it is not in the list yet
	count int   // of groups
	moved []int // nodes that run earlier than before
}

// runEnd returns the end of the nodes from now[from] on that groups may mix: nodes of a split on a queue that can run
// them at the same time. It is from+1 if the first one is not of that kind.
func (w *grouper) runEnd(now []int, from int) int {
	to := from + 1
	for to < len(now) && w.mixes(now[from]) && w.mixes(now[to]) && w.g.split[now[from]] == w.g.split[now[to]] {
		to++
	}
	return to
}

// mixes reports whether a node may run at the same time as others of its queue.
func (w *grouper) mixes(i int) bool {
	n := w.g.work[i]
	t := w.c.Target(n)
	return t != nil && t.Concurrent && t.Queues > 0 && n.Body == nil && n.Op != ir.OpCopy && n.Op != ir.OpCopyExperts && n.Op != ir.OpForeign
}

// run appends nodes, group by group.
func (w *grouper) run(nodes []int) {
	for first := range nodes {
		if w.at[nodes[first]] != 0 {
			continue
		}
		w.count++
		skipped := false
		for _, i := range nodes[first:min(first+window, len(nodes))] {
			switch {
			case w.at[i] != 0:
			case w.fits(i):
				w.add(i)
				if skipped {
					w.moved = append(w.moved, i)
				}
			default:
				skipped = true
			}
		}
	}
}

// add appends a node to the group.
func (w *grouper) add(i int) {
	w.list = append(w.list, i)
	w.at[i] = w.count
}

// fits reports whether all predecessors of a node are in groups before this one.
func (w *grouper) fits(i int) bool {
	return !slices.ContainsFunc(w.g.preds[i], func(p int32) bool { return w.at[p] == 0 || w.at[p] == w.count })
}
