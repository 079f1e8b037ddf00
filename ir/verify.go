package ir

import (
	"fmt"
	"slices"
	"strings"
)

// Violation is a broken invariant of a module.
type Violation struct {
	Func string // name of the function; empty for the module's members
	Node string // node, value or member, as the text form names it
	Rule string // what is broken: links, names, ssa, operands, attributes, type, symbols, shape, alias, …
	Text string
}

// String returns the violation as errors show it, such as
// @decode %y: shape: declared f32[4], inferred f32[5].
func (v Violation) String() string {
	where := v.Node
	switch {
	case v.Func != "":
		where = strings.TrimSpace("@" + quoteName(v.Func) + " " + v.Node)
	case v.Node == "":
		where = "module"
	}
	return where + ": " + v.Rule + ": " + v.Text
}

// VerifyError holds all violations that Verify has found.
type VerifyError struct{ Violations []Violation }

// Error returns the violations, one on a line.
func (e *VerifyError) Error() string {
	lines := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		lines[i] = v.String()
	}
	return strings.Join(lines, "\n")
}

// Verify checks all that the properties of m promise, as far as it shows without knowing
// targets. It returns nil, or a *VerifyError with every violation.
//
// Always: names are unique, links lead back, values are defined once and before they are
// read, operands and attributes are those of the op, types can be, dimensions mention
// declared symbols only, no old version is read after the next one is written, nothing
// calls itself. With shaped: types are what the rules infer. With assigned, split,
// partitioned, placed: see the functions in verify_plan.go.
func Verify(m *Module) error {
	v := &verifier{m: m, symbols: make(map[*Symbol]bool)}
	if v.run(); len(v.found) == 0 {
		return nil
	}
	return &VerifyError{v.found}
}

type verifier struct {
	m       *Module
	f       *Func
	node    any // what is looked at: a text, *Node, *Value or a member; nil for all of it
	symbols map[*Symbol]bool
	sound   []*Node // what shows of them alone remains to be looked at
	beside  parts
	calls   bool // some node does
	found   []Violation

	nextWeight int // index behind the weight that was looked up last
	panicked   any // in a goroutine

	// hasty says that whoever finds something looks at all of it again: then each node is
	// looked at where that takes least time, not where its violations belong in the list.
	hasty bool

	// Of a Verifier: what it knows of values' names, and will know then, and whether it knows
	// that those of the weights differ from each other.
	known, next  map[*Func]*knownNames
	knowsWeights bool
}

// run looks at all of the module.
func (v *verifier) run() {
	v.module()
	if v.hasty {
		v.beside.begin(v.part(nil), (*verifier).submissions)
	}
	for _, f := range v.m.Funcs {
		v.function(f, nil)
	}
	if v.calls {
		v.recursion()
	}
	v.beside.finish(v)
	if len(v.found) == 0 {
		v.plan() // relies on all of the above
	}
}

// fail records a violation at the current function and node.
func (v *verifier) fail(rule, format string, args ...any) {
	fn := ""
	if v.f != nil {
		fn = v.f.Name
	}
	v.found = append(v.found, Violation{fn, v.where(), rule, fmt.Sprintf(format, args...)})
}

// where names what is looked at.
func (v *verifier) where() string {
	switch at := v.node.(type) {
	case string:
		return at
	case *Weight:
		return fmt.Sprintf("weight %q", at.Name)
	case *State:
		return fmt.Sprintf("state %q", at.Name)
	case *Symbol:
		return fmt.Sprintf("symbol %q", at.Name)
	case *Source:
		return fmt.Sprintf("source %q", at.Name)
	case *Func:
		return fmt.Sprintf("function %q", at.Name)
	case *Arena:
		return "arena " + at.Space + " " + at.Class.String()
	case fmt.Stringer:
		return at.String()
	}
	return ""
}

// must records a violation unless ok, which it returns.
func (v *verifier) must(ok bool, rule, format string, args ...any) bool {
	if !ok {
		v.fail(rule, format, args...)
	}
	return ok
}

// unique returns a function that records names that occur twice.
func (v *verifier) unique(many int) func(name string, of any) {
	seen := make(map[string]bool, many)
	return func(name string, of any) {
		v.node = of
		v.must(name != "", "names", "the name is empty")
		v.must(!seen[name], "names", "the name is taken")
		seen[name] = true
	}
}

