package ir

// Checks of symbols, sources, weights, states and the names of functions.

// members checks the parts of the module outside functions, and the names of the functions.
func (v *verifier) members() {
	name := v.unique(len(v.m.Symbols))
	for _, s := range v.m.Symbols {
		name(s.Name, s)
		v.must(isSymbolName(s.Name), "names", "a symbol cannot have that name")
		v.must(0 <= s.Min && s.Min <= s.Max, "symbols", "bounds %d to %d are not 0 <= min <= max", s.Min, s.Max)
	}
	name = v.unique(len(v.m.Sources))
	for _, s := range v.m.Sources {
		name(s.Name, s)
	}
	name = v.unique(len(v.m.Weights))
	for _, w := range v.m.Weights {
		name(w.Name, w)
		v.typ(w.Type)
		v.expr(w.Expr)
		v.division(w.Divide, w.Type)
	}
	name = v.unique(len(v.m.States))
	for _, s := range v.m.States {
		name(s.Name, s)
		v.typ(s.Type)
		v.must(!s.Type.DType.IsActivation(), "type", "%v is a format of activations, which no state has: make it f32, f16, q8_0 or q4_0", s.Type.DType)
		v.division(s.Divide, s.Type)
	}
	name = v.unique(len(v.m.Funcs))
	for _, f := range v.m.Funcs {
		name(f.Name, f)
	}
	v.node = nil
}

// division checks that a type can be divided as stated.
func (v *verifier) division(d *Division, t Type) {
	if err := d.check(t); err != nil {
		v.fail("divide", "%v", err)
	}
}

// unique returns a function that makes one of n members the current one and checks that none before
// it has its name.
func (v *verifier) unique(n int) func(name string, member any) {
	seen := make(map[string]bool, n)
	return func(name string, member any) {
		v.node = member
		v.must(name != "", "names", "the name is empty")
		v.must(!seen[name], "names", "the name is taken")
		seen[name] = true
	}
}

// typ checks that a type is possible and that its symbols are declared.
func (v *verifier) typ(t Type) {
	if err := CheckType(t); err != nil {
		v.fail("type", "%v", err)
	}
	v.dims(t.Shape)
	v.dims(t.Strides)
}

// dims checks that the symbols in dimensions are declared.
func (v *verifier) dims(ds []Dim) {
	for _, d := range ds {
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
		v.must(v.sources[e.Source], "source", "source %s is not declared", e.Source)
	}
	for _, a := range e.Args {
		v.expr(a)
	}
}
