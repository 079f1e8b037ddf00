package plan

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

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
	origins *flow.Origins
	of      []int32  // by the number of an origin: the buffer that it is in now
	list    []buffer // by id
}

// newBuffers returns the buffers with the sharing that has to be: see EachCarried.
func newBuffers(f *ir.Func, o *flow.Origins) *buffers {
	b := &buffers{origins: o, of: make([]int32, len(o.List)), list: make([]buffer, len(o.List))}
	for i, v := range o.List {
		x := &b.list[i]
		x.value, x.last, x.id = v, x, int32(i)
		b.of[i] = x.id
	}
	flow.EachCarried(f, func(x, y *ir.Value) { b.join(b.get(x), b.get(y)) })
	return b
}

// get returns the buffer where v's bytes lie.
func (b *buffers) get(v *ir.Value) *buffer { return &b.list[b.of[b.origins.Get(v)]] }

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
