package ir

// Value is a tensor: a parameter of a function or one result of a node. It is defined
// once. What is asked of operands most often fills the first 64 bytes: a line of the cache.
type Value struct {
	// ID is dense within the function and stable while the function is not compacted.
	ID int

	Func *Func

	// Def is the node that defines the value, nil for a parameter. Index is the position
	// among its results, or among the function's parameters.
	Def   *Node
	Index int

	Type Type

	// Name is unique within the function; it is what the text form shows after %.
	Name string

	// Place is where the value's bytes lie once the plan is made; nil for views and for
	// values that alias an operand, which lie where the value behind them lies.
	Place *Place
}

// Place is an address: a chunk of an arena and a constant offset in it.
type Place struct {
	Arena  int   // index in Plan.Arenas
	Chunk  int   // index in Arena.Chunks
	Offset int64 // bytes from the start of the chunk
	Bytes  int64 // bytes reserved, at the symbols' upper bounds
}

// IsParam reports whether v is a parameter of its function.
func (v *Value) IsParam() bool { return v.Def == nil }

// Source returns the operand whose bytes v names or takes over by definition: that of a
// view, or the aliased operand of an in-place op such as state_write. It returns nil
// where v has bytes of its own.
func (v *Value) Source() *Value {
	if v.Def == nil || v.Index != 0 {
		return nil
	}
	if a := v.Def.foreign(); a != nil {
		return v.Def.foreignSource(a)
	}
	info := v.Def.Op.Info()
	switch {
	case info.Traits&View != 0:
		return v.Def.Arg(0)
	case info.Traits&Alias != 0:
		return v.Def.Arg(info.AliasArg)
	}
	return nil
}

// Root returns the value that owns the bytes of v: v itself, or what its chain of views
// and aliases ends at.
func (v *Value) Root() *Value {
	for s := v.Source(); s != nil; s = v.Source() {
		v = s
	}
	return v
}

// MaxBytes returns the bytes from the first to the last of v, at the symbols' upper bounds.
// It is what its type needs, but for foreign values, which may say otherwise.
func (v *Value) MaxBytes() int64 {
	if v.Def != nil {
		if a := v.Def.foreign(); a != nil && a.Bytes > 0 {
			return a.Bytes
		}
	}
	return v.Type.MaxBytes()
}

// Slots returns how many instances of v's bytes there are, at least 1; they follow each
// other in its arena, each aligned. Step s uses instance s mod Slots. The parameters of a
// repeat's body, and its results, have the bytes and so the instances of what they stand
// for.
func (v *Value) Slots() int {
	r := v.Root()
	if from := r.passed(); from != nil {
		return from.Slots()
	}
	if r.Def != nil && r.Def.Submit != nil {
		return max(r.Def.Submit.Slots, 1)
	}
	return 1
}

// passed returns the operand of a repeat whose bytes a parameter of the body has in the
// first round, or a result of the repeat after the last one; nil for other values.
func (v *Value) passed() *Value {
	at, i := v.Def, v.Index
	if v.IsParam() {
		at = v.Func.Owner
	}
	if at == nil || at.Op != OpRepeat {
		return nil
	}
	a := at.Attr.(*RepeatAttr)
	if fixed := a.Carried + a.Invariant; i >= fixed {
		i = fixed + (i-fixed)*int(a.Count)
	}
	return at.Arg(i)
}

// IsWeight reports whether v is, or is a view of, a weight or constant.
func (v *Value) IsWeight() bool {
	r := v.Root()
	return r.Def != nil && (r.Def.Op == OpWeight || r.Def.Op == OpConstant)
}

// String returns the value as the text form names it.
func (v *Value) String() string { return "%" + quoteName(v.Name) }
