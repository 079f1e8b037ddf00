package passes

import "github.com/ggmlc/ggmlc/ir"

// origins knows for each value of an entry point, and of the bodies in it, to which origin its bytes
// belong. Origins are numbered in the order in which they are defined.
type origins struct {
	numbers *numbering
	of      []int32     // by the value's number: its origin's
	list    []*ir.Value // the origins
	kinds   []originKind
	slots   bool // of some origin there are several instances
	used    *usedOrigins
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
	plainOrigin   originKind = iota
	fixedOrigin              // a weight or a constant, or entries of a table of these: nothing writes it
	stateOrigin              // likewise
	entryOrigin              // a parameter of the entry point
	resultOrigin             // which the caller reads where he wants results; see newPlanner
	privateOrigin            // every worker has it for itself
)

// newOrigins numbers the origins of an entry point.
func newOrigins(f *ir.Func) *origins { return (&origins{numbers: newNumbering(f)}).numbered(f) }

// newUsedOrigins numbers them and lists those that nodes use.
func newUsedOrigins(f *ir.Func) *origins {
	numbers := newNumbering(f)
	used := &usedOrigins{list: make([]int32, 0, numbers.used), of: make([]usedBy, numbers.nodes)}
	return (&origins{numbers: numbers, used: used}).numbered(f)
}

func (o *origins) numbered(f *ir.Func) *origins {
	o.of = make([]int32, o.numbers.values)
	o.list, o.kinds = make([]*ir.Value, 0, o.numbers.values), make([]originKind, 0, o.numbers.values)
	o.number(f)
	return o
}

// number numbers the origins of f and of the bodies in it. What a value names stands before it.
func (o *origins) number(f *ir.Func) {
	for _, v := range f.Params {
		o.note(v, kindOfParam(v))
	}
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			o.number(n.Body)
		}
		o.slots = o.slots || n.Submit != nil && n.Submit.Slots > 1
		for _, v := range n.Results {
			o.note(v, kindOfResult(n))
		}
		if o.used != nil {
			o.use(n)
		}
	}
}

// use lists what n uses.
func (o *origins) use(n *ir.Node) {
	u := o.used
	from := int32(len(u.list))
	for _, v := range n.Args {
		id := none
		if v != nil {
			id = o.get(v)
		}
		u.list = append(u.list, id)
	}
	results := int32(len(u.list))
	for _, v := range n.Results {
		u.list = append(u.list, o.get(v))
	}
	u.of[o.numbers.node(n)] = usedBy{from, from + int32(len(n.Sources())), results, int32(len(u.list))}
}

// operands returns the origins of the operands of the node with a number.
func (u *usedOrigins) operands(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.from:by.results]
}

// read returns those of the operands that are [ir.Node.Sources].
func (u *usedOrigins) read(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.from:by.read]
}

// results returns the origins of the results of the node with a number.
func (u *usedOrigins) results(node int32) []int32 {
	by := &u.of[node]
	return u.list[by.results:by.to]
}

func (o *origins) note(v *ir.Value, kind originKind) {
	at := &o.of[o.numbers.value(v)]
	if from := source(v); from != nil {
		*at = o.get(from)
		return
	}
	*at = int32(len(o.list))
	o.list, o.kinds = append(o.list, v), append(o.kinds, kind)
}

func kindOfResult(n *ir.Node) originKind {
	switch {
	case n.Op == ir.OpWeight || n.Op == ir.OpConstant:
		return fixedOrigin
	case n.Op == ir.OpState:
		return stateOrigin
	case n.Part.Mode == ir.PartEach:
		return privateOrigin
	}
	return plainOrigin
}

func kindOfParam(v *ir.Value) originKind {
	kind, _ := paramKind(v)
	switch {
	case kind == paramEntry:
		return entryOrigin
	case kind == paramTable && isFixed(v):
		return fixedOrigin
	case kind == paramTable && isLeaf(v, ir.OpState):
		return stateOrigin
	}
	return plainOrigin
}

// get returns the number of the origin of v. No view is followed for it: that would be a look at
// nodes that are far apart.
func (o *origins) get(v *ir.Value) int32 { return o.of[o.numbers.value(v)] }

// joinCarried gives origins that have to share bytes one number: that of the first of them.
func (o *origins) joinCarried(f *ir.Func) {
	same := make(map[int32]int32) // a smaller one for each but the first
	first := func(id int32) int32 {
		for next, ok := same[id]; ok; next, ok = same[id] {
			id = next
		}
		return id
	}
	eachCarried(f, func(x, y *ir.Value) {
		if a, b := first(o.get(x)), first(o.get(y)); a != b {
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

// eachCarried calls do with pairs of values that have to share bytes: a carried value of a repeat is one
// buffer from what it starts with to what comes out.
func eachCarried(f *ir.Func, do func(x, y *ir.Value)) {
	for _, n := range f.Nodes {
		if n.Op != ir.OpRepeat {
			continue
		}
		eachCarried(n.Body, do)
		for i := range n.Attr.(*ir.RepeatAttr).Carried {
			for _, v := range []*ir.Value{n.Body.Params[i], n.Body.Results[i], n.Results[i]} {
				do(n.Args[i], v)
			}
		}
	}
}

// buffer is a set of values that share bytes, one after the other. Views and aliases are
// not listed: their origin is. A function has very many, so what few need stands elsewhere.
type buffer struct {
	value *ir.Value // its first origin; see values
	next  *buffer   // another buffer has taken this one over, or this one the next, for its origin
	last  *buffer   // of those that hang together by next, this one first
	chain *chain    // what is known of several values; see timeline.chainOf
	id    int32     // the number of its first origin

	// Of plan:
	slots int32 // how many instances there are
	arena int32 // among those of the entry point; see planner.sort
	class ir.Class
	gone  bool // another buffer has taken it over
}

// values calls yield with the origins in order.
func (b *buffer) values(yield func(*ir.Value) bool) {
	for x := b; x != nil && yield(x.value); x = x.next {
	}
}

// buffers knows the buffer of every value of an entry point and of the bodies in it.
type buffers struct {
	origins *origins
	of      []int32  // by the number of an origin: the buffer that it is in now
	list    []buffer // by id
}

// newBuffers returns the buffers with the sharing that has to be: see eachCarried.
func newBuffers(f *ir.Func, o *origins) *buffers {
	b := &buffers{origins: o, of: make([]int32, len(o.list)), list: make([]buffer, len(o.list))}
	for i, v := range o.list {
		x := &b.list[i]
		x.value, x.last, x.id = v, x, int32(i)
		b.of[i] = x.id
	}
	eachCarried(f, func(x, y *ir.Value) { b.join(b.get(x), b.get(y)) })
	return b
}

// get returns the buffer where v's bytes lie.
func (b *buffers) get(v *ir.Value) *buffer { return &b.list[b.of[b.origins.get(v)]] }

// join makes one buffer of two.
func (b *buffers) join(x, y *buffer) *buffer {
	if x == y {
		return x
	}
	if y.id < x.id {
		x, y = y, x
	}
	for v := y; v != nil; v = v.next {
		b.of[v.id] = x.id
	}
	x.last.next, x.last = y, y.last
	y.gone = true
	return x
}

// all calls yield with the buffers in the order of their first values.
func (b *buffers) all(yield func(*buffer) bool) {
	for id := range b.list {
		if x := &b.list[id]; !x.gone && !yield(x) {
			return
		}
	}
}
