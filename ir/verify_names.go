package ir

import (
	"hash/maphash"
	"sync/atomic"
)

// known is what a [Verifier] knows of a function: names of values, by id, which differ from
// each other, and where weights are. The tables are kept besides, as they are as long each
// time.
type known struct {
	names  []string  // of values, when they were verified last
	owners nameTable // of names

	// weights are the indexes of the weights that nodes named last, by the node's id: where to
	// look first.
	weights []int32

	met     []atomic.Bool           // nodes, by id
	defined []atomic.Pointer[Value] // by id
	from    []atomic.Int32          // by id: 1 + the number of the first node that may read a value
	pieces  []piece
}

// emptyPieces returns so many pieces of which nothing is noted.
func (k *known) emptyPieces(n int) []piece {
	k.pieces = longer(k.pieces, n)[:n]
	for i := range k.pieces {
		p := &k.pieces[i]
		*p = piece{renamed: p.renamed[:0], later: p.later[:0], bodies: p.bodies[:0], submitted: p.submitted[:0]}
	}
	return k.pieces
}

// start makes room for the values and nodes of f, of which none was met yet.
func (k *known) start(f *Func) {
	values, nodes := f.NumValues(), f.NumNodes()
	k.names, k.weights = longer(k.names, values), longer(k.weights, nodes)
	k.met, k.defined, k.from = cleared(k.met, nodes), cleared(k.defined, values), cleared(k.from, values)
}

// longer returns s with room for n elements at least.
func longer[T any](s []T, n int) []T {
	if n <= cap(s) {
		return s[:max(n, len(s))]
	}
	more := make([]T, n, withGrowth(n))
	copy(more, s)
	return more
}

// withGrowth returns for how many elements there is to be room where there are n: copies and other
// forms of values may make a function a third longer.
func withGrowth(n int) int { return n + n/3 }

// cleared returns n zero elements, those of s if it has as many.
func cleared[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n, withGrowth(n))
	}
	s = s[:n]
	clear(s)
	return s
}

// renamed reports whether the name of a value is not what it was: take is to be asked then, when all
// values have been met.
func (k *known) renamed(val *Value) bool {
	return val.Name == "" || k.names[val.ID] != val.Name
}

// take gives the values of ids, in several lists, the names that they have now, and reports whether
// these differ from all others and from the empty one. Those of other ids did so before. Afterwards
// whoever k.names gives a name is its owner: a value that was taken away and comes back under a name
// that another one has taken meanwhile counts as renamed.
func (k *known) take(lists [][]int32) bool {
	count := 0
	for _, ids := range lists {
		count += len(ids)
	}
	k.owners.reserve(count, k.names) // while owners have their names
	for _, ids := range lists {
		for _, id := range ids {
			k.names[id] = k.defined[id].Load().Name
		}
	}
	for _, ids := range lists {
		for _, id := range ids {
			if !k.own(int(id)) {
				return false
			}
		}
	}
	return true
}

// own makes the value of an id the owner of the name that it has, and reports whether it may be.
func (k *known) own(id int) bool {
	name := k.names[id]
	if name == "" {
		return false
	}
	other := k.owners.put(id, k.names)
	if other == id {
		return true
	}
	if other < len(k.defined) && k.defined[other].Load() != nil {
		return false
	}
	k.names[other] = ""
	return true
}

// nameTable finds the members of a list of names. It does not hold the names, so that it takes a
// tenth of the memory of a map. The zero value is empty.
type nameTable struct {
	slots []int32 // 1 + index in the list; 0 is free. A power of two of them, of which most are
	used  int
}

// reserve makes room for so many members more. Names that have changed since they were put there are
// no longer found then.
func (t *nameTable) reserve(more int, names []string) {
	if 2*(t.used+more) <= len(t.slots) {
		return
	}
	old, size := t.slots, 64
	for size < 2*(t.used+more) {
		size *= 2
	}
	t.slots, t.used = make([]int32, size), 0
	for _, s := range old {
		if s != 0 {
			t.put(int(s-1), names)
		}
	}
}

// put makes member i the one that is found by its name, and returns the one that was until now: i
// where there was none. Room for it has been reserved.
func (t *nameTable) put(i int, names []string) (before int) {
	mask, there := uint64(len(t.slots)-1), false
	for h := maphash.String(nameSeed, names[i]); ; h++ {
		s := &t.slots[h&mask]
		switch at := int(*s) - 1; {
		case at < 0 && there:
			return i
		case at < 0:
			t.used++
			*s = int32(i + 1)
			return i
		case at == i: // maybe for a name that it had before: another member may have this one
			there = true
		case names[at] == names[i]:
			*s = int32(i + 1)
			return at
		}
	}
}

var nameSeed = maphash.MakeSeed()

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
