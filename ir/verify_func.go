package ir

import "slices"

// Checks of functions and their nodes in the order of execution.

// scope records the parts of a function that function has visited so far.
type scope struct {
	defined []*Value // by id
	nodes   []bool   // by id
}

// function checks f and the bodies in it. owner is the node that holds f as its body, nil for an
// entry point.
func (v *verifier) function(f *Func, owner *Node) {
	outerFunc, outerNode := v.f, v.node
	v.open = append(v.open, f)
	defer func() {
		v.f, v.node = outerFunc, outerNode
		v.open = v.open[:len(v.open)-1]
	}()
	v.f, v.node = f, nil

	v.must(f.Module == v.m, "links", "the function belongs to another module")
	v.must(v.takeID(f), "links", "the function's id %d is taken or out of range", f.ID)
	v.must(f.Owner == owner, "links", "the function's owner is not the node that holds it")
	v.must(!slices.Contains(f.Params, nil), "links", "a parameter is nil")
	s := &scope{
		defined: make([]*Value, f.NumValues()),
		nodes:   make([]bool, f.NumNodes()),
	}
	for i, p := range f.Params {
		v.define(s, p, nil, i)
	}
	if !v.broken {
		v.spaces()
	}
	at := progress{split: -1}
	for _, n := range f.Nodes {
		v.node = n
		v.nodeLinks(s, n)
		v.checkNode(s, n)
		v.note(n)
		if v.broken {
			continue // what follows relies on it
		}
		if v.m.Props&PropShaped != 0 && n.Op != OpCall {
			v.inferred(n)
		}
		v.decided(n, &at)
	}
	if !v.broken {
		v.epochs()
		v.sharding(f)
		v.parts(f)
	}
	v.node = "return"
	v.must(len(f.ResultNames) == len(f.Results), "links", "%d names for %s", len(f.ResultNames), count(len(f.Results), "result"))
	v.observedNames(f)
	for _, r := range f.Results {
		if v.must(r != nil, "ssa", "a result is nil") {
			v.read(s, r)
		}
	}
}

// takeID reports whether the id of f is one of the module that no function before it has.
func (v *verifier) takeID(f *Func) bool {
	if f.ID < 0 || f.ID >= len(v.funcs) || v.funcs[f.ID] {
		return false
	}
	v.funcs[f.ID] = true
	return true
}

// nodeLinks checks that n belongs to the current function and was not visited before.
func (v *verifier) nodeLinks(s *scope, n *Node) {
	switch {
	case n.Func != v.f:
		v.fail("links", "the node belongs to another function")
	case n.ID < 0 || n.ID >= len(s.nodes):
		v.fail("links", "the id %d is out of range", n.ID)
	case s.nodes[n.ID]:
		v.fail("links", "the node is twice in the order, or another one has its id %d", n.ID)
	default:
		s.nodes[n.ID] = true
	}
}

// note collects what the later stages look at.
func (v *verifier) note(n *Node) {
	if n.Op >= NumOps {
		return // reported by checkNode
	}
	if n.Op == OpCall {
		v.calls = append(v.calls, n)
	}
	if selectors[n.Op] != nil {
		v.selecting = append(v.selecting, n)
	}
	if n.Submit != nil {
		v.submitted = append(v.submitted, n)
	}
	v.writes = v.writes || n.Is(Alias)
}

// checkNode checks operands, attributes, results and body of a node.
func (v *verifier) checkNode(s *scope, n *Node) {
	if !v.must(n.Op > OpInvalid && n.Op < NumOps, "op", "%d is not an operation", n.Op) {
		return
	}
	v.must(!slices.Contains(n.Results, nil), "links", "a result is nil")
	for _, a := range n.Args {
		if a != nil {
			v.read(s, a)
		}
	}
	v.operands(n)
	for i, r := range n.Results {
		v.define(s, r, n, i)
	}
	v.body(n)
	v.observes(n)
}

// define checks a parameter, or result index of def, and adds it to the scope. Nil values are
// reported by the callers.
func (v *verifier) define(s *scope, val *Value, def *Node, index int) {
	if val == nil {
		return
	}
	if val.Func != v.f || val.Def != def || val.Index != index {
		v.fail("links", "%v does not lead back to where it is defined", val)
	}
	v.typ(val.Type)
	if val.ID < 0 || val.ID >= len(s.defined) || s.defined[val.ID] != nil {
		v.fail("links", "the id %d of %v is taken or out of range", val.ID, val)
		return
	}
	s.defined[val.ID] = val
}

