package ir

import "slices"

// UseLists are the readers of each value of a function, as of the call of Uses.
type UseLists struct {
	readers [][]*Node // by value id
}

// Of returns the nodes that read v, in order. A node that reads it twice is listed once. The results of
// the function are not included.
func (u *UseLists) Of(v *Value) []*Node {
	if v.ID >= len(u.readers) {
		return nil
	}
	return slices.Clip(u.readers[v.ID])
}

// Uses returns the readers of all values of f.
func Uses(f *Func) *UseLists { return UsesAmong(f, nil) }

// UsesAmong is Uses for the values whose ids are set in among; nil means all.
func UsesAmong(f *Func, among []bool) *UseLists {
	readers := make([][]*Node, f.NumValues())
	for _, n := range f.Nodes {
		for _, a := range n.Args {
			if a == nil || among != nil && !among[a.ID] {
				continue
			}
			if list := readers[a.ID]; len(list) == 0 || list[len(list)-1] != n {
				readers[a.ID] = append(list, n)
			}
		}
	}
	return &UseLists{readers}
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