func (v *verifier) module() {
	name := v.unique(len(v.m.Symbols))
	for _, s := range v.m.Symbols {
		name(s.Name, s)
		v.symbols[s] = true
		v.must(isSymbolName(s.Name), "names", "a symbol cannot have that name")
		v.must(0 <= s.Min && s.Min <= s.Max, "symbols", "bounds %d to %d are none of a size", s.Min, s.Max)
	}
	name = v.unique(len(v.m.Sources))
	for _, s := range v.m.Sources {
		name(s.Name, s)
	}
	if v.knowsWeights {
		v.beside.begin(v.part(nil), (*verifier).weights)
	} else {
		v.weights()
	}
	name = v.unique(len(v.m.States))
	for _, s := range v.m.States {
		name(s.Name, s)
		v.typ(s.Type)
	}
	name = v.unique(len(v.m.Funcs))
	for _, f := range v.m.Funcs {
		name(f.Name, f)
	}
	v.node = nil
}

// weights checks names, types and expressions of the weights.
func (v *verifier) weights() {
	name := func(_ string, of any) { v.node = of }
	if !v.knowsWeights {
		name = v.unique(len(v.m.Weights))
	}
	for _, w := range v.m.Weights {
		name(w.Name, w)
		v.typ(w.Type)
		v.expr(w.Expr)
	}
}

// typ checks a type by itself and that its symbols are declared.
func (v *verifier) typ(t Type) {
	if err := CheckType(t); err != nil {
		v.fail("type", "%v", err)
	}
	v.dims(t.Shape)
	v.dims(t.Strides)
}

func (v *verifier) dims(ds []Dim) {
	for _, d := range ds {
		if _, ok := d.IsConst(); ok {
			continue
		}
		d.Symbols(func(s *Symbol) {
			v.must(v.symbols[s], "symbols", "%s in %v is not a symbol of the module", s.Name, d)
		})
	}
}

// expr checks that the expression of a weight mentions declared sources only.
func (v *verifier) expr(e *Expr) {
	if e == nil {
		return
	}
	if e.Op == ExprTensor {
		declared := slices.ContainsFunc(v.m.Sources, func(s *Source) bool { return s.Name == e.Source })
		v.must(declared, "source", "source %s is not declared", e.Source)
	}
	for _, a := range e.Args {
		v.expr(a)
	}
}

// function checks f, which owner holds as its body, or nobody. It returns what is known of
// f at its end.
func (v *verifier) function(f *Func, owner *Node) *scope {
	outerFunc, outerNode := v.f, v.node
	defer func() { v.f, v.node = outerFunc, outerNode }()
	v.f, v.node = f, nil

	v.must(f.Module == v.m, "links", "the function belongs to another module")
	v.must(f.Owner == owner, "links", "the function's owner is not the node that holds it")
	s := &scope{
		known:   v.namesOf(f),
		written: make(map[any]*Node), nodes: make([]bool, f.NumNodes()),
	}
	if s.known != nil {
		s.defined = s.known.defined
	} else {
		s.defined = make([]*Value, f.NumValues())
		s.names = make(map[string]struct{}, f.NumValues())
	}
	v.must(!slices.Contains(f.Params, nil), "links", "a parameter is nil")
	for i, p := range f.Params {
		v.define(s, p, nil, i)
	}
	if v.hasty {
		v.epochs(f)
	}
	at := progress{split: -1}
	for _, n := range f.Nodes {
		v.node = n
		switch {
		case n.Func != f:
			v.fail("links", "the node belongs to another function")
		case n.ID < 0 || n.ID >= len(s.nodes):
			v.fail("links", "the id %d is out of range", n.ID)
		case s.nodes[n.ID]:
			v.fail("links", "the node stands twice in the order, or another one of its id %d", n.ID)
		default:
			s.nodes[n.ID] = true
		}
		v.checkNode(s, n)
		if v.hasty && len(v.found) == 0 {
			v.follows(n, &at)
		}
	}
	v.node = "return"
	v.must(s.known == nil || s.known.finish(), "names", "some are taken or empty")
	v.must(len(f.ResultNames) == len(f.Results), "links", "%d names for %s", len(f.ResultNames), count(len(f.Results), "result"))
	for _, r := range f.Results {
		v.read(s, nil, r)
	}
	return s
}

