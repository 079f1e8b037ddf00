package ir

// Uses returns, for every value id of f, the nodes that read the value, in order; a node
// that reads it twice is listed once. Results of the function are not uses.
func Uses(f *Func) [][]*Node { return UsesAmong(f, nil) }

// UsesAmong is Uses for some values alone, by id; nil is all.
func UsesAmong(f *Func, among []bool) [][]*Node {
	type read struct{ value, reader int32 }
	reads := make([]read, 0, len(f.Nodes))
	last := make([]int32, f.NumValues()) // that read a value, counted from 1
	ends := make([]int32, f.NumValues()) // of the lists in all: first their lengths
	for at, n := range f.Nodes {         // once: operands lie all over memory
		for _, a := range n.Args {
			if a != nil && (among == nil || among[a.ID]) && last[a.ID] != int32(at+1) {
				last[a.ID] = int32(at + 1)
				ends[a.ID]++
				reads = append(reads, read{int32(a.ID), int32(at)})
			}
		}
	}
	sum := int32(0)
	for i, n := range ends {
		ends[i], sum = sum, sum+n
	}
	all := make([]*Node, sum)
	for _, r := range reads {
		all[ends[r.value]] = f.Nodes[r.reader]
		ends[r.value]++
	}
	uses, start := make([][]*Node, len(ends)), int32(0)
	for i, end := range ends {
		if end > start {
			uses[i] = all[start:end:end]
		}
		start = end
	}
	return uses
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
