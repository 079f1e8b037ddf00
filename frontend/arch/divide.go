package arch

import "github.com/ggmlc/ggmlc/ir"

// What devices may divide (ir.Division), stated by the parts that read the weights.

// divide states that devices may divide the matrix of a product of the layer along an axis, and with its rows the bias.
// along is the dimension of the model, of so many units.
func (g *graph) divide(name, along string, axis int, units int64, sizes ...int64) {
	d := ir.Division{Name: along, Axis: axis, Units: units, Sizes: sizes}
	g.b.Divide(g.name(name+".weight"), d)
	if axis == 0 {
		g.b.Divide(g.name(name+".bias"), d)
	}
}

// divideInner is divide for the dimension between products: the rows of some, which have so many segments of it, and the
// columns of the one after them.
func (g *graph) divideInner(along string, size int64, rows []string, segments int, columns string) {
	along = g.name(along)
	sizes := make([]int64, segments)
	for i := range sizes {
		sizes[i] = size
	}
	for _, name := range rows {
		g.divide(name, along, 0, size, sizes...)
	}
	g.divide(columns, along, 1, size, size)
}

// divide states that devices may divide the heads of a layer: those of keys with the queries that read them, or queries
// alone, if all of them read one head of keys, which every device then has.
func (h heads) divide(g *graph) {
	along, q := g.shared("heads"), h.count*h.k
	if h.kv == 1 {
		g.divide("attn_q", along, 0, h.count, q)
		g.divide("attn_output", along, 1, h.count, h.count*h.v)
		g.divide("attn_sinks", along, 0, h.count, h.count)
		return
	}
	g.divide("attn_q", along, 0, h.kv, q)
	g.divide("attn_k", along, 0, h.kv, h.kv*h.k)
	g.divide("attn_v", along, 0, h.kv, h.kv*h.v)
	g.divide("attn_qkv", along, 0, h.kv, q, h.kv*h.k, h.kv*h.v)
	g.divide("attn_output", along, 1, h.kv, h.count*h.v)
	g.divide("attn_sinks", along, 0, h.kv, h.count)
	for _, state := range []string{"keys", "values"} {
		g.b.Divide(g.shared(state), ir.Division{Name: along, Axis: 1, Units: h.kv, Sizes: []int64{h.kv}})
	}
}
