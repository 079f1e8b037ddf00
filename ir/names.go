package ir

import "sync/atomic"

// names finds members of a list by name, where there are many. The list may grow, and
// members keep their names.
type names struct {
	index atomic.Pointer[map[string]int]
}

// fewNames is how many members are looked through without an index.
const fewNames = 16

// indexNamed returns the index of the member of that name, or -1. It may be called by several
// goroutines while nobody changes the list.
func indexNamed[T any](x *names, list []*T, name string, nameOf func(*T) string) int {
	if index := x.index.Load(); index != nil {
		if i, ok := (*index)[name]; ok && i < len(list) && nameOf(list[i]) == name {
			return i
		}
	}
	// What was added lately stands at the end.
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
