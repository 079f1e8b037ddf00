package arch

import (
	"fmt"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// latentAttention is attention whose keys and values are made of a short vector c for each position and of one rotated
// part of keys that all heads share (DeepSeek-AI 2024, "DeepSeek-V2", section 2.1). A head of queries and keys has
// elements that are not rotated (n) and others that are (r). Files have one of two forms:
//
//   - attn_kv_b makes keys and values of c. All heads have their own in the cache.
//   - attn_k_b and attn_v_b have a matrix for each head. As q·(K c) = (Kᵀ q)·c, queries are multiplied by the matrix
//     of keys, and what attention sums, values c, by that of values. The cache has r and c, and c once more as values.
type latentAttention struct {
	count    int64 // heads
	still    int64 // elements of a head of queries and keys that are not rotated
	turned   int64 // and that are
	value    int64 // elements of a head of values
	queries  int64 // length of the vector that queries are made of; 0: the hidden state
	rank     int64 // length of c
	absorbed bool  // the file has matrices for each head
	qNorm    norm
	norm     norm // of c
	rope     *rope
	scale    float64
}

// latentAttention reads the numbers of a latent attention and checks that they are consistent.
func (m *model) latentAttention(pairs ir.RopeAttr) latentAttention {
	a := latentAttention{count: m.count("attention.head_count", 1, maxHeads), rank: m.count("attention.kv_lora_rank", 1, maxWidth)}
	a.turned = m.count("rope.dimension_count", 2, maxWidth)
	a.absorbed = m.file.Has(m.key("attention.key_length_mla"))
	kv, key := a.count, m.key("attention.key_length")
	if a.absorbed {
		kv, key = 1, m.key("attention.key_length_mla")
		a.still, a.value = m.count("attention.key_length_mla", 1, maxWidth), m.count("attention.value_length_mla", 1, maxWidth)
		m.must("attention.key_length", a.rank+a.turned)
		m.must("attention.value_length", a.rank)
		m.perHead = a.count
	} else {
		a.still, a.value = m.count("attention.key_length", 1, maxWidth), m.count("attention.value_length", 1, maxWidth)
	}
	m.must("attention.head_count_kv", kv)
	if m.file.Has(m.key("attention.q_lora_rank")) {
		a.queries = m.count("attention.q_lora_rank", 1, maxWidth)
		a.qNorm = m.rmsNorm("attn_q_a_norm").over(a.queries)
	}
	a.norm = m.rmsNorm("attn_kv_a_norm").over(a.rank)
	if a.still <= a.turned && !m.errs.Any() {
		m.fail(m.file.KeyError(key, "%d elements, of which %d are rotated: the file is damaged", a.still, a.turned))
	}
	a.scale = 1 / math.Sqrt(float64(a.still))
	a.still = max(1, a.still-a.turned)
	m.checkKV(a.cached())
	a.rope = m.rope(a.turned, pairs)
	return a
}

// must reads a number that others determine.
func (m *model) must(name string, want int64) {
	if n := m.countOr(name, want, 1, maxWidth); n != want && !m.errs.Any() {
		m.fail(m.file.KeyError(m.key(name), "%d, where the other numbers of %s ask for %d: the file is damaged", n, m.arch, want))
	}
}

// cached returns the heads that the cache has.
func (a latentAttention) cached() heads {
	if a.absorbed {
		return heads{count: a.count, kv: 1, k: a.turned + a.rank, v: a.rank}
	}
	return heads{count: a.count, kv: a.count, k: a.turned + a.still, v: a.value}
}

func (a latentAttention) apply(g *graph, x *ir.Value) *ir.Value {
	f, h := g.f, a.cached()
	q := splitHeads(f, a.project(g, x), a.count, a.still+a.turned)
	still, turned := cut(f, q, 0, a.still), a.rope.turn(g, cut(f, q, a.still, a.turned))
	both := splitHeads(f, g.linear(x, "attn_kv_a_mqa", a.rank+a.turned, g.embd, absent), 1, a.rank+a.turned)
	c := a.norm.apply(g, cut(f, both, 0, a.rank))
	shared := a.rope.turn(g, cut(f, both, a.rank, a.turned))
	var k, v *ir.Value
	if a.absorbed {
		still = g.productPerHead(still, "attn_k_b", a.count, a.rank, a.still)
		k, v = c, c
	} else {
		y := splitHeads(f, g.linear(joinHeads(f, c), "attn_kv_b", a.count*(a.still+a.value), a.rank, absent), a.count, a.still+a.value)
		k, v, shared = cut(f, y, 0, a.still), cut(f, y, a.still, a.value), g.repeated(shared, a.count, a.turned)
	}
	q, k = g.grown(f.Concat(2, turned, still), h.count, h.k), f.Concat(2, shared, k)
	ks, vs := g.keep("keys", g.cache(0), h.kv, h.k, k), g.keep("values", g.cache(0), h.kv, h.v, v)
	y := f.Attention(q, ks, vs, g.in.slot, g.in.pos, g.in.lengths, nil, ir.AttentionAttr{Scale: float32(a.scale)})
	if a.absorbed {
		y = g.productPerHead(y, "attn_v_b", a.count, a.value, a.rank)
	}
	out := g.linear(joinHeads(f, y), "attn_output", g.embd, a.count*a.value, absent)
	a.divide(g)
	return out
}

// project makes the queries of all heads.
func (a latentAttention) project(g *graph, x *ir.Value) *ir.Value {
	size := a.count * (a.still + a.turned)
	if a.queries == 0 {
		return g.linear(x, "attn_q", size, g.embd, absent)
	}
	short := a.qNorm.apply(g, g.linear(x, "attn_q_a", a.queries, g.embd, absent))
	return g.linear(short, "attn_q_b", size, a.queries, absent)
}

// cut views n elements of each head of x [tokens, heads, size].
func cut(f *ir.FuncBuilder, x *ir.Value, first, n int64) *ir.Value {
	return f.Slice(x, 2, ir.Const(first), ir.Const(n))
}

// productPerHead multiplies each head of x [tokens, heads, cols] by a matrix of its own.
func (g *graph) productPerHead(x *ir.Value, name string, heads, rows, cols int64) *ir.Value {
	return g.f.ExpertsMatMul(x, g.matrix(name+".weight", heads, rows, cols), g.headIndices)
}

// indicesOfHeads returns [tokens, heads] with the number of each head: the order of numbers that fall. They are made of
// cosines of 0 and sines of 0, as the function has no other value that is known to be finite.
func (g *graph) indicesOfHeads(heads int64) *ir.Value {
	f, pairs := g.f, (heads+1)/2
	zeros, falling := make([]float64, pairs), make([]float64, 2*pairs)
	for i := range falling {
		falling[i] = float64(2 * (len(falling) - i))
	}
	g.declareLiteral("heads.angles", zeros, pairs)
	g.declareLiteral("heads.order", falling, 2*pairs)
	x := f.RopeTable(g.in.pos, f.Weight("heads.angles"), 1)
	x = f.Add(f.Reshape(x, x.Type.Shape[0], ir.Const(2*pairs)), f.Weight("heads.order"))
	return f.TopK(f.Slice(x, 1, ir.Const(0), ir.Const(heads)), int(heads))
}

// unitName returns the name of unit matrices, one for each head, that repeat a vector.
func unitName(heads, size int64) string { return fmt.Sprintf("unit.%d.%d", heads, size) }

// repeated returns x [tokens, 1, size] for each of some heads: the product with as many unit matrices, which is exact.
func (g *graph) repeated(x *ir.Value, heads, size int64) *ir.Value {
	name := unitName(heads, size)
	unit := make([]float64, size*size)
	for i := range size {
		unit[i*size+i] = 1
	}
	g.declareLiteral(name, slices.Repeat(unit, int(heads)), heads*size, size)
	return splitHeads(g.f, g.f.MatMul(joinHeads(g.f, x), g.f.Weight(name)), heads, size)
}
