package plan

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
)

// buffer is a set of values that share bytes, one after the other in time. Values that name bytes of another one, such
// as views, are not listed; their origin is.
type buffer struct {
	values []*ir.Value
	events []event // of all values, in order; see compareEvents
	class  ir.Class
	slots  int // how many instances there are

	id     int       // buffers are in the order of their first values
	joined bool      // another buffer has the values now
	taken  *takeover // nil until a result takes over the bytes
}

// name returns the name of the first value.
func (b *buffer) name() string { return b.values[0].Name() }

// space returns the space of the bytes.
func (b *buffer) space() string { return flow.SpaceOf(&b.values[0].Type) }

// isPlaced reports whether plan packs the buffer for each entry point. It does not pack weights and states.
func (b *buffer) isPlaced() bool { return b.class != ir.ClassWeights && b.class != ir.ClassState }

// buffers are those of an entry point and of the bodies in it.
type buffers struct {
	list []*buffer // by id
	of   ir.ValueTable[*buffer]
}

// newBuffers returns the buffers before any result takes over bytes. What a repeat carries is one buffer: the value
// that it starts with, the parameter and the result of its body, and its result.
func newBuffers(f *ir.Func, t *Timeline) *buffers {
	b := new(buffers)
	for id, v := range flow.Origins(f) {
		x := &buffer{id: id, values: []*ir.Value{v}, events: slices.Clip(t.Of(v))}
		b.list = append(b.list, x)
		*b.of.At(v) = x
	}
	flow.EachCarried(f, func(v, w *ir.Value) {
		if x, y := b.get(v), b.get(w); x.id < y.id {
			b.join(x, y, mergeEvents(x.events, y.events))
		} else if y.id < x.id {
			b.join(y, x, mergeEvents(y.events, x.events))
		}
	})
	results := make(map[*ir.Value]bool)
	for _, r := range f.Results {
		results[flow.Origin(r)] = true
	}
	for x := range b.all {
		x.class = classOfAll(x.values, results)
		for _, v := range x.values {
			x.slots = max(x.slots, v.Slots())
		}
	}
	return b
}

// get returns the buffer with the bytes of v.
func (b *buffers) get(v *ir.Value) *buffer { return *b.of.At(flow.Origin(v)) }

// all yields the buffers in the order of their first values.
func (b *buffers) all(yield func(*buffer) bool) {
	for _, x := range b.list {
		if !x.joined && !yield(x) {
			return
		}
	}
}

// join gives the values of y to x, which is the earlier buffer, and x the events of both.
func (b *buffers) join(x, y *buffer, events []event) {
	for _, v := range y.values {
		*b.of.At(v) = x
	}
	x.values = append(x.values, y.values...)
	x.events = events
	y.joined = true
}

// classOfAll returns the class of a buffer with these values. results are those of the entry point.
func classOfAll(values []*ir.Value, results map[*ir.Value]bool) ir.Class {
	class := ir.ClassActivations
	for _, v := range values {
		switch c := classOf(v, results); c {
		case ir.ClassWeights, ir.ClassState:
			return c
		case ir.ClassIO, ir.ClassScratch:
			class = c
		}
	}
	return class
}

// classOf returns the class of an origin by itself. Results of foreign nodes stay among activations, where the caller
// reads them.
func classOf(v *ir.Value, results map[*ir.Value]bool) ir.Class {
	kind, _ := flow.ParamKind(v)
	switch {
	case flow.IsFixed(v):
		return ir.ClassWeights
	case flow.IsLeaf(v, ir.OpState):
		return ir.ClassState
	case kind == flow.ParamEntry || results[v] && !flow.IsForeign(v):
		return ir.ClassIO
	case v.Def != nil && v.Def.Part.Mode == ir.PartReplicated:
		return ir.ClassScratch
	}
	return ir.ClassActivations
}
