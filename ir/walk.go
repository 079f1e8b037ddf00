package ir

// Uses returns, for every value id of f, the nodes that read the value, in order; a node
// that reads it twice is listed once. Results of the function are not uses.
func Uses(f *Func) [][]*Node {
	ends := make([]int32, f.NumValues()) // of the lists in all: first their lengths
	eachUse(f, func(v *Value, _ *Node) { ends[v.ID]++ })
	sum := int32(0)
	for i, n := range ends {
		ends[i], sum = sum, sum+n
	}
	all := make([]*Node, sum)
	eachUse(f, func(v *Value, n *Node) {
		all[ends[v.ID]] = n
		ends[v.ID]++
	})
	uses, start := make([][]*Node, len(ends)), int32(0)
	for i, end := range ends {
		if end > start {
			uses[i] = all[start:end:end]
		}
		start = end
	}
	return uses
}

// eachUse calls yield for each operand of each node in order, once for each node.
func eachUse(f *Func, yield func(*Value, *Node)) {
	readers := make([]int32, f.NumValues()) // the last node that read a value, counted from 1
	for at, n := range f.Nodes {
		for _, a := range n.Args {
			if a != nil && readers[a.ID] != int32(at+1) {
				readers[a.ID] = int32(at + 1)
				yield(a, n)
			}
		}
	}
}

// Replace makes every reader of old in its function read new, results included.
func Replace(old, new *Value) {
	f := old.Func
	for _, n := range f.Nodes {
		for i, a := range n.Args {
			if a == old {
				n.Args[i] = new
			}
		}
	}
	for i, r := range f.Results {
		if r == old {
			f.Results[i] = new
		}
	}
}

// Positions returns each node's index in the order, by node id; -1 for ids not in it.
func Positions(f *Func) []int {
	pos := make([]int, f.NumNodes())
	for i := range pos {
		pos[i] = -1
	}
	for i, n := range f.Nodes {
		pos[n.ID] = i
	}
	return pos
}
