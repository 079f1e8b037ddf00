package ir

import (
	"errors"
	"fmt"
	"slices"
)

// Builder builds a module. It keeps the first error, which Finish returns, and ignores all calls after
// it. Code that builds a module therefore needs no error handling.
type Builder struct {
	m     *Module
	err   error
	taken map[leafKey]bool // names of weights and states
}

// FuncBuilder appends nodes to a function. It has a method for each op, which returns the node's result
// with the type that the shape rule infers. After an error the methods return a placeholder that other
// methods accept.
type FuncBuilder struct {
	b      *Builder
	f      *Func
	pos    string
	bad    *Value // what methods return after an error
	leaves map[leafKey]*Value
}

// leafKey identifies a weight or state that already has a node.
type leafKey struct {
	op   Op
	name string
}

// NewBuilder returns a builder of a module of that name.
func NewBuilder(name string) *Builder {
	return &Builder{m: &Module{Name: name, Last: "import"}, taken: make(map[leafKey]bool)}
}

// Module returns the module as built so far.
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
		b.Fail(fmt.Errorf("symbol %s: bounds %d to %d are not 0 <= min <= max", name, lo, hi))
	}
	return Sym(b.m.AddSymbol(name, lo, hi))
}

// Source declares a file that weights come from; see [Source] for the arguments.
func (b *Builder) Source(name, path string, size int64) {
	b.m.Sources = append(b.m.Sources, &Source{Name: name, Path: path, Size: size})
}

// Weight declares a weight. The expression may be nil in tests.
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

// Divide states how devices may divide the weight or state of that name. It does nothing if there is none.
func (b *Builder) Divide(name string, d Division) {
	if w := b.m.Weight(name); w != nil {
		w.Divide = &d
	}
	if s := b.m.State(name); s != nil {
		s.Divide = &d
	}
}

// Language declares how the module generates tokens. Finish checks it.
func (b *Builder) Language(lm LanguageModel) { b.m.LM = &lm }

// Encoder makes the module an encoder of texts.
func (b *Builder) Encoder(e Encoder) { b.m.Encoder = &e }

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
	bad := &Value{name: "error", Func: f}
	return &FuncBuilder{b: b, f: f, bad: bad, leaves: make(map[leafKey]*Value)}
}

// Finish verifies the module and returns it with the properties imported and shaped, or the first
// error.
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

// Func returns the function as built so far.
func (f *FuncBuilder) Func() *Func { return f.f }

// Doc sets the comment of the function in generated code.
func (f *FuncBuilder) Doc(text string) { f.f.Doc = text }

// At sets the position in the model file of the nodes that follow, such as "blk.0", until the next call
// of At.
func (f *FuncBuilder) At(pos string) { f.pos = pos }

// Param appends a parameter.
func (f *FuncBuilder) Param(name string, t Type) *Value {
	if err := CheckType(t); err != nil {
		return f.fail(fmt.Errorf("parameter %s: %w", name, err))
	}
	if slices.ContainsFunc(f.f.Params, func(p *Value) bool { return p.Name() == name }) {
		return f.fail(fmt.Errorf("parameter %s occurs twice", name))
	}
	return f.f.AddParam(name, t)
}

// Return declares the next result of the function. Callers see it under the name.
func (f *FuncBuilder) Return(name string, v *Value) {
	if v == nil {
		f.fail(fmt.Errorf("result %q is absent", name))
		return
	}
	f.f.AddResult(name, v)
}

// Named names a value in dumps and returns it. A suffix makes the name unique.
func (f *FuncBuilder) Named(name string, v *Value) *Value {
	if v != nil && v != f.bad && !v.IsParam() {
		f.f.Rename(v, name)
	}
	return v
}

// Weight returns the weight of that name. A function has at most one node for it.
func (f *FuncBuilder) Weight(name string) *Value {
	return f.leaf(OpWeight, name, &WeightAttr{Name: name})
}

// State returns the state of that name as it is when the call starts. A function has at most one node
// for it.
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

// Call appends a call of another function of the module, which must already be complete.
func (f *FuncBuilder) Call(name string, args ...*Value) []*Value {
	return f.append(&Node{Op: OpCall, Attr: &CallAttr{Func: name}, Args: args})
}

// Repeat appends a repeat; see [RepeatAttr] for its operands. It calls body once to build the repeated
// function. The arguments of body are its parameters for the carried values, invariants and tables;
// body returns the carried values of the next iteration.
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
			return f.fails(len(carried), fmt.Errorf("repeat: table %d has %d entries for %d iterations", i, len(table), count))
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

// bodyParam appends the parameter of a body for the operand a.
func (f *FuncBuilder) bodyParam(name string, a *Value) *Value {
	if a == nil || a.Type.Shape == nil && !a.Type.DType.Valid() {
		return f.bad
	}
	return f.f.AddParam(name, a.Type)
}

// Op appends a node with one result and returns it.
func (f *FuncBuilder) Op(op Op, attr any, args ...*Value) *Value {
	for len(args) > 0 && args[len(args)-1] == nil {
		args = args[:len(args)-1] // trailing optional operands that are absent are omitted
	}
	return f.append(&Node{Op: op, Attr: attr, Args: args})[0]
}

// append infers the result types of n and appends it to the function.
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

// resultsOf returns how many results n would probably have, for the placeholders after an error.
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

// define appends n to the function with results of these types.
func (f *FuncBuilder) define(n *Node, types []Type) []*Value {
	m := f.f.NewNode(n.Op, n.Attr, n.Args, "", types...)
	m.Pos, m.Body = f.pos, n.Body
	if m.Body != nil {
		m.Body.Owner = m
	}
	f.f.Append(m)
	return m.Results
}

// declared appends a node whose result types are given, not inferred.
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

// fail records an error with its position, unless err is nil.
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
