package placement

// sets are disjoint sets of variables, as a forest: the entry of a variable is another member of its set, or itself.
type sets []int32

// newSets returns n sets of one variable each.
func newSets(n int) sets {
	s := make(sets, n)
	for i := range s {
		s[i] = int32(i)
	}
	return s
}

// find returns the member that represents the set of x. It shortens the path for later calls.
func (s sets) find(x int32) int32 {
	for s[x] != x {
		s[x] = s[s[x]]
		x = s[x]
	}
	return x
}

// separate reports whether no two of the variables are in the same set.
func (s sets) separate(xs []int32) bool {
	roots := make(map[int32]bool, len(xs))
	for _, x := range xs {
		roots[s.find(x)] = true
	}
	return len(roots) == len(xs)
}

// union makes one set of the sets of the variables.
func (s sets) union(xs []int32) {
	for _, x := range xs[1:] {
		s[s.find(x)] = s.find(xs[0])
	}
}
