package ir

// Uses returns, for every value id of f, the nodes that read the value, in order; a node
// that reads it twice is listed once. Results of the function are not uses.
func Uses(f *Func) [][]*Node {
	uses := make([][]*Node, f.NumValues())
	for _, n := range f.Nodes {
		for _, a := range n.Args {
			if a == nil {
				continue
			}
			if u := uses[a.ID]; len(u) == 0 || u[len(u)-1] != n {
				uses[a.ID] = append(u, n)
			}
		}
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
