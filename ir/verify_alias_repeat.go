package ir

import "slices"

// Checks of repeats whose body overwrites what it gets from outside.

// namedInBodies checks that no body in f names a state that f overwrites, itself or in a body. Such
// a state has to be an operand of the repeat, which determines the version that each iteration reads.
func (v *verifier) namedInBodies(f *Func, gone overwritten) {
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
			by := gone[stateVersion{a.Name}]
			v.must(by == nil, "alias", "the body names state %q, which %v overwrites: let the state be an operand of the repeat, carried if the body overwrites it", a.Name, by)
		}
		v.namedInBodies(n.Body, gone)
	}
}

// writeInside records the versions that the body of n overwrites: those of operands and of states
// that the body names. An invariant must not be among them, as the next iteration reads it again.
func (w *versionWalk) writeInside(n *Node, inner *versionWalk) {
	a, ok := n.Attr.(*RepeatAttr)
	if !ok {
		return
	}
	if tables, ok := a.Tables(len(n.Args)); !ok || a.Carried+a.Invariant+tables != len(n.Body.Params) {
		return // reported where types are inferred
	}
	if len(inner.gone) > 0 {
		w.iterations(n, a, inner)
	}
	for gone := range inner.gone {
		if state, named := gone.(stateVersion); named {
			w.gone[state] = n
		}
	}
	for i, arg := range n.Args {
		p := repeatParam(a, i)
		if arg == nil || inner.gone[n.Body.Params[p]] == nil {
			continue
		}
		invariant := p >= a.Carried && p < a.Carried+a.Invariant
		w.must(!invariant, "alias", "the body overwrites the invariant %v, which the next iteration reads", arg)
		w.overwrite(n, arg)
	}
}

// iterations checks that no iteration of a repeat reads bytes that an earlier iteration, or the same
// one through another parameter, has overwritten. In
//
//	%y, %a, %b = repeat %x, %s, %t {count=3, carried=3}
//	body @b(%y, %p, %q) {
//	  %p1 = state_write %p, …
//	  %z  = attention …, %q
//	  return %z, %q, %p1
//	}
//
// the carried values %p and %q change places: iteration 0 overwrites %s and reads %t, iteration 1
// overwrites %t and reads the version that iteration 0 has written. So the versions of all parameters
// are followed from iteration to iteration. inner is the walk over the body.
func (w *versionWalk) iterations(n *Node, a *RepeatAttr, inner *versionWalk) {
	if slices.Contains(n.Args, nil) || len(n.Body.Results) != a.Carried || slices.Contains(n.Body.Results, nil) {
		return // reported where types are inferred
	}
	it := &iterations{
		versionWalk: w, n: n, a: a, inner: inner,
		read:        readParams(n.Body),
		overwritten: make([]bool, len(n.Body.Params)),
		overwrote:   make(map[version]int64),
		pairs:       make(map[[2]int]bool),
	}
	for i, p := range n.Body.Params {
		it.overwritten[i] = inner.gone[p] != nil
	}
	if fixed := it.overwritten[a.Carried:]; slices.Contains(fixed[:a.Invariant], true) || !slices.Contains(it.overwritten, true) {
		return // writeInside reports invariants
	}
	it.begin()
	for i := range it.distinct() {
		it.table(i)
		if !it.readsCurrent(i) || !it.readsTwiceWell(i) {
			return
		}
		it.next(i)
	}
}

// iterations follows the versions of a body's parameters over the iterations of a repeat.
type iterations struct {
	*versionWalk
	n     *Node
	a     *RepeatAttr
	inner *versionWalk // over the body

	// By parameter.
	read        []bool    // the body reads it
	overwritten []bool    // the body overwrites its bytes
	now         []version // its version in the current iteration

	overwrote map[version]int64 // the versions that are gone, with the iteration that has overwritten them
	pairs     map[[2]int]bool   // results of pairSharable
}

// iterationVersion is a version that an iteration has written.
type iterationVersion struct {
	val       *Value // of the body
	iteration int64
}

// readParams returns, by parameter, whether nodes or results of f read it.
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

// distinct returns how many iterations have to be looked at. With tables each one has operands of its
// own. Without tables only carried values differ. Carried values that change places have done so after as many
// iterations as there are carried values.
func (it *iterations) distinct() int64 {
	if len(it.n.Args) > it.a.Carried+it.a.Invariant {
		return it.a.Count
	}
	return min(it.a.Count, int64(it.a.Carried)+2)
}

// begin sets the versions of carried values and invariants in the first iteration.
func (it *iterations) begin() {
	it.now = make([]version, len(it.n.Body.Params))
	for i := range it.a.Carried + it.a.Invariant {
		it.now[i] = it.version(it.n.Args[i])
	}
}

// table sets the versions of the tables' entries of iteration i.
func (it *iterations) table(i int64) {
	for p := it.a.Carried + it.a.Invariant; p < len(it.now); p++ {
		it.now[p] = it.version(it.operand(p, i))
	}
}

// readsCurrent checks that iteration i reads nothing that an earlier iteration has overwritten.
func (it *iterations) readsCurrent(i int64) (ok bool) {
	for p, at := range it.now {
		if by, gone := it.overwrote[at]; gone && it.read[p] {
			it.fail("alias", "iteration %d reads %v, whose bytes iteration %d has overwritten: let each iteration have a state of its own", i, it.operand(p, i), by)
			return false
		}
	}
	return true
}

// readsTwiceWell checks iteration i where two parameters have the same bytes and the body overwrites
// them: it must not read them through the other parameter afterwards.
func (it *iterations) readsTwiceWell(i int64) (ok bool) {
	first := make(map[version]int, len(it.now))
	for p, at := range it.now {
		q, met := first[at]
		if !met {
			first[at] = p
			continue
		}
		if (it.overwritten[p] || it.overwritten[q]) && !it.pairSharable(q, p) {
			it.fail("alias", "iteration %d reads %v as %v and as %v after it has overwritten its bytes: let it be one parameter", i, it.operand(p, i), it.n.Body.Params[q], it.n.Body.Params[p])
			return false
		}
	}
	return true
}

// pairSharable is sharable for parameters of the body, with remembered results.
func (it *iterations) pairSharable(p, q int) bool {
	ok, known := it.pairs[[2]int{p, q}]
	if !known {
		ok = it.sharable(it.n.Body, p, q)
		it.pairs[[2]int{p, q}] = ok
	}
	return ok
}

// operand returns the operand that parameter p gets in iteration i; for a carried value, in the first.
func (it *iterations) operand(p int, i int64) *Value {
	if fixed := it.a.Carried + it.a.Invariant; p >= fixed {
		return it.n.Args[int64(fixed)+int64(p-fixed)*it.a.Count+i]
	}
	return it.n.Args[p]
}

// next records the versions that iteration i has overwritten and sets those of the carried values in
// the next one.
func (it *iterations) next(i int64) {
	for p, overwritten := range it.overwritten {
		if overwritten {
			it.overwrote[it.now[p]] = i
		}
	}
	carried := make([]version, it.a.Carried)
	for p, r := range it.n.Body.Results {
		carried[p] = it.result(r, i)
	}
	copy(it.now, carried)
}

// result returns the version of the body's result r after iteration i.
func (it *iterations) result(r *Value, i int64) version {
	at := it.inner.version(r)
	val, ok := at.(*Value)
	switch {
	case !ok:
		return at
	case val.Def == nil && val.Index >= 0 && val.Index < len(it.now):
		return it.now[val.Index]
	}
	return iterationVersion{val, i}
}
