package ir

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
// of execution, keeps the set of versions that are gone and checks each operand against it.

// versions checks all functions.
func (v *verifier) versions() {
	for _, f := range v.m.Funcs {
		before := len(v.found)
		w := v.walkVersions(f, nil)
		if len(v.found) == before {
			v.namedInBodies(f, w.gone)
		}
	}
	v.f, v.node = nil, nil
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
	of   map[*Value]version // versions of values; those that are absent are their own version
	gone overwritten
}

// walkVersions checks f and the bodies in it. A parameter that is a key of same has the bytes of
// the value there.
func (v *verifier) walkVersions(f *Func, same map[*Value]*Value) *versionWalk {
	w := &versionWalk{verifier: v, of: make(map[*Value]version), gone: make(overwritten)}
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
			inner := v.walkVersions(n.Body, nil)
			v.f, v.node = f, n
			w.writeInside(n, inner)
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
		w.fail("alias", "%v is read after %v has overwritten its bytes", val, by)
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
