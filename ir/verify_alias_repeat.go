package ir

import "slices"

// namedInBodies checks that no body in f names a state that f overwrites, itself or in a body: w has what
// it overwrites. Such a state is an operand of the repeat, which says what version each iteration reads.
func (v *verifier) namedInBodies(f *Func, w versions) {
	for _, n := range f.Nodes {
		if n.Body == nil {
			continue
		}
		for _, leaf := range n.Body.Nodes {
			a, ok := leaf.Attr.(*StateAttr)
			if !ok {
				continue
			}
			v.f, v.node = n.Body, leaf
			by := w[stateVersion{a.Name}]
			v.must(by == nil, "alias", "the body names state %q, which %v overwrites: let the state be an operand of the repeat, carried if the body overwrites it", a.Name, by)
		}
		v.namedInBodies(n.Body, w)
	}
}

// iterations checks that no iteration of a repeat reads, through whatever parameter, bytes that
// an iteration before has overwritten, or that it has overwritten itself. inner is what the body
// overwrites.
func (v *verifier) iterations(n *Node, a *RepeatAttr, inner versions) {
	if slices.Contains(n.Args, nil) || len(n.Body.Results) != a.Carried || slices.Contains(n.Body.Results, nil) {
		return // reported where types are checked
	}
	it := &iterations{verifier: v, n: n, a: a, read: readParams(n.Body), overwritten: make([]bool, len(n.Body.Params)),
		gone: make(map[any]int64), pairs: make(map[[2]int]bool)}
	for i, p := range n.Body.Params {
		it.overwritten[i] = inner[p] != nil
	}
	if fixed := it.overwritten[a.Carried:]; slices.Contains(fixed[:a.Invariant], true) || !slices.Contains(it.overwritten, true) {
		return // overwriteInside reports invariants
	}
	it.begin()
	for i := range it.distinct() {
		if it.table(i); !it.stale(i) || !it.twice(i) {
			return
		}
		it.next(i)
	}
}

// iterations follows which versions the parameters of a body have.
type iterations struct {
	*verifier
	n           *Node
	a           *RepeatAttr
	read        []bool // by parameter: the body reads it
	overwritten []bool // by parameter: the body overwrites its bytes
	bytes       []any  // by parameter: the version that it has in this iteration

	gone  map[any]int64   // versions that are overwritten, and the iteration that did it
	pairs map[[2]int]bool // parameters that may have the same bytes, or not; see right
}

// iterationVersion is the version of bytes that an iteration has made.
type iterationVersion struct {
	val       *Value
	iteration int64
}

// readParams returns which parameters nodes or results of f read.
func readParams(f *Func) []bool {
	read := make([]bool, len(f.Params))
	note := func(val *Value) {
		if val != nil && val.Def == nil && val.Index >= 0 && val.Index < len(read) {
			read[val.Index] = true
		}
	}
	for _, n := range f.Nodes {
		for _, arg := range n.Args {
			note(arg)
		}
	}
	for _, r := range f.Results {
		note(r)
	}
	return read
}

// distinct returns how many iterations differ: of those without tables the first few, in which
// carried values may have changed places.
func (it *iterations) distinct() int64 {
	if len(it.n.Args) > it.a.Carried+it.a.Invariant {
		return it.a.Count
	}
	return min(it.a.Count, int64(it.a.Carried)+2)
}

// begin sets the versions of carried values and invariants in the first iteration.
func (it *iterations) begin() {
	it.bytes = make([]any, len(it.n.Body.Params))
	for i := range it.a.Carried + it.a.Invariant {
		it.bytes[i] = it.version(it.n.Args[i])
	}
}

// table sets the versions of the tables' entries of iteration i.
func (it *iterations) table(i int64) {
	fixed := it.a.Carried + it.a.Invariant
	for p := fixed; p < len(it.bytes); p++ {
		it.bytes[p] = it.version(it.n.Args[int64(fixed)+int64(p-fixed)*it.a.Count+i])
	}
}

// stale reports whether iteration i reads nothing that one before has overwritten.
func (it *iterations) stale(i int64) (ok bool) {
	for p, bytes := range it.bytes {
		if by, gone := it.gone[bytes]; gone && it.read[p] {
			it.fail("alias", "iteration %d reads %v, whose bytes iteration %d has overwritten: let each iteration have a state of its own", i, it.operand(p, i), by)
			return false
		}
	}
	return true
}

// twice reports whether the body is right in iteration i where two parameters have the same
// bytes and it overwrites them.
func (it *iterations) twice(i int64) (ok bool) {
	first := make(map[any]int, len(it.bytes))
	for p, bytes := range it.bytes {
		q, met := first[bytes]
		if !met {
			first[bytes] = p
			continue
		}
		if (it.overwritten[p] || it.overwritten[q]) && !it.right(q, p) {
			it.fail("alias", "iteration %d reads %v as %v and as %v after it has overwritten its bytes: let it be one parameter", i, it.operand(p, i), it.n.Body.Params[q], it.n.Body.Params[p])
			return false
		}
	}
	return true
}

// right reports whether the body reads only what it has not overwritten where parameters p and
// q have the same bytes.
func (it *iterations) right(p, q int) bool {
	right, known := it.pairs[[2]int{p, q}]
	if !known {
		params := it.n.Body.Params
		v := &verifier{m: it.m, symbols: it.symbols, same: map[*Value]*Value{params[q]: params[p]}}
		v.aliases(it.n.Body)
		right = len(v.found) == 0
		it.pairs[[2]int{p, q}] = right
	}
	return right
}

// operand returns what parameter p has in iteration i; of carried values, at first.
func (it *iterations) operand(p int, i int64) *Value {
	if fixed := it.a.Carried + it.a.Invariant; p >= fixed {
		return it.n.Args[int64(fixed)+int64(p-fixed)*it.a.Count+i]
	}
	return it.n.Args[p]
}

// next notes what iteration i has overwritten, and hands on what is carried.
func (it *iterations) next(i int64) {
	for p, overwritten := range it.overwritten {
		if overwritten {
			it.gone[it.bytes[p]] = i
		}
	}
	carried := make([]any, it.a.Carried)
	for p, r := range it.n.Body.Results {
		carried[p] = it.handed(r, i)
	}
	copy(it.bytes, carried)
}

// handed returns the version that result r of iteration i has.
func (it *iterations) handed(r *Value, i int64) any {
	switch at := it.inBody(r).(type) {
	case *Value:
		if at.Def == nil && at.Index >= 0 && at.Index < len(it.bytes) {
			return it.bytes[at.Index]
		}
		return iterationVersion{at, i}
	default:
		return at
	}
}

// inBody is version for a value of the body.
func (it *iterations) inBody(val *Value) any {
	defer func(f *Func) { it.f = f }(it.f)
	it.f = it.n.Body
	return it.version(val)
}
