package ir

import (
	"errors"
	"fmt"
	"slices"
)

// Builder makes a module. Errors are kept: the first one is returned by Finish, and what
// is built after it has no effect, so that builders read as straight code.
type Builder struct {
	m     *Module
	err   error
	taken map[leafKey]bool // names of weights and states
}

// FuncBuilder appends nodes to a function. For each op there is a method that returns the
// node's result, typed by the op's rule; after an error it returns a value that further
// methods take without complaint.
type FuncBuilder struct {
	b      *Builder
	f      *Func
	pos    string
	bad    *Value // what methods return after an error
	leaves map[leafKey]*Value
}

// leafKey names a weight or state that has a node already.
type leafKey struct {
	op   Op
	name string
}

// NewBuilder returns a builder of a module of that name.
func NewBuilder(name string) *Builder {
	return &Builder{m: &Module{Name: name, Last: "import"}, taken: make(map[leafKey]bool)}
}

// Module returns the module as far as it is built, for what has no method here.
func (b *Builder) Module() *Module { return b.m }

// Fail records an error, unless there is one already.
func (b *Builder) Fail(err error) {
	if b.err == nil {
		b.err = err
	}
}

// Err returns the first error so far.
func (b *Builder) Err() error { return b.err }

// Symbol declares a symbol and returns it as a dimension.
func (b *Builder) Symbol(name string, lo, hi int64) Dim {
	switch {
	case !isSymbolName(name):
		b.Fail(fmt.Errorf("a symbol cannot be named %q", name))
	case b.m.Symbol(name) != nil:
		b.Fail(fmt.Errorf("symbol %s is declared twice", name))
	case lo < 0 || lo > hi:
		b.Fail(fmt.Errorf("symbol %s: bounds %d to %d are none of a size", name, lo, hi))
	}
	return Sym(b.m.AddSymbol(name, lo, hi))
}

// Source declares a file that weights come from; see [Source] for the meaning of all.
func (b *Builder) Source(name, path string, size int64, sha256 string) {
	b.m.Sources = append(b.m.Sources, &Source{Name: name, Path: path, Size: size, SHA256: sha256})
}

// Weight declares a weight. The expression may be nil in modules for tests.
func (b *Builder) Weight(name string, t Type, e *Expr) {
	if err := CheckType(t); err != nil {
		b.Fail(fmt.Errorf("weight %q: %w", name, err))
	}
	if b.taken[leafKey{OpWeight, name}] {
		b.Fail(fmt.Errorf("weight %q is declared twice", name))
	}
	b.taken[leafKey{OpWeight, name}] = true
	b.m.Weights = append(b.m.Weights, &Weight{Name: name, Type: t, Expr: e})
}

// State declares a state.
func (b *Builder) State(name string, t Type) {
	if err := CheckType(t); err != nil {
		b.Fail(fmt.Errorf("state %q: %w", name, err))
	}
	if b.taken[leafKey{OpState, name}] {
		b.Fail(fmt.Errorf("state %q is declared twice", name))
	}
	b.taken[leafKey{OpState, name}] = true
	b.m.States = append(b.m.States, &State{Name: name, Type: t})
}

// Language says how the module generates tokens; Finish checks it.
func (b *Builder) Language(lm LanguageModel) { b.m.LM = &lm }

// Meta sets a metadata key.
func (b *Builder) Meta(key, value string) { b.m.SetMeta(key, value) }

// Func begins an entry point.
func (b *Builder) Func(name string) *FuncBuilder {
	if b.m.Func(name) != nil {
		b.Fail(fmt.Errorf("function @%s is defined twice", name))
	}
	f := b.m.NewBody(name)
	b.m.Funcs = append(b.m.Funcs, f)
	return b.builderOf(f)
}

func (b *Builder) builderOf(f *Func) *FuncBuilder {
	bad := &Value{Name: "error", Func: f}
	return &FuncBuilder{b: b, f: f, bad: bad, leaves: make(map[leafKey]*Value)}
}

// Finish returns the module, with properties imported and shaped, after it is verified;
// or the first error.
func (b *Builder) Finish() (*Module, error) {
	if b.err != nil {
		return nil, b.err
	}
	b.m.Props = PropImported | PropShaped
	if err := Verify(b.m); err != nil {
		return nil, err
	}
	return b.m, nil
}

// Func returns the function as far as it is built.
func (f *FuncBuilder) Func() *Func { return f.f }

// Doc sets the text that stands at the function in generated code.
func (f *FuncBuilder) Doc(text string) { f.f.Doc = text }

// At sets the position in the model file that following nodes get, such as "blk.0"; it
// ends at the next call.
func (f *FuncBuilder) At(pos string) { f.pos = pos }

// Param appends a parameter.
func (f *FuncBuilder) Param(name string, t Type) *Value {
	if err := CheckType(t); err != nil {
		return f.fail(fmt.Errorf("parameter %s: %w", name, err))
	}
	if slices.ContainsFunc(f.f.Params, func(p *Value) bool { return p.Name == name }) {
		return f.fail(fmt.Errorf("parameter %s stands twice", name))
	}
	return f.f.AddParam(name, t)
}

// Return declares the next result of the function, under the name that callers see.
func (f *FuncBuilder) Return(name string, v *Value) {
	if v == nil {
		f.fail(fmt.Errorf("result %q is absent", name))
		return
	}
	f.f.AddResult(name, v)
}

// Named gives a value a name for dumps and returns it; a suffix makes the name unique.
func (f *FuncBuilder) Named(name string, v *Value) *Value {
	if v != nil && v != f.bad && !v.IsParam() {
		f.f.Rename(v, name)
	}
	return v
}

