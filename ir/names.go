package ir

import "sync/atomic"

// names is an index of a list of members by name, for long lists. Members may be appended to the list,
// and must not be renamed.
type names struct {
	index atomic.Pointer[map[string]int]
	next  atomic.Int64 // index after that of the last member found: a graph uses most members in their order
}

// fewNames is the number of members that are searched without an index.
const fewNames = 16

// indexNamed returns the index of the member of that name, or -1. Several goroutines may call it while
// the list does not change.
func indexNamed[T any](x *names, list []*T, name string, nameOf func(*T) string) int {
	if i := int(x.next.Load()); i < len(list) && nameOf(list[i]) == name {
		x.next.Store(int64(i + 1))
		return i
	}
	if index := x.index.Load(); index != nil {
		if i, ok := (*index)[name]; ok && i < len(list) && nameOf(list[i]) == name {
			x.next.Store(int64(i + 1))
			return i
		}
	}
	// Search members that were added after the index was built. They are at the end.
	for i := len(list) - 1; i >= 0; i-- {
		if nameOf(list[i]) != name {
			continue
		}
		if len(list)-i > fewNames {
			x.build(len(list), func(i int) string { return nameOf(list[i]) })
		}
		return i
	}
	return -1
}

func (x *names) build(n int, nameAt func(int) string) {
	index := make(map[string]int, n)
	for i := range n {
		index[nameAt(i)] = i
	}
	x.index.Store(&index)
}
