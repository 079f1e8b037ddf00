package ir

// versions are the bytes that nodes have overwritten so far: who did, by what stands for the
// version that is gone, see version.
type versions map[any]*Node

// aliases checks f and the bodies in it, of which all else holds, and returns what f has
// overwritten at its end.
func (v *verifier) aliases(f *Func) versions {
	w := make(versions)
	for _, n := range f.Nodes {
		v.f, v.node = f, n
		for _, a := range n.Args {
			if a != nil {
				v.current(w, n, a)
			}
		}
		v.overwrite(w, n)
		if n.Body != nil {
			inner := v.aliases(n.Body)
			v.f, v.node = f, n
			v.overwriteInside(w, n, inner)
		}
	}
	v.f, v.node = f, "return"
	for _, r := range f.Results {
		v.current(w, nil, r)
	}
	return w
}

// current checks that nobody has overwritten what a node reads, which is nil for results.
func (v *verifier) current(w versions, reader *Node, val *Value) {
	if len(w) == 0 {
		return
	}
	if by := w[v.version(val)]; by != nil && by != reader {
		v.fail("alias", "%v is read after %v has overwritten its bytes", val, by)
	}
}

// stateVersion stands for the version that a state has when the call starts: all nodes
// that name the state read the same.
type stateVersion struct{ name string }

// version returns what stands for the bytes of val in one version: the value that its
// chain of views ends at, if it ends.
func (v *verifier) version(val *Value) any {
	for range v.f.NumNodes() {
		if val.Def == nil || val.Index != 0 || !val.Def.Is(View) || len(val.Def.Args) == 0 || val.Def.Args[0] == nil {
			break
		}
		val = val.Def.Args[0]
	}
	if same := v.same[val]; same != nil {
		return same
	}
	if val.Def != nil && val.Def.Op == OpState {
		if a, ok := val.Def.Attr.(*StateAttr); ok {
			return stateVersion{a.Name}
		}
	}
	return val
}

// overwrite records that n writes the next version of an operand.
func (v *verifier) overwrite(w versions, n *Node) {
	info := n.Op.Info()
	if info.Traits&Alias == 0 {
		return
	}
	old := n.Arg(info.AliasArg)
	if old == nil {
		return
	}
	v.must(!v.isWeight(old), "alias", "%v is a weight and cannot be written", old)
	w[v.version(old)] = n
}

// overwriteInside records the operands of a repeat whose bytes its body overwrites, and the states that
// it names itself and overwrites. An invariant must not be among them: the next round reads it again.
func (v *verifier) overwriteInside(w versions, n *Node, inner versions) {
	a, ok := n.Attr.(*RepeatAttr)
	if !ok {
		return
	}
	if tables, ok := a.Tables(len(n.Args)); !ok || a.Carried+a.Invariant+tables != len(n.Body.Params) {
		return // said where types are checked
	}
	if len(inner) > 0 {
		v.iterations(n, a, inner)
	}
	for gone := range inner {
		if state, named := gone.(stateVersion); named {
			w[state] = n
		}
	}
	for i, arg := range n.Args {
		p := repeatParam(a, i)
		if arg == nil || inner[n.Body.Params[p]] == nil {
			continue
		}
		invariant := p >= a.Carried && p < a.Carried+a.Invariant
		v.must(!invariant, "alias", "the body overwrites the invariant %v, which the next round reads", arg)
		v.must(!v.isWeight(arg), "alias", "%v is a weight and cannot be written", arg)
		w[v.version(arg)] = n
	}
}

// isWeight is Value.IsWeight for a value that may have its own bytes as its source.
func (v *verifier) isWeight(val *Value) bool {
	for range v.f.NumNodes() {
		source := val.Source()
		if source == nil {
			return val.IsWeight()
		}
		val = source
	}
	return false
}