// scope is what is known of a function while its nodes are visited in order.
type scope struct {
	defined []*Value // by id
	names   map[string]struct{}
	known   *knownNames   // instead of names, if not nil
	nodes   []bool        // by id: those that were met
	written map[any]*Node // by version: the node that has overwritten it
}

// define checks a parameter or result and makes it known.
func (v *verifier) define(s *scope, val *Value, def *Node, index int) {
	if val == nil {
		return // has been said
	}
	if val.Func != v.f || val.Def != def || val.Index != index {
		v.fail("links", "%v does not lead back to where it is defined", val)
	}
	if s.known == nil {
		if _, taken := s.names[val.Name]; taken || val.Name == "" {
			v.fail("names", "the name %v is taken or empty", val)
		}
		s.names[val.Name] = struct{}{}
	}
	if def == nil || !v.hasty {
		v.typ(val.Type)
	}
	if val.ID < 0 || val.ID >= len(s.defined) || s.defined[val.ID] != nil {
		v.fail("links", "the id %d of %v is taken or out of range", val.ID, val)
		return
	}
	s.defined[val.ID] = val
	if s.known != nil {
		s.known.note(val.ID, val.Name)
	}
}

// isDefined reports whether val was defined so far.
func (s *scope) isDefined(val *Value) bool {
	return val.ID >= 0 && val.ID < len(s.defined) && s.defined[val.ID] == val
}

// read checks that a value is defined and not yet overwritten; reader is nil for results.
func (v *verifier) read(s *scope, reader *Node, val *Value) {
	switch {
	case val == nil:
		v.fail("ssa", "a result is nil")
		return
	case val.Func != v.f:
		v.fail("ssa", "%v belongs to another function", val)
		return
	case !s.isDefined(val):
		v.fail("ssa", "%v is not defined before it is read", val)
		return
	}
	if len(s.written) == 0 {
		return
	}
	if by := s.written[version(val)]; by != nil && by != reader {
		v.fail("alias", "%v is read after %v has overwritten its bytes", val, by)
	}
}

// stateVersion stands for the version that a state has when the call starts: all nodes
// that name the state read the same.
type stateVersion struct{ name string }

// version returns what stands for the bytes of val in one version: the value that its
// chain of views ends at.
func version(val *Value) any {
	for val.Def != nil && val.Index == 0 && val.Def.Is(View) && len(val.Def.Args) > 0 && val.Def.Args[0] != nil {
		val = val.Def.Args[0]
	}
	if val.Def != nil && val.Def.Op == OpState {
		if a, ok := val.Def.Attr.(*StateAttr); ok {
			return stateVersion{a.Name}
		}
	}
	return val
}

func (v *verifier) checkNode(s *scope, n *Node) {
	if n.Op <= OpInvalid || n.Op >= NumOps {
		v.fail("op", "%d is no operation", n.Op)
		return
	}
	if _, ok := n.Attr.(*CallAttr); ok {
		v.calls = true
	}
	before := len(v.found)
	v.must(!slices.Contains(n.Results, nil), "links", "a result is nil")
	for _, a := range n.Args {
		if a != nil {
			v.read(s, n, a)
		}
	}
	if !v.hasty {
		v.operands(n)
	}
	v.later(n, before)
	v.overwrite(s, n)
	for i, r := range n.Results {
		v.define(s, r, n, i)
	}
	if (n.Body != nil) != n.Is(HasBody) {
		v.fail("op", "%v with a body, or without: %v", n.Op, n.Body != nil)
	} else if n.Body != nil {
		inner := v.function(n.Body, n)
		if a, ok := n.Attr.(*RepeatAttr); ok && len(v.found) == before {
			v.overwriteInside(s, n, a, inner)
		}
	}
}

