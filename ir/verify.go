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
	Rule string // what is broken: links, names, ssa, operands, attributes, type, symbols, shape, alias, index, …
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
// declared symbols only, no old version is read after the next one is written, no body
// names a state that its function overwrites, nothing calls itself, the functions of a
// language model are what the runtime takes them for, and integers that select rows are
// inputs or within bounds. With shaped: types are what the rules infer. With assigned,
// split, partitioned, placed: see the functions in verify_plan.go.
func Verify(m *Module) error { return new(Verifier).Verify(m) }

// violations returns whatever is wrong with m, in order.
func violations(m *Module) []Violation {
	v := newVerifier(m)
	v.members()
	for _, f := range m.Funcs {
		before := len(v.found)
		if s := v.function(f, nil); len(v.found) == before {
			v.namedInBodies(f, s.written)
		}
	}
	if v.calls {
		v.recursion()
	}
	if m.Props&PropShaped != 0 {
		for _, n := range v.sound {
			v.f, v.node = n.Func, n
			v.inferred(n)
		}
	}
	if len(v.found) == 0 { // both rely on all of the above
		v.language()
		v.indexes(v.selecting)
		v.plan()
	}
	return v.found
}

// verifier looks at parts of a module and notes what is wrong with them.
type verifier struct {
	m       *Module
	f       *Func
	node    any              // what is looked at: a text, *Node, *Value or a member; nil for all of it
	open    []*Func          // f, and the functions that hold it
	symbols map[*Symbol]bool // those of the module
	sound   []*Node          // the types of their results remain to be looked at
	calls   bool             // some node does
	found   []Violation

	selecting []*Node           // nodes that select rows by an operand
	same      map[*Value]*Value // parameters of a body, by others that have their bytes

	nextWeight int // index behind the weight that was looked up last
}

