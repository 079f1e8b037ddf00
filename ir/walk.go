package ir

// UseLists are the readers of each value of a function, as of the call of Uses.
type UseLists struct {
	ends  []int32 // of each value's readers in the list, by id; those of the value before are in front
	users []*Node
}

// Of returns the nodes that read v, in order. A node that reads it twice is listed once. The results of
// the function are not included.
func (u *UseLists) Of(v *Value) []*Node {
	if v.ID >= len(u.ends) {
		return nil
	}
	start, end := int32(0), u.ends[v.ID]
	if v.ID > 0 {
		start = u.ends[v.ID-1]
	}
	return u.users[start:end:end]
}

// Uses returns the readers of all values of f.
func Uses(f *Func) *UseLists { return UsesAmong(f, nil) }

// UsesAmong is Uses for the values whose ids are set in among; nil means all.
func UsesAmong(f *Func, among []bool) *UseLists {
	type read struct{ value, reader int32 }
	reads := make([]read, 0, numArgs(f))
	last := make([]int32, f.NumValues()) // that read a value, counted from 1
	at := make([]int32, f.NumValues())   // where the lists begin: first their lengths
	for pos, n := range f.Nodes {        // once: operands lie all over memory
		for _, a := range n.Args {
			if a != nil && (among == nil || among[a.ID]) && last[a.ID] != int32(pos+1) {
				last[a.ID] = int32(pos + 1)
				at[a.ID]++
				reads = append(reads, read{int32(a.ID), int32(pos)})
			}
		}
	}
	sum := int32(0)
	for i, n := range at {
		at[i], sum = sum, sum+n
	}
	users := make([]*Node, sum)
	for _, r := range reads {
		users[at[r.value]] = f.Nodes[r.reader]
		at[r.value]++ // at last the list's end
	}
	return &UseLists{at, users}
}

// numArgs returns the number of operands of the nodes of f, including absent ones.
func numArgs(f *Func) (sum int) {
	for _, n := range f.Nodes {
		sum += len(n.Args)
	}
	return sum
}

// Replace replaces old by new in all nodes and results of its function.
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

// Positions returns the index in the order of each node, by id; -1 for an id that is not in the order.
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
