package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// CloseGaps numbers the splits of f consecutively if some of them have no nodes left, and reports whether it did.
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

// NoSplit is the split of a node that the pass roll has added. The node joins the split of the node before it if both
// have the same backend.
const NoSplit = -1

// Renumber numbers the splits of f consecutively after groups of nodes have become one repeat. A number names one split
// of the entry point, bodies included.
//
// A repeat whose body is on one backend is part of the split around it, unless the split was cut there: end is the
// split in which the last of its groups ended. The body of another repeat has splits of its own, which are numbered
// from that of the repeat on:
//
//	split  before roll                         after
//	0      embed on cpu                        0  embed on cpu
//	1      layer 0: attention on gpu           1  repeat
//	2      layer 0: experts on cpu             1    attention on gpu
//	3      layer 1: attention on gpu           2    experts on cpu
//	4      layer 1: experts on cpu
//	5      output on gpu                       3  output on gpu
func Renumber(f *ir.Func, repeat *ir.Node, end int) {
	number, backend, before := -1, "", NoSplit // of the node before; before is its old split
	for _, n := range f.Nodes {
		if !DoesWork(n) {
			n.Split = max(number, 0)
			continue
		}
		own := hasOwnSplits(n)
		cut := n.Split != NoSplit && before != NoSplit && n.Split != before
		if number < 0 || own || n.Backend != backend || cut {
			number++
		}
		if backend = n.Backend; own {
			backend = "" // the next node begins a split
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

// hasOwnSplits reports whether the body of n has splits of its own: it works on another backend than n, or on several.
func hasOwnSplits(n *ir.Node) bool {
	if n.Body == nil {
		return false
	}
	last := lastWork(n.Body)
	return last != nil && (last.Backend != n.Backend || inSeveralSplits(n.Body))
}

// lastSplitOf returns the last split of n and the nodes of its body.
func lastSplitOf(n *ir.Node) int {
	last := n.Split
	if n.Body != nil {
		for _, inner := range n.Body.Nodes {
			last = max(last, lastSplitOf(inner))
		}
	}
	return last
}

// inSeveralSplits reports whether the nodes of a body are in several splits.
func inSeveralSplits(f *ir.Func) bool {
	first := slices.IndexFunc(f.Nodes, DoesWork)
	return first >= 0 && f.Nodes[first].Split != SplitAtEnd(f, lastWork(f).Backend)
}

// moveSplits shifts the splits of a body so that they begin at number.
func moveSplits(f *ir.Func, number int) {
	first := slices.IndexFunc(f.Nodes, DoesWork)
	if first < 0 {
		return
	}
	by := number - f.Nodes[first].Split
	for _, n := range f.Nodes {
		if n.Split = max(n.Split+by, number); n.Body != nil {
			moveSplits(n.Body, n.Split)
		}
	}
}

// lastWork returns the last node of f that does work, or nil.
func lastWork(f *ir.Func) *ir.Node {
	for _, n := range slices.Backward(f.Nodes) {
		if DoesWork(n) {
			return n
		}
	}
	return nil
}

// SplitAtEnd returns the split of a node that is appended to f, on that backend.
func SplitAtEnd(f *ir.Func, backend string) int {
	last := lastWork(f)
	switch {
	case last == nil:
		return 0
	case last.Backend == backend && !hasOwnSplits(last):
		return last.Split
	}
	return lastSplitOf(last) + 1
}

// LastSplitIn returns the split of the last node of a group that does work; NoSplit if none does.
func LastSplitIn(group []*ir.Node) int {
	for _, n := range slices.Backward(group) {
		if DoesWork(n) {
			return n.Split
		}
	}
	return NoSplit
}

// NumberBodies numbers the splits of each entry point with bodies consecutively, those of the bodies included.
func NumberBodies(m *ir.Module) {
	for _, f := range m.Funcs {
		if slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Body != nil }) {
			Renumber(f, nil, NoSplit)
		}
	}
}

// Splits returns the splits of an entry point, bodies included, with the values that are copied into each and the cause
// for which each begins.
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

// noteSplit adds what n contributes to its split.
func noteSplit(splits []ir.Split, n *ir.Node) []ir.Split {
	for len(splits) <= n.Split {
		splits = append(splits, ir.Split{})
	}
	s := &splits[n.Split]
	s.Backend = n.Backend
	if IsTransfer(n) || IsSplitInput(n) {
		s.Inputs = append(s.Inputs, n.Args[0].Name())
	}
	if s.Cause.Rule == "" {
		s.Cause = splitCause(n)
	}
	return splits
}

// splitCause returns the cause for which a split begins at n; the zero cause if none does.
func splitCause(n *ir.Node) ir.Cause {
	c, _ := n.FirstCause(func(by, rule string) bool { return by == "split" || rule == string(pass.RuleCopyOut) })
	return c
}