func newVerifier(m *Module) *verifier {
	v := &verifier{m: m, symbols: make(map[*Symbol]bool, len(m.Symbols))}
	for _, s := range m.Symbols {
		v.symbols[s] = true
	}
	return v
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

// members checks what the module has besides nodes.
func (v *verifier) members() {
	v.constants()
	name := v.unique(len(v.m.Weights))
	for _, w := range v.m.Weights {
		name(w.Name, w)
		v.weight(w)
	}
	v.statesAndFuncs()
}

// constants checks names and bounds of symbols and names of sources.
func (v *verifier) constants() {
	name := v.unique(len(v.m.Symbols))
	for _, s := range v.m.Symbols {
		name(s.Name, s)
		v.must(isSymbolName(s.Name), "names", "a symbol cannot have that name")
		v.must(0 <= s.Min && s.Min <= s.Max, "symbols", "bounds %d to %d are none of a size", s.Min, s.Max)
	}
	name = v.unique(len(v.m.Sources))
	for _, s := range v.m.Sources {
		name(s.Name, s)
	}
}

// weight checks type and expression of a weight.
func (v *verifier) weight(w *Weight) {
	v.node = w
	v.typ(w.Type)
	v.expr(w.Expr)
}

// statesAndFuncs checks names and types of states, and names of entry points.
func (v *verifier) statesAndFuncs() {
	name := v.unique(len(v.m.States))
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
	v.open = append(v.open, f)
	defer func() {
		v.f, v.node = outerFunc, outerNode
		v.open = v.open[:len(v.open)-1]
	}()
	v.f, v.node = f, nil

	v.links(owner)
	s := &scope{
		defined: make([]*Value, f.NumValues()), names: make(map[string]struct{}, f.NumValues()),
		nodes: make([]bool, f.NumNodes()), written: make(versions),
	}
	for i, p := range f.Params {
		v.define(s, p, nil, i)
	}
	for _, n := range f.Nodes {
		v.node = n
		v.nodeLinks(s, n)
		v.checkNode(s, n)
	}
	v.node = "return"
	v.resultNames()
	for _, r := range f.Results {
		v.read(s, nil, r)
	}
	return s
}

// links checks what the current function says of itself; owner holds it as its body.
func (v *verifier) links(owner *Node) {
	v.must(v.f.Module == v.m, "links", "the function belongs to another module")
	v.must(v.f.Owner == owner, "links", "the function's owner is not the node that holds it")
	v.must(!slices.Contains(v.f.Params, nil), "links", "a parameter is nil")
}

func (v *verifier) resultNames() {
	f := v.f
	v.must(len(f.ResultNames) == len(f.Results), "links", "%d names for %s", len(f.ResultNames), count(len(f.Results), "result"))
}

// nodeLinks checks that n belongs to the current function, and stands there once.
func (v *verifier) nodeLinks(s *scope, n *Node) {
	switch {
	case n.Func != v.f:
		v.fail("links", "the node belongs to another function")
	case n.ID < 0 || n.ID >= len(s.nodes):
		v.fail("links", "the id %d is out of range", n.ID)
	case s.nodes[n.ID]:
		v.fail("links", "the node stands twice in the order, or another one of its id %d", n.ID)
	default:
		s.nodes[n.ID] = true
	}
}

// scope is what is known of a function while its nodes are visited in order.
type scope struct {
	defined []*Value // by id
	names   map[string]struct{}
	nodes   []bool // by id: those that were met
	written versions
}

// define checks a parameter or result and makes it known.
func (v *verifier) define(s *scope, val *Value, def *Node, index int) {
	if val == nil {
		return // has been said
	}
	v.leadsBack(val, def, index)
	if _, taken := s.names[val.Name]; taken || val.Name == "" {
		v.fail("names", "the name %v is taken or empty", val)
	}
	s.names[val.Name] = struct{}{}
	v.typ(val.Type)
	if val.ID < 0 || val.ID >= len(s.defined) || s.defined[val.ID] != nil {
		v.fail("links", "the id %d of %v is taken or out of range", val.ID, val)
		return
	}
	s.defined[val.ID] = val
}

// leadsBack checks that a value says where it is defined.
func (v *verifier) leadsBack(val *Value, def *Node, index int) {
	if val.Func != v.f || val.Def != def || val.Index != index {
		v.fail("links", "%v does not lead back to where it is defined", val)
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
	v.current(s.written, reader, val)
}

func (v *verifier) checkNode(s *scope, n *Node) {
	if !v.isOp(n) {
		return
	}
	if _, ok := n.Attr.(*CallAttr); ok {
		v.calls = true
	}
	if selects(n) {
		v.selecting = append(v.selecting, n)
	}
	before := len(v.found)
	v.must(!slices.Contains(n.Results, nil), "links", "a result is nil")
	for _, a := range n.Args {
		if a != nil {
			v.read(s, n, a)
		}
	}
	v.operands(n)
	if len(v.found) == before && n.Func == v.f { // rules run only on what shows no violation
		v.sound = append(v.sound, n)
	}
	v.overwrite(s.written, n)
	for i, r := range n.Results {
		v.define(s, r, n, i)
	}
	if v.body(n) && n.Body != nil && v.must(!v.inside(n.Body), "links", "the body holds itself") {
		inner := v.function(n.Body, n)
		if len(v.found) == before {
			v.overwriteInside(s.written, n, inner.written)
		}
	}
}

func (v *verifier) isOp(n *Node) bool {
	return v.must(n.Op > OpInvalid && n.Op < NumOps, "op", "%d is no operation", n.Op)
}

// body checks that a node has a body if its op has, and no other.
func (v *verifier) body(n *Node) bool {
	return v.must((n.Body != nil) == n.Is(HasBody), "op", "%v with a body, or without: %v", n.Op, n.Body != nil)
}

// inside reports whether f is one of the functions that are being looked at.
func (v *verifier) inside(f *Func) bool { return slices.Contains(v.open, f) }

// operands checks operands and attributes.
func (v *verifier) operands(n *Node) {
	if err := checkArgs(n); err != nil {
		v.fail("operands", "%v: %v", n.Op, err)
	}
	if err := checkAttr(n); err != nil {
		v.fail("attributes", "%v: %v", n.Op, err)
	} else {
		v.dims(AttrDims(n.Attr))
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

// AttrDims returns the dimensions in an attribute struct.
func AttrDims(attr any) []Dim {
	switch a := attr.(type) {
	case *ReshapeAttr:
		return a.Shape
	case *SliceAttr:
		return []Dim{a.Start, a.Len}
	case *AttentionSegmentsAttr:
		return []Dim{a.Segments}
	}
	return nil
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
