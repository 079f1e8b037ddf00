package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// Origins is a table of the origins (see origin.go) of all values of an entry point and of the bodies in it. Origins
// are numbered in the order of their definitions.
type Origins struct {
	Numbers *Numbering
	of      []int32      // by the value's number: the number of its origin
	List    []*ir.Value  // by the origin's number
	Kinds   []OriginKind // by the origin's number
	Slots   bool         // there are several instances of some origin
	Used    *UsedOrigins // nil unless NewUsedOrigins made the table
}

// UsedOrigins lists the origins of the operands and results of each node.
type UsedOrigins struct {
	list []int32  // node after node; None for an operand that is absent
	of   []usedBy // by the number of a node
}

// usedBy is a node's range of the list: from operands, up to read of which it reads, results, and to their end.
type usedBy struct{ from, read, results, to int32 }

// OriginKind is what an origin is.
type OriginKind uint8

// The kinds of origins.
const (
	PlainOrigin   OriginKind = iota
	FixedOrigin              // a weight or a constant, or entries of a table of these: no node writes it
	StateOrigin              // a state, or entries of a table of states
	EntryOrigin              // a parameter of the entry point
	ResultOrigin             // a result of the entry point, in the caller's buffer; only package plan sets it
	PrivateOrigin            // every worker has one of its own
)

// NewOrigins numbers the origins of an entry point.
func NewOrigins(f *ir.Func) *Origins { return (&Origins{Numbers: NewNumbering(f)}).numbered(f) }

// NewUsedOrigins numbers the origins of an entry point and lists those that its nodes use.
func NewUsedOrigins(f *ir.Func) *Origins {
	numbers := NewNumbering(f)
	used := &UsedOrigins{list: make([]int32, 0, numbers.used), of: make([]usedBy, numbers.Nodes)}
	return (&Origins{Numbers: numbers, Used: used}).numbered(f)
}

func (o *Origins) numbered(f *ir.Func) *Origins {
	o.of = make([]int32, o.Numbers.Values)
	o.List, o.Kinds = make([]*ir.Value, 0, o.Numbers.Values), make([]OriginKind, 0, o.Numbers.Values)
	o.number(f)
	return o
}

// number numbers the origins of f and of the bodies in it. The value that another one names is defined before it.
func (o *Origins) number(f *ir.Func) {
	for _, v := range f.Params {
		o.note(v, kindOfParam(v))
	}
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			o.number(n.Body)
		}
		o.Slots = o.Slots || n.Submit != nil && n.Submit.Slots > 1
		for _, v := range n.Results {
			o.note(v, kindOfResult(n))
		}
		if o.Used != nil {
			o.use(n)
		}
	}
}

// use appends the operands and results of n to the list.
func (o *Origins) use(n *ir.Node) {
	u := o.Used
	from := int32(len(u.list))
	for _, v := range n.Args {
		id := None
		if v != nil {
			id = o.Get(v)
		}
		u.list = append(u.list, id)
	}
	results := int32(len(u.list))
	for _, v := range n.Results {
		u.list = append(u.list, o.Get(v))
	}
	u.of[o.Numbers.Node(n)] = usedBy{from, from + int32(len(n.Sources())), results, int32(len(u.list))}
}

// Operands returns the origins of the operands of the node with that number.
func (u *UsedOrigins) Operands(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.from:by.results]
}

// Read returns the origins of the operands that are [ir.Node.Sources].
func (u *UsedOrigins) Read(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.from:by.read]
}

// Results returns the origins of the results of the node with that number.
func (u *UsedOrigins) Results(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.results:by.to]
}

// note adds v as an origin of that kind, unless v names the bytes of another one.
func (o *Origins) note(v *ir.Value, kind OriginKind) {
	at := &o.of[o.Numbers.Value(v)]
	if from := Source(v); from != nil {
		*at = o.Get(from)
		return
	}
	*at = int32(len(o.List))
	o.List, o.Kinds = append(o.List, v), append(o.Kinds, kind)
}

func kindOfResult(n *ir.Node) OriginKind {
	switch {
	case n.Op == ir.OpWeight || n.Op == ir.OpConstant:
		return FixedOrigin
	case n.Op == ir.OpState:
		return StateOrigin
	case n.Part.Mode == ir.PartReplicated:
		return PrivateOrigin
	}
	return PlainOrigin
}

func kindOfParam(v *ir.Value) OriginKind {
	role, _ := ParamKind(v)
	switch {
	case role == ParamEntry:
		return EntryOrigin
	case role == ParamTable && IsFixed(v):
		return FixedOrigin
	case role == ParamTable && IsLeaf(v, ir.OpState):
		return StateOrigin
	}
	return PlainOrigin
}

// Get returns the number of the origin of v.
func (o *Origins) Get(v *ir.Value) int32 { return o.of[o.Numbers.Value(v)] }

// JoinCarried gives one number to the origins that share a buffer because a repeat carries it: that of the first of
// them. The table same is a union-find without ranks: it maps an origin to a smaller one of its set.
func (o *Origins) JoinCarried(f *ir.Func) {
	same := make(map[int32]int32)
	first := func(id int32) int32 {
		for next, ok := same[id]; ok; next, ok = same[id] {
			id = next
		}
		return id
	}
	EachCarried(f, func(x, y *ir.Value) {
		if a, b := first(o.Get(x)), first(o.Get(y)); a != b {
			same[max(a, b)] = min(a, b)
		}
	})
	if len(same) == 0 {
		return
	}
	for i, id := range o.of {
		o.of[i] = first(id)
	}
}

// EachCarried calls do with pairs of values that have to share bytes. A carried value of a repeat is one buffer: the
// operand that it starts with, the body's parameter and result, and the result of the repeat.
func EachCarried(f *ir.Func, do func(x, y *ir.Value)) {
	for _, n := range f.Nodes {
		if n.Op != ir.OpRepeat {
			continue
		}
		EachCarried(n.Body, do)
		for i := range n.Attr.(*ir.RepeatAttr).Carried {
			for _, v := range []*ir.Value{n.Body.Params[i], n.Body.Results[i], n.Results[i]} {
				do(n.Args[i], v)
			}
		}
	}
}
