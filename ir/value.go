package ir

// Value is a tensor: a parameter of a function or a result of a node. It has one definition. The fields
// that most walks read are first, so that they share a cache line.
type Value struct {
	// ID is dense within the function and stable while the function is not compacted.
	ID int

	Func *Func

	// Def is the node that defines the value; nil for a parameter. Index is the position among its
	// results, or among the function's parameters.
	Def   *Node
	Index int

	Type Type

	name string

	// Place is the address of the value's bytes, set by plan. It is nil for views and for values that
	// alias an operand: their bytes are those of Root.
	Place *Place
}

// Place is an address: a chunk of an arena and a constant offset in it.
type Place struct {
	Arena  int   // index in Plan.Arenas
	Chunk  int   // index in Arena.Chunks
	Offset int64 // bytes from the start of the chunk
	Bytes  int64 // bytes reserved, at the symbols' upper bounds
}

// Name returns the name of v, which is unique within its function. The text form shows it after %.
func (v *Value) Name() string { return v.name }

// IsParam reports whether v is a parameter of its function.
func (v *Value) IsParam() bool { return v.Def == nil }

// Source returns the operand whose bytes v names or takes over by definition: that of a view, or the
// aliased operand of an op such as state_write. It returns nil if v has its own bytes.
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

// Root returns the value that owns the bytes of v: the end of its chain of views and aliases, which may
// be v.
func (v *Value) Root() *Value {
	for s := v.Source(); s != nil; s = v.Source() {
		v = s
	}
	return v
}

// MaxBytes returns the bytes from the first to the last of v at the upper bounds of the symbols.
// Foreign values may have more than their type needs.
func (v *Value) MaxBytes() int64 {
	if v.Def != nil {
		if a := v.Def.foreign(); a != nil && a.Bytes > 0 {
			return a.Bytes
		}
	}
	return v.Type.MaxBytes()
}

// Slots returns the number of instances of v's bytes, at least 1. They follow each other in the arena,
// each aligned; step s uses instance s mod Slots. Parameters and results of a repeat's body have the
// bytes, and so the instances, of the operands and results of the repeat.
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

// passed returns the operand of a repeat whose bytes v has: as a parameter of the body in the first
// iteration, or as a result of the repeat after the last one. It returns nil for other values.
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

// IsWeight reports whether v is a weight or constant, or a view of one.
func (v *Value) IsWeight() bool {
	r := v.Root()
	return r.Def != nil && (r.Def.Op == OpWeight || r.Def.Op == OpConstant)
}

// String returns the value as the text form names it.
func (v *Value) String() string { return "%" + quoteName(v.Name()) }
