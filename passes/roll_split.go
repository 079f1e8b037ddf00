package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// noSplit is the split of a node that roll has added: it joins that of the node before it,
// where that has the same backend.
const noSplit = -1

// renumber numbers the splits of f anew, one after the other, now that groups of nodes are
// one repeat. A repeat is part of the splits around it where its body is on its backend and
// nothing was cut there; end is the split in which the last of its groups ended. Of one with
// nodes on several backends the body's splits are numbered from that of the repeat on, and what
// follows from behind them: a number names one split of an entry point, bodies included.
func renumber(f *ir.Func, repeat *ir.Node, end int) {
	number, backend, before := -1, "", noSplit
	for _, n := range f.Nodes {
		if !works(n) {
			n.Split = max(number, 0)
			continue
		}
		apart := isApart(n)
		cut := n.Split != noSplit && before != noSplit && n.Split != before
		if number < 0 || apart || n.Backend != backend || cut {
			number++
		}
		if backend = n.Backend; apart {
			backend = "" // whatever follows begins a split
		}
		if n.Split != noSplit {
			before = n.Split
		}
		if n == repeat {
			before = end
		}
		n.Split = number
		if n.Body != nil {
			moveSplits(n.Body, number)
			number = lastSplitOf(n)
		}
	}
}

// isApart reports whether the body of n has splits of its own.
func isApart(n *ir.Node) bool {
	if n.Body == nil {
		return false
	}
	last := lastWork(n.Body)
	return last != nil && (last.Backend != n.Backend || isSeveral(n.Body))
}

// lastSplitOf returns the last split in which n, or what its body holds, works.
func lastSplitOf(n *ir.Node) int {
	last := n.Split
	if n.Body != nil {
		for _, inner := range n.Body.Nodes {
			last = max(last, lastSplitOf(inner))
		}
	}
	return last
}

// isSeveral reports whether the nodes of a body are in several splits.
func isSeveral(f *ir.Func) bool {
	first := slices.IndexFunc(f.Nodes, works)
	return first >= 0 && f.Nodes[first].Split != splitAtEnd(f, lastWork(f).Backend)
}

// moveSplits makes the splits of a body begin at number.
func moveSplits(f *ir.Func, number int) {
	first := slices.IndexFunc(f.Nodes, works)
	if first < 0 {
		return
	}
	for by, i := number-f.Nodes[first].Split, 0; i < len(f.Nodes); i++ {
		n := f.Nodes[i]
		if n.Split = max(n.Split+by, number); n.Body != nil {
			moveSplits(n.Body, n.Split)
		}
	}
}

// lastWork returns the last node of f that works, or nil.
func lastWork(f *ir.Func) *ir.Node {
	for _, n := range slices.Backward(f.Nodes) {
		if works(n) {
			return n
		}
	}
	return nil
}

// splitAtEnd returns the split of a node on a backend that is appended to f.
func splitAtEnd(f *ir.Func, backend string) int {
	last := lastWork(f)
	switch {
	case last == nil:
		return 0
	case last.Backend == backend && !isApart(last):
		return last.Split
	}
	return lastSplitOf(last) + 1
}

// lastSplitIn returns the split of the last node of a group that works.
func lastSplitIn(group []*ir.Node) int {
	for _, n := range slices.Backward(group) {
		if works(n) {
			return n.Split
		}
	}
	return noSplit
}
