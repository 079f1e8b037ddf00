package passes

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// buffer is a set of values that share bytes, one after the other. Views and aliases are
// not listed: their origin is.
type buffer struct {
	id     int         // below the number of values
	values []*ir.Value // origins
	events []event     // of all values, if they are known; see timeline.eventsOf
}

// buffers knows the buffer of every value of an entry point and of the bodies in it.
type buffers struct {
	of map[*ir.Value]*buffer
}

// newBuffers returns the buffers with the sharing that has to be: a carried value of a
// repeat is one buffer from what it starts with to what comes out.
func newBuffers(f *ir.Func) *buffers {
	b := &buffers{of: make(map[*ir.Value]*buffer)}
	b.add(f)
	b.joinCarried(f)
	return b
}

func (b *buffers) add(f *ir.Func) {
	own := func(v *ir.Value) {
		if source(v) == nil {
			b.of[v] = &buffer{id: len(b.of), values: []*ir.Value{v}}
		}
	}
	for _, p := range f.Params {
		own(p)
	}
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			b.add(n.Body)
		}
		for _, r := range n.Results {
			own(r)
		}
	}
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

// get returns the buffer where v's bytes lie.
func (b *buffers) get(v *ir.Value) *buffer { return b.of[origin(v)] }

// join makes one buffer of two.
func (b *buffers) join(x, y *buffer) *buffer {
	if x == y {
		return x
	}
	if y.id < x.id {
		x, y = y, x
	}
	for _, v := range y.values {
		b.of[v] = x
	}
	x.values, x.events = append(x.values, y.values...), nil
	return x
}

// all returns the buffers in the order of their first values.
func (b *buffers) all() []*buffer {
	var list []*buffer
	for v, x := range b.of {
		if x.values[0] == v {
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(x, y *buffer) int { return x.id - y.id })
	return list
}
