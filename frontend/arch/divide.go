package arch

import "github.com/ggmlc/ggmlc/ir"

// What devices may divide (ir.Division), stated by the parts that read the weights.

// divide states that devices may divide the matrix of a product of the layer along an axis, and with its rows the bias.
// along is the dimension of the model, of so many units.
func (g *graph) divide(name, along string, axis int, units int64, sizes ...int64) {
	g.divideBy(name, ir.Division{Name: along, Axis: axis, Units: units, Sizes: sizes})
}

// divideBy is divide for any division.
func (g *graph) divideBy(name string, d ir.Division) {
	g.b.Divide(g.name(name+".weight"), d)
	if d.Axis == 0 {
		g.b.Divide(g.name(name+".bias"), d)
	}
}

// divideInner is divide for the dimension between products: the rows of some, which have so many segments of it, and
// the columns of the one after them.
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

// divide states that devices may divide the heads of a layer: those of queries, with the heads of keys and values that
// they read, which are of that layer or of another one. Several devices may read one.
func (h heads) divide(g *graph, of int64) {
	name := g.shared("heads")
	if of != g.layer {
		name = layerName(of, "heads")
	}
	q := ir.Division{Name: name, Units: h.count, Sizes: []int64{h.count * h.k}}
	kv := func(axis int, size int64) ir.Division {
		d := ir.Division{Name: q.Name, Axis: axis, Units: h.count, Sizes: []int64{h.kv * size}}
		if h.kv < h.count {
			d.Pieces = []int64{h.kv}
		}
		return d
	}
	all := ir.Division{Name: q.Name, Units: h.count, Sizes: []int64{h.count * h.k, h.kv * h.k, h.kv * h.v}}
	if h.kv < h.count {
		all.Pieces = []int64{h.count, h.kv, h.kv}
	}
	g.divideBy("attn_q", q)
	g.divideBy("attn_k", kv(0, h.k))
	g.divideBy("attn_v", kv(0, h.v))
	g.divideBy("attn_qkv", all)
	g.divide("attn_output", q.Name, 1, h.count, h.count*h.v)
	g.divide("attn_sinks", q.Name, 0, h.count, h.count)
	for _, state := range []string{"keys", "values"} {
		g.b.Divide(g.shared(state), kv(1, 1))
	}
}

// divide states that devices may divide the heads of a latent attention. What all heads share, every device with a head
// has: the short vectors, the cache of an absorbed form and its matrices, which indexes of heads choose. All layers are
// divided alike, as they have the matrices in common that repeat the rotated part of keys.
func (a latentAttention) divide(g *graph) {
	along := func(axis int, size, pieces int64) ir.Division {
		d := ir.Division{Name: "heads", Axis: axis, Units: a.count, Sizes: []int64{size}}
		if pieces < a.count {
			d.Pieces = []int64{pieces}
		}
		return d
	}
	for _, name := range []string{"attn_q", "attn_q_b"} {
		g.divideBy(name, along(0, a.count*(a.still+a.turned), a.count))
	}
	g.divideBy("attn_q_a", along(0, max(a.queries, 1), 1))
	g.divideBy("attn_kv_a_mqa", along(0, a.rank+a.turned, 1))
	g.divideBy("attn_k_b", along(0, a.count, 1))
	g.divideBy("attn_v_b", along(0, a.count, 1))
	g.divideBy("attn_kv_b", along(0, a.count*(a.still+a.value), a.count))
	g.b.Divide(unitName(a.count, a.turned), along(0, a.count*a.turned, a.count))
	g.divideBy("attn_output", along(1, a.count*a.value, a.count))
	kv := a.cached().kv
	for _, state := range []string{"keys", "values"} {
		g.b.Divide(g.shared(state), along(1, kv, kv))
	}
}
