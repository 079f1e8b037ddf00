package ir

import "slices"

// Checks that no node reads bytes after a later version was written there.
//
// A view names the bytes of its operand. The result of an Alias op is the next version of its
// operand, at the same bytes. In
//
//	%s  = state "k"
//	%v  = slice %s {axis=2, start=0, len=4}
//	%s1 = state_write %s, %x, %slot, %pos
//	%y  = matmul %q, %v                      // error: reads the bytes of %s1
//
// the version of %s and %v is gone after the state_write. A versionWalk visits nodes in order
// of execution, keeps the set of versions that are gone and checks each operand against it. A node that
// runs a body or another function overwrites what that overwrites.

// versions checks all functions.
func (v *verifier) versions() {
	if !v.writes {
		return
	}
	walks := make(versionWalks)
	for _, f := range v.m.Funcs {
		before := len(v.found)
		w := walks.of(v, f)
		if len(v.found) == before {
			v.namedInBodies(f, w.gone)
		}
	}
	v.f, v.node = nil, nil
}

// versionWalks are the walks over entry points. Callers look up what a callee overwrites.
type versionWalks map[*Func]*versionWalk

// of returns the walk over f. The first call checks f.
func (walks versionWalks) of(v *verifier, f *Func) *versionWalk {
	w := walks[f]
	if w == nil {
		w = v.walkVersions(f, walks, nil)
		walks[f] = w
	}
	return w
}

// version identifies bytes between two writes. It is a *Value, at which the chain of views ends,
// a stateVersion or an iterationVersion.
type version any

// stateVersion is the version of a state when the call starts: all nodes that name the state read it.
type stateVersion struct{ name string }

// overwritten maps each version that is gone to the node that has overwritten its bytes.
type overwritten map[version]*Node

// versionWalk visits the nodes of a function in order of execution.
type versionWalk struct {
	*verifier
	walks versionWalks
	of    map[*Value]version // versions of values; an absent value is its own version
	gone  overwritten
}

// walkVersions checks f and the bodies in it. A parameter that is a key of same has the bytes of
// the value there.
func (v *verifier) walkVersions(f *Func, walks versionWalks, same map[*Value]*Value) *versionWalk {
	w := &versionWalk{verifier: v, walks: walks, of: make(map[*Value]version), gone: make(overwritten)}
	for p, q := range same {
		w.of[p] = q
	}
	for _, n := range f.Nodes {
		v.f, v.node = f, n
		for _, a := range n.Args {
			if a != nil {
				w.read(n, a)
			}
		}
		w.define(n)
		w.write(n)
		if n.Body != nil {
			inner := v.walkVersions(n.Body, walks, nil)
			v.f, v.node = f, n
			w.writeInside(n, inner)
		}
		if a, ok := n.Attr.(*CallAttr); ok {
			w.call(n, v.m.Func(a.Func))
		}
	}
	v.f, v.node = f, "return"
	for _, r := range f.Results {
		w.read(nil, r)
	}
	return w
}

// version returns the version of a value.
func (w *versionWalk) version(val *Value) version {
	if at, ok := w.of[val]; ok {
		return at
	}
	return val
}

// read checks that no node other than the reader has overwritten a value. The reader is nil for a
// function's result.
func (w *versionWalk) read(reader *Node, val *Value) {
	if by := w.gone[w.version(val)]; by != nil && by != reader {
		w.fail("alias", "%v is read after %v has overwritten its bytes: read the result of %[2]v instead, or %[1]v before it", val, by)
	}
}

// define sets the version of a view or state.
func (w *versionWalk) define(n *Node) {
	r := n.Result()
	if r == nil {
		return
	}
	if a, ok := n.Attr.(*StateAttr); ok && n.Op == OpState {
		w.of[r] = stateVersion{a.Name}
	}
	if source := r.Source(); source != nil && n.Is(View) {
		w.of[r] = w.version(source)
	}
}

// write records the version that n overwrites, if it is an Alias op.
func (w *versionWalk) write(n *Node) {
	info := n.Op.Info()
	if old := n.Arg(info.AliasArg); old != nil && info.Traits&Alias != 0 {
		w.overwrite(n, old)
	}
}

// overwrite records that n overwrites the bytes of a value, which must not be a weight.
func (w *versionWalk) overwrite(n *Node, old *Value) {
	at := w.version(old)
	if owner, ok := at.(*Value); ok && owner.Def != nil {
		constant := owner.Def.Op == OpWeight || owner.Def.Op == OpConstant
		w.must(!constant, "alias", "%v is a weight and cannot be written", old)
	}
	w.gone[at] = n
}

// call records the versions of operands that the callee of n overwrites, and checks operands with the
// same bytes. A state that the callee names itself is not looked at: its versions are not those of the
// caller.
func (w *versionWalk) call(n *Node, callee *Func) {
	if callee == nil || len(callee.Params) != len(n.Args) || slices.Contains(n.Args, nil) {
		return // reported where types are inferred
	}
	f := w.f
	inner := w.walks.of(w.verifier, callee)
	w.f, w.node = f, n
	first := make(map[version]int, len(n.Args))
	for p, arg := range n.Args {
		at := w.version(arg)
		q, met := first[at]
		if !met {
			first[at] = p
			continue
		}
		written := inner.gone[callee.Params[p]] != nil || inner.gone[callee.Params[q]] != nil
		if written && !w.sharable(callee, q, p) {
			w.fail("alias", "@%s reads %v as %v and as %v after it has overwritten its bytes: let it be one parameter", quoteName(callee.Name), arg, callee.Params[q], callee.Params[p])
		}
	}
	for p, arg := range n.Args {
		if inner.gone[callee.Params[p]] != nil {
			w.overwrite(n, arg)
		}
	}
}

// sharable reports whether parameters p and q of a body or callee may have the same bytes: it then reads
// only versions that it has not overwritten.
func (w *versionWalk) sharable(f *Func, p, q int) bool {
	v := &verifier{m: w.m}
	v.walkVersions(f, make(versionWalks), map[*Value]*Value{f.Params[q]: f.Params[p]})
	return len(v.found) == 0
}
