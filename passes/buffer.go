package passes

import "github.com/ggmlc/ggmlc/ir"

// buffer is a set of values that share bytes, one after the other. Views and aliases are
// not listed: their origin is. A function has very many, so what few need stands elsewhere.
type buffer struct {
	id    int       // below the number of values
	value *ir.Value // its first origin; see values
	next  *buffer   // another buffer has taken this one over, or this one the next, for its origin
	last  *buffer   // of those that hang together by next, this one first

	// Of plan, for which buffers are not joined but by planner.join:
	chain *chain // what is known of several values; see timeline.chainOf
	slots int32  // how many instances there are
	arena int32  // among those of the entry point; see planner.sort
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
	numbers *numbering
	first   []int32   // by the value's number: the id of the buffer that its origin alone was
	of      []*buffer // by that id: the buffer that has taken it over since, or itself
	list    []buffer  // by id, in the order of the first values
}

// newBuffers returns the buffers with the sharing that has to be: a carried value of a
// repeat is one buffer from what it starts with to what comes out.
func newBuffers(f *ir.Func) *buffers {
	b := &buffers{numbers: newNumbering(f)}
	b.first = make([]int32, b.numbers.values)
	owners := b.owners(make([]*ir.Value, 0, b.numbers.values), f)
	b.of = make([]*buffer, len(owners))
	b.list = make([]buffer, len(owners))
	for id, v := range owners {
		x := &b.list[id]
		x.id, x.value, x.last = id, v, x
		b.of[id] = x
	}
	b.joinCarried(f)
	return b
}

// owners appends the values of f, and of the bodies in it, that have bytes of their own, and notes
// for all values which of these owns their bytes: it stands before them.
func (b *buffers) owners(list []*ir.Value, f *ir.Func) []*ir.Value {
	for _, v := range f.Params {
		list = b.owner(list, v)
	}
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			list = b.owners(list, n.Body)
		}
		for _, v := range n.Results {
			list = b.owner(list, v)
		}
	}
	return list
}

func (b *buffers) owner(list []*ir.Value, v *ir.Value) []*ir.Value {
	if from := source(v); from != nil {
		b.first[b.numbers.value(v)] = b.first[b.numbers.value(from)]
		return list
	}
	b.first[b.numbers.value(v)] = int32(len(list))
	return append(list, v)
}

func (b *buffers) joinCarried(f *ir.Func) {
	for _, n := range f.Nodes {
		if n.Op != ir.OpRepeat {
			continue
		}
		b.joinCarried(n.Body)
		for i := range n.Attr.(*ir.RepeatAttr).Carried {
			all := b.get(n.Args[i])
			for _, v := range []*ir.Value{n.Body.Params[i], n.Body.Results[i], n.Results[i]} {
				all = b.join(all, b.get(v))
			}
		}
	}
}

// get returns the buffer where v's bytes lie. No view is followed for it: that would be a look at
// nodes that are far apart.
func (b *buffers) get(v *ir.Value) *buffer { return b.of[b.first[b.numbers.value(v)]] }

// join makes one buffer of two.
func (b *buffers) join(x, y *buffer) *buffer {
	if x == y {
		return x
	}
	if y.id < x.id {
		x, y = y, x
	}
	for v := range y.values {
		b.of[b.first[b.numbers.value(v)]] = x
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
