package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// CloseGaps numbers splits without those of which all nodes are gone, and reports whether there are
// such.
func CloseGaps(f *ir.Func) bool {
	var numbers []int // of splits with work, in order
	for _, n := range f.Nodes {
		if DoesWork(n) && (len(numbers) == 0 || numbers[len(numbers)-1] != n.Split) {
			numbers = append(numbers, n.Split)
		}
	}
	if len(numbers) == 0 || numbers[len(numbers)-1] == len(numbers)-1 {
		return false
	}
	for _, n := range f.Nodes {
		at, found := slices.BinarySearch(numbers, n.Split)
		if !found {
			at = max(at-1, 0)
		}
		n.Split = at
	}
	return true
}

// NoSplit is the split of a node that roll has added: it joins that of the node before it,
// where that has the same backend.
const NoSplit = -1

// Renumber numbers the splits of f anew, one after the other, now that groups of nodes are
// one repeat. A repeat is part of the splits around it where its body is on its backend and
// nothing was cut there; end is the split in which the last of its groups ended. Of one with
// nodes on several backends the body's splits are numbered from that of the repeat on, and what
// follows from behind them: a number names one split of an entry point, bodies included.
func Renumber(f *ir.Func, repeat *ir.Node, end int) {
	number, backend, before := -1, "", NoSplit
	for _, n := range f.Nodes {
		if !DoesWork(n) {
			n.Split = max(number, 0)
			continue
		}
		apart := isApart(n)
		cut := n.Split != NoSplit && before != NoSplit && n.Split != before
		if number < 0 || apart || n.Backend != backend || cut {
			number++
		}
		if backend = n.Backend; apart {
			backend = "" // whatever follows begins a split
		}
		if n.Split != NoSplit {
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
	first := slices.IndexFunc(f.Nodes, DoesWork)
	return first >= 0 && f.Nodes[first].Split != SplitAtEnd(f, lastWork(f).Backend)
}

// moveSplits makes the splits of a body begin at number.
func moveSplits(f *ir.Func, number int) {
	first := slices.IndexFunc(f.Nodes, DoesWork)
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
		if DoesWork(n) {
			return n
		}
	}
	return nil
}

// SplitAtEnd returns the split of a node on a backend that is appended to f.
func SplitAtEnd(f *ir.Func, backend string) int {
	last := lastWork(f)
	switch {
	case last == nil:
		return 0
	case last.Backend == backend && !isApart(last):
		return last.Split
	}
	return lastSplitOf(last) + 1
}

// LastSplitIn returns the split of the last node of a group that works.
func LastSplitIn(group []*ir.Node) int {
	for _, n := range slices.Backward(group) {
		if DoesWork(n) {
			return n.Split
		}
	}
	return NoSplit
}

// NumberBodies gives the splits of bodies numbers that no other split of their entry point has.
func NumberBodies(m *ir.Module) {
	for _, f := range m.Funcs {
		if slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Body != nil }) {
			Renumber(f, nil, NoSplit)
		}
	}
}

// Splits returns the splits of an entry point, those of bodies among them, with what is copied
// into each, and why each begins.
func Splits(f *ir.Func) []ir.Split { return appendSplits(nil, f) }

func appendSplits(splits []ir.Split, f *ir.Func) []ir.Split {
	for _, n := range f.Nodes {
		switch {
		case n.Body != nil:
			splits = appendSplits(splits, n.Body)
		case DoesWork(n) && n.Split >= 0:
			splits = noteSplit(splits, n)
		}
	}
	return splits
}

// noteSplit adds what n says of its split.
func noteSplit(splits []ir.Split, n *ir.Node) []ir.Split {
	for len(splits) <= n.Split {
		splits = append(splits, ir.Split{})
	}
	s := &splits[n.Split]
	s.Backend = n.Backend
	if IsTransfer(n) || IsSplitInput(n) {
		s.Inputs = append(s.Inputs, n.Args[0].Name)
	}
	if s.Cause.Rule == "" {
		s.Cause = splitCause(n)
	}
	return splits
}

// IsSplitInput reports whether n is a copy that the copy pass has made. Under the rules of
// 2024 it may be one within a space.
func IsSplitInput(n *ir.Node) bool {
	return n.Op == ir.OpCopy && n.HasCause(string(pass.RuleCopyIn))
}

// splitCause returns the cause for which a split begins at n, if one does.
func splitCause(n *ir.Node) ir.Cause {
	c, _ := n.FirstCause(func(by, rule string) bool { return by == "split" || rule == string(pass.RuleCopyOut) })
	return c
}