// read checks that a value is defined before the current node.
func (v *verifier) read(s *scope, val *Value) {
	switch {
	case val.Func != v.f:
		v.fail("ssa", "%v belongs to another function", val)
	case val.ID < 0 || val.ID >= len(s.defined) || s.defined[val.ID] != val:
		v.fail("ssa", "%v is not defined before it is read", val)
	}
}

// operands checks number and dtypes of a node's operands, and its attributes.
func (v *verifier) operands(n *Node) {
	if err := checkArgs(n); err != nil {
		v.fail("operands", "%v: %v", n.Op, err)
	} else if last := len(n.Args) - 1; last >= 0 && n.Args[last] == nil && mayEndBefore(n.Op, last) {
		v.fail("operands", "%v: the last operand is absent: leave it out", n.Op)
	}
	if err := checkAttr(n); err != nil {
		v.fail("attributes", "%v: %v", n.Op, err)
	} else {
		v.dims(AttrDims(n.Attr))
	}
}

// body checks that n has a body exactly if its op has one, and the body itself.
func (v *verifier) body(n *Node) {
	switch {
	case n.Body == nil && n.Is(HasBody):
		v.fail("op", "%v has no body", n.Op)
	case n.Body != nil && !n.Is(HasBody):
		v.fail("op", "%v has a body, and the op has none", n.Op)
	case n.Body != nil && slices.Contains(v.open, n.Body):
		v.fail("links", "the body holds itself")
	case n.Body != nil:
		v.function(n.Body, n)
	}
}

// callTypes compares the types of calls with those of what they call, if the module is shaped.
func (v *verifier) callTypes() {
	if v.m.Props&PropShaped == 0 {
		return
	}
	for _, n := range v.calls {
		v.f, v.node = n.Func, n
		v.inferred(n)
	}
	v.f, v.node = nil, nil
}

// Rules of violations of types.
const (
	ruleShape = "shape"
	ruleSpace = "space"
)

// inferred compares the types of a node's results with the types from its shape rule.
func (v *verifier) inferred(n *Node) {
	var one [1]Type // most nodes have one result
	types, err := appendTypes(one[:0], n)
	if err != nil {
		v.fail(ruleShape, "%v: %v", n.Op, err)
		return
	}
	if len(types) != len(n.Results) {
		v.fail(ruleShape, "%v has %s, not %d", n.Op, count(len(types), "result"), len(n.Results))
		return
	}
	for i, t := range types {
		v.sameType(n, t, n.Results[i].Type)
	}
}

// sameType compares the type of a result with the inferred one. The spaces are compared only where
// the rule knows it: for leaves, and for results that have no bytes of their own.
func (v *verifier) sameType(n *Node, inferred, declared Type) {
	if !declared.SameData(inferred) {
		v.fail(ruleShape, "declared %s, inferred %s", declared.data(), inferred.data())
	}
	if n.Op.Info().Traits&(View|Alias|Leaf) != 0 && declared.Space != inferred.Space {
		v.fail(ruleSpace, "is in %q, its bytes are in %q", declared.Space, inferred.Space)
	}
}

// recursion checks that no function calls itself, directly or through others.
func (v *verifier) recursion() {
	const visiting, done = 1, 2
	callees := make(map[*Func][]string)
	for _, n := range v.calls {
		f := n.Func.Entry()
		callees[f] = append(callees[f], attrOf[CallAttr](n).Func)
	}
	state := make(map[string]int)
	var visit func(f *Func)
	visit = func(f *Func) {
		state[f.Name] = visiting
		for _, name := range callees[f] {
			g := v.m.Func(name)
			switch {
			case g == nil, state[name] == done:
			case state[name] == visiting:
				v.f, v.node = f, nil
				v.fail("call", "@%s calls itself", name)
			default:
				visit(g)
			}
		}
		state[f.Name] = done
	}
	for _, f := range v.m.Funcs {
		if state[f.Name] == 0 {
			visit(f)
		}
	}
	v.f, v.node = nil, nil
}
