package partition

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// buffers tells which values have the same bytes: a view and its origin, and the values that a repeat carries. It maps
// an origin to another one of its buffer, until the last one of this chain represents the buffer. In
//
//	%r = repeat 8 (%x)   the body has the parameter %p and returns %h
//
// %p, %h and %r are mapped to %x.
type buffers map[*ir.Value]*ir.Value

func newBuffers(f *ir.Func) buffers {
	b := make(buffers)
	flow.EachCarried(f, func(v, w *ir.Value) {
		if x, y := b.of(v), b.of(w); x != y {
			b[y] = x
		}
	})
	return b
}

// of returns the value that represents the buffer of v.
func (b buffers) of(v *ir.Value) *ir.Value {
	v = flow.Origin(v)
	for b[v] != nil {
		v = b[v]
	}
	return v
}
