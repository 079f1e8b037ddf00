package ir

import "sync/atomic"

// known is what a [Verifier] knows of a function: names of values, by id, which differ from
// each other, and where weights are. The tables are kept besides, as they are as long each
// time.
type known struct {
	names []string       // of values, when they were verified last
	owner map[string]int // the id that has a name, if that id still has it

	// weights are the indexes of the weights that nodes named last, by the node's id: where to
	// look first.
	weights []int32

	met     []atomic.Bool           // nodes, by id
	defined []atomic.Pointer[Value] // by id
	from    []atomic.Int32          // by id: 1 + the number of the first node that may read a value
}

// start makes room for the values and nodes of f, of which none was met yet.
func (k *known) start(f *Func) {
	values, nodes := f.NumValues(), f.NumNodes()
	k.names, k.weights = longer(k.names, values), longer(k.weights, nodes)
	k.met, k.defined, k.from = cleared(k.met, nodes), cleared(k.defined, values), cleared(k.from, values)
}

// longer returns s with room for n elements at least.
func longer[T any](s []T, n int) []T {
	if more := n - len(s); more > 0 {
		return append(s, make([]T, more)...)
	}
	return s
}

// cleared returns n zero elements, those of s if it has as many.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, n+n/8) // functions grow a little with most passes
	}
	s = s[:n]
	clear(s)
	return s
}

// renamed reports whether the name of a value is not what it was, and takes note of it: take
// is to be asked then, when all values have been met.
func (k *known) renamed(id int, name string) bool {
	if k.names[id] == name && name != "" {
		return false
	}
	k.names[id] = name
	return true
}

// take reports whether the names of ids, which were renamed, differ from all others and from
// the empty one. Those of other ids did so before. Afterwards whoever k.names gives a name is
// its owner: a value that was taken away and comes back under a name that another one has taken
// meanwhile counts as renamed.
func (k *known) take(ids []int) bool {
	if k.owner == nil {
		k.owner = make(map[string]int, len(ids))
	}
	for _, id := range ids {
		name := k.names[id]
		if other, used := k.owner[name]; used && other != id && k.names[other] == name {
			if other < len(k.defined) && k.defined[other].Load() != nil {
				return false
			}
			k.names[other] = ""
		}
		if name == "" {
			return false
		}
		k.owner[name] = id
	}
	return true
}

// inferred does what verifier.inferred does, and looks first for the weight that a node named the
// last time.
func (k *known) inferred(v *verifier, n *Node) {
	if n.Op != OpWeight {
		v.inferred(n)
		return
	}
	if last := int(k.weights[n.ID]); last > 0 {
		v.nextWeight = last - 1
	}
	v.inferred(n)
	k.weights[n.ID] = int32(v.nextWeight)
}