// Weight returns the weight of that name; it has one node in each function.
func (f *FuncBuilder) Weight(name string) *Value {
	return f.leaf(OpWeight, name, &WeightAttr{Name: name})
}

// State returns the state of that name as it is when the call starts; it has one node in
// each function.
func (f *FuncBuilder) State(name string) *Value {
	return f.leaf(OpState, name, &StateAttr{Name: name})
}

func (f *FuncBuilder) leaf(op Op, name string, attr any) *Value {
	key := leafKey{op, name}
	if v := f.leaves[key]; v != nil {
		return v
	}
	v := f.Named(name, f.Op(op, attr))
	f.leaves[key] = v
	return v
}

// Constant returns a constant of type t whose bytes are data, little-endian.
func (f *FuncBuilder) Constant(t Type, data []byte) *Value {
	return f.declared(OpConstant, &ConstantAttr{Data: data}, nil, t)[0]
}

// Foreign appends a node of unknown meaning with results of the given types.
func (f *FuncBuilder) Foreign(attr ForeignAttr, args []*Value, types ...Type) []*Value {
	return f.declared(OpForeign, &attr, args, types...)
}

// Call appends a call of another function of the module, which must be complete.
func (f *FuncBuilder) Call(name string, args ...*Value) []*Value {
	return f.append(&Node{Op: OpCall, Attr: &CallAttr{Func: name}, Args: args})
}

// Repeat appends a repeat; see [RepeatAttr] for its operands. Body is called once, to
// build the function that is repeated: it gets a parameter for each carried value,
// invariant and table, and returns the carried values of the next round.
func (f *FuncBuilder) Repeat(count int64, carried, invariant []*Value, tables [][]*Value,
	body func(f *FuncBuilder, carried, invariant, tables []*Value) []*Value) []*Value {
	attr := &RepeatAttr{Count: count, Carried: len(carried), Invariant: len(invariant)}
	args := slices.Concat(carried, invariant)
	g := f.b.builderOf(f.b.m.NewBody(f.f.Name + ".body"))
	g.pos = f.pos
	params := make([]*Value, 0, len(args)+len(tables))
	for i, a := range args {
		params = append(params, g.bodyParam(fmt.Sprintf("a%d", i), a))
	}
	for i, table := range tables {
		if int64(len(table)) != count {
			return f.fails(len(carried), fmt.Errorf("repeat: table %d has %d entries for %d rounds", i, len(table), count))
		}
		args = append(args, table...)
		params = append(params, g.bodyParam(fmt.Sprintf("t%d", i), table[0]))
	}
	fixed := len(carried) + len(invariant)
	for _, v := range body(g, params[:len(carried)], params[len(carried):fixed], params[fixed:]) {
		g.Return("", v)
	}
	return f.append(&Node{Op: OpRepeat, Attr: attr, Args: args, Body: g.f})
}

// bodyParam appends the parameter that takes a in a body.
func (f *FuncBuilder) bodyParam(name string, a *Value) *Value {
	if a == nil || a.Type.Shape == nil && !a.Type.DType.Valid() {
		return f.bad
	}
	return f.f.AddParam(name, a.Type)
}

// Op appends a node with one result and returns it.
func (f *FuncBuilder) Op(op Op, attr any, args ...*Value) *Value {
	for len(args) > 0 && args[len(args)-1] == nil {
		args = args[:len(args)-1] // absent optional operands at the end need no mark
	}
	return f.append(&Node{Op: op, Attr: attr, Args: args})[0]
}

// append infers the types of n and puts it into the function.
func (f *FuncBuilder) append(n *Node) []*Value {
	n.Func = f.f
	if f.b.err != nil || slices.Contains(n.Args, f.bad) {
		return f.fails(max(1, f.resultsOf(n)), nil)
	}
	types, err := Infer(n)
	if err != nil {
		return f.fails(max(1, f.resultsOf(n)), err)
	}
	return f.define(n, types)
}

// resultsOf guesses how many results n would have had.
func (f *FuncBuilder) resultsOf(n *Node) int {
	switch a := n.Attr.(type) {
	case *RepeatAttr:
		return a.Carried
	case *CallAttr:
		if g := f.b.m.Func(a.Func); g != nil {
			return len(g.Results)
		}
	}
	return 1
}

// define puts n with results of these types into the function.
func (f *FuncBuilder) define(n *Node, types []Type) []*Value {
	m := f.f.NewNode(n.Op, n.Attr, n.Args, "", types...)
	m.Pos, m.Body = f.pos, n.Body
	if m.Body != nil {
		m.Body.Owner = m
	}
	f.f.Append(m)
	return m.Results
}

// declared appends a node whose types are given instead of inferred.
func (f *FuncBuilder) declared(op Op, attr any, args []*Value, types ...Type) []*Value {
	for _, t := range types {
		if err := CheckType(t); err != nil {
			return f.fails(len(types), fmt.Errorf("%v: %w", op, err))
		}
	}
	if len(types) == 0 {
		return f.fails(1, fmt.Errorf("%v: %w", op, errors.New("needs a type")))
	}
	if f.b.err != nil || slices.Contains(args, f.bad) {
		return f.fails(len(types), nil)
	}
	return f.define(&Node{Op: op, Attr: attr, Args: args}, types)
}

// fail records an error with its place; nil is no error of its own.
func (f *FuncBuilder) fail(err error) *Value {
	if err != nil {
		at := ""
		if f.pos != "" {
			at = fmt.Sprintf(", at %q", f.pos)
		}
		f.b.Fail(fmt.Errorf("@%s%s: %w", f.f.Name, at, err))
	}
	return f.bad
}

func (f *FuncBuilder) fails(results int, err error) []*Value {
	return slices.Repeat([]*Value{f.fail(err)}, results)
}
