package flow

import (
	"github.com/ggmlc/ggmlc/ir"
)

// Origins knows for each value of an entry point, and of the bodies in it, to which origin its bytes
// belong. Origins are numbered in the order in which they are defined.
type Origins struct {
	Numbers *Numbering
	of      []int32     // by the value's number: its origin's
	List    []*ir.Value // the origins
	Kinds   []originKind
	Slots   bool // of some origin there are several instances
	Used    *usedOrigins
}

// usedOrigins are the origins of all operands and results, node after node: whoever has this table
// need not look at the values, which lie all over memory.
type usedOrigins struct {
	list []int32  // none for an operand that is absent
	of   []usedBy // by the number of a node
}

// usedBy says where in the list a node's operands begin, where those end that it reads, where its
// results begin, and where they end.
type usedBy struct{ from, read, results, to int32 }

// originKind is what an origin is.
type originKind uint8

const (
	PlainOrigin   originKind = iota
	FixedOrigin              // a weight or a constant, or entries of a table of these: nothing writes it
	StateOrigin              // likewise
	EntryOrigin              // a parameter of the entry point
	ResultOrigin             // which the caller reads where he wants results; see newPlanner
	PrivateOrigin            // every worker has it for itself
)

// NewOrigins numbers the origins of an entry point.
func NewOrigins(f *ir.Func) *Origins { return (&Origins{Numbers: NewNumbering(f)}).numbered(f) }

// NewUsedOrigins numbers them and lists those that nodes use.
func NewUsedOrigins(f *ir.Func) *Origins {
	numbers := NewNumbering(f)
	used := &usedOrigins{list: make([]int32, 0, numbers.used), of: make([]usedBy, numbers.Nodes)}
	return (&Origins{Numbers: numbers, Used: used}).numbered(f)
}

func (o *Origins) numbered(f *ir.Func) *Origins {
	o.of = make([]int32, o.Numbers.Values)
	o.List, o.Kinds = make([]*ir.Value, 0, o.Numbers.Values), make([]originKind, 0, o.Numbers.Values)
	o.number(f)
	return o
}

// number numbers the origins of f and of the bodies in it. What a value names stands before it.
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

// use lists what n uses.
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

// Operands returns the origins of the operands of the node with a number.
func (u *usedOrigins) Operands(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.from:by.results]
}

// Read returns those of the operands that are [ir.Node.Sources].
func (u *usedOrigins) Read(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.from:by.read]
}

// Results returns the origins of the results of the node with a number.
func (u *usedOrigins) Results(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.results:by.to]
}

func (o *Origins) note(v *ir.Value, kind originKind) {
	at := &o.of[o.Numbers.Value(v)]
	if from := Source(v); from != nil {
		*at = o.Get(from)
		return
	}
	*at = int32(len(o.List))
	o.List, o.Kinds = append(o.List, v), append(o.Kinds, kind)
}

func kindOfResult(n *ir.Node) originKind {
	switch {
	case n.Op == ir.OpWeight || n.Op == ir.OpConstant:
		return FixedOrigin
	case n.Op == ir.OpState:
		return StateOrigin
	case n.Part.Mode == ir.PartEach:
		return PrivateOrigin
	}
	return PlainOrigin
}

func kindOfParam(v *ir.Value) originKind {
	kind, _ := ParamKind(v)
	switch {
	case kind == ParamEntry:
		return EntryOrigin
	case kind == ParamTable && IsFixed(v):
		return FixedOrigin
	case kind == ParamTable && IsLeaf(v, ir.OpState):
		return StateOrigin
	}
	return PlainOrigin
}

// Get returns the number of the origin of v. No view is followed for it: that would be a look at
// nodes that are far apart.
func (o *Origins) Get(v *ir.Value) int32 { return o.of[o.Numbers.Value(v)] }

// JoinCarried gives origins that have to share bytes one number: that of the first of them.
func (o *Origins) JoinCarried(f *ir.Func) {
	same := make(map[int32]int32) // a smaller one for each but the first
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

// EachCarried calls do with pairs of values that have to share bytes: a carried value of a repeat is one
// buffer from what it starts with to what comes out.
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