// overwriteInside records the operands of a repeat whose bytes its body overwrites. An
// invariant must not be among them: the next round reads it again.
func (v *verifier) overwriteInside(s *scope, n *Node, a *RepeatAttr, inner *scope) {
	if tables, ok := a.Tables(len(n.Args)); !ok || a.Carried+a.Invariant+tables != len(n.Body.Params) {
		return // said where types are checked
	}
	for i, arg := range n.Args {
		p := repeatParam(a, i)
		if arg == nil || inner.written[n.Body.Params[p]] == nil {
			continue
		}
		invariant := p >= a.Carried && p < a.Carried+a.Invariant
		v.must(!invariant, "alias", "the body overwrites the invariant %v, which the next round reads", arg)
		v.must(!arg.IsWeight(), "alias", "%v is a weight and cannot be written", arg)
		s.written[version(arg)] = n
	}
}

// operands checks operands and attributes.
func (v *verifier) operands(n *Node) {
	if err := checkArgs(n); err != nil {
		v.fail("operands", "%v: %v", n.Op, err)
	}
	if err := checkAttr(n); err != nil {
		v.fail("attributes", "%v: %v", n.Op, err)
	} else {
		v.dims(attrDims(n.Attr))
	}
}

// inferred compares the types of a node's results with what its rule says.
func (v *verifier) inferred(n *Node) {
	var one [1]Type // most nodes have one result
	types, err := v.types(one[:0], n)
	if err != nil {
		v.fail("shape", "%v: %v", n.Op, err)
		return
	}
	if len(types) != len(n.Results) {
		v.fail("shape", "%v has %s, not %d", n.Op, count(len(types), "result"), len(n.Results))
		return
	}
	for i, t := range types {
		v.sameType(n, t, n.Results[i].Type)
	}
}

// types is appendTypes, but for weights: where nodes name them in their order, as most do, none
// is looked up.
func (v *verifier) types(types []Type, n *Node) ([]Type, error) {
	if n.Op == OpWeight {
		if i := v.m.weightAt(attrOf[WeightAttr](n).Name, v.nextWeight); i >= 0 {
			v.nextWeight = i + 1
			return append(types, v.m.Weights[i].Type), nil
		}
	}
	return appendTypes(types, n)
}

// sameType compares the type of a result with what the rule has inferred. The space
// counts where the rule knows it: results that have no bytes of their own, and leaves.
func (v *verifier) sameType(n *Node, inferred, declared Type) {
	if !declared.SameData(inferred) {
		v.fail("shape", "declared %s, inferred %s", declared.data(), inferred.data())
	}
	if n.Op.Info().Traits&(View|Alias|Leaf) != 0 && declared.Space != inferred.Space {
		v.fail("space", "lies in %q, its bytes are in %q", declared.Space, inferred.Space)
	}
}

// attrDims returns the dimensions in an attribute struct.
func attrDims(attr any) []Dim {
	switch a := attr.(type) {
	case *ReshapeAttr:
		return a.Shape
	case *SliceAttr:
		return []Dim{a.Start, a.Len}
	}
	return nil
}

// overwrite records that n writes the next version of an operand.
func (v *verifier) overwrite(s *scope, n *Node) {
	info := n.Op.Info()
	if info.Traits&Alias == 0 {
		return
	}
	old := n.Arg(info.AliasArg)
	if old == nil {
		return
	}
	v.must(!old.IsWeight(), "alias", "%v is a weight and cannot be written", old)
	s.written[version(old)] = n
}

// recursion checks that no function calls itself, be it through others.
func (v *verifier) recursion() {
	state := make(map[string]int) // 1: being visited, 2: done
	var visit func(f *Func)
	visit = func(f *Func) {
		state[f.Name] = 1
		for _, name := range callees(f) {
			g := v.m.Func(name)
			switch {
			case g == nil, state[name] == 2:
			case state[name] == 1:
				v.f, v.node = f, nil
				v.fail("call", "@%s calls itself", name)
			default:
				visit(g)
			}
		}
		state[f.Name] = 2
	}
	for _, f := range v.m.Funcs {
		if state[f.Name] == 0 {
			visit(f)
		}
	}
	v.f, v.node = nil, nil
}

// callees returns the names of the functions that f and its bodies call.
func callees(f *Func) []string {
	var names []string
	for _, n := range f.Nodes {
		if a, ok := n.Attr.(*CallAttr); ok {
			names = append(names, a.Func)
		}
		if n.Body != nil {
			names = append(names, callees(n.Body)...)
		}
	}
	return names
}
