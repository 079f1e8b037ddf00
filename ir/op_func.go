package ir

// CallAttr names the entry point that is called.
type CallAttr struct {
	Func string `attr:"func,positional"`
}

// RepeatAttr describes a repeat: its body runs Count times.
//
// The operands are Carried values (what the body's parameters start with; the body's
// results are their next values and, at last, the node's results), then Invariant values
// (the same in every round), then tables of Count values each, table after table: in
// round i the body's parameter is the table's entry i. The body's parameters stand in
// that order, one for each carried value, invariant and table. Tables hold weights and
// states.
type RepeatAttr struct {
	Count     int64 `attr:"count"`
	Carried   int   `attr:"carried"`
	Invariant int   `attr:"invariant"`
}

// ForeignAttr describes a node of unknown origin.
type ForeignAttr struct {
	Op     string `attr:"op,positional"` // the name it has where it comes from, such as MUL_MAT
	Source string `attr:"source,default="`
	Srcs   []int  `attr:"srcs"` // source positions of the operands, where some are absent
}
