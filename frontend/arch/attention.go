package arch

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// heads are the numbers of heads and their sizes.
type heads struct {
	count, kv int64 // heads of queries; of keys and values
	k, v      int64 // size of a head of queries and keys; of values
}

// scale is the usual factor of scores.
func (h heads) scale() float64 { return 1 / math.Sqrt(float64(h.k)) }

// attention is self-attention over the sequence so far.
type attention struct {
	heads        heads
	qkv          projection
	qNorm, kNorm norm // of queries and keys before they are rotated
	vNorm        norm // of values
	rope         *rope
	qAfter       norm // of queries and keys after they are rotated
	kAfter       norm
	scale        float64  // of the scores
	alibi        float64  // exponent of their bias by distance; 0: none
	cap          float64  // scores are cap·tanh(score/cap); 0: none
	window       int64    // positions that a token reads; 0: all up to its own
	around       int64    // positions on each side that a token of an encoder reads; 0: all
	sinks        presence // scores of each head without a value
	out          presence // bias of the last product
	of           *int64   // layer whose keys and values are read; nil: this one
}

// projection makes queries, keys and values of the hidden state, each [tokens, heads, size].
type projection interface {
	project(g *graph, h heads, x *ir.Value) func(role) *ir.Value
}

// role is what a product of the hidden state is for.
type role int

const (
	queries role = iota
	keys
	values
)

// of returns the number of heads with a role, and their size.
func (h heads) of(r role) (count, size int64) {
	switch r {
	case queries:
		return h.count, h.k
	case keys:
		return h.kv, h.k
	}
	return h.kv, h.v
}

// separate is a projection with matrices attn_q, attn_k and attn_v. Files that have attn_qkv instead, as converters can
// join the three, are fused.
type separate struct {
	bias  presence
	limit float64 // results are brought into -limit to limit; 0: none
}

func (s separate) project(g *graph, h heads, x *ir.Value) func(role) *ir.Value {
	if fusedName := g.name("attn_qkv.weight"); g.has(fusedName) && !g.has(g.name("attn_q.weight")) {
		if h.k != h.v {
			g.fail(g.file.TensorError(fusedName, "one matrix of heads of %d elements for keys and %d for values is not supported", h.k, h.v))
		}
		return fused(s).project(g, h, x)
	}
	return func(r role) *ir.Value {
		count, size := h.of(r)
		name := [...]string{queries: "attn_q", keys: "attn_k", values: "attn_v"}[r]
		return splitHeads(g.f, g.limited(g.linear(x, name, count*size, g.embd, s.bias), s.limit), count, size)
	}
}

// limited brings x into -limit to limit. A limit of 0 means none.
func (g *graph) limited(x *ir.Value, limit float64) *ir.Value {
	if limit == 0 {
		return x
	}
	return g.f.Clamp(x, -float32(limit), float32(limit))
}

// fused is a projection with one matrix attn_qkv: rows of queries, then of keys, then of values.
type fused struct {
	bias  presence
	limit float64 // as that of separate
}

func (p fused) project(g *graph, h heads, x *ir.Value) func(role) *ir.Value {
	all := h.count + 2*h.kv
	y := splitHeads(g.f, g.limited(g.linear(x, "attn_qkv", all*h.k, g.embd, p.bias), p.limit), all, h.k)
	return func(r role) *ir.Value {
		first := [...]int64{queries: 0, keys: h.count, values: h.count + h.kv}[r]
		count, _ := h.of(r)
		return g.f.Slice(y, 1, ir.Const(first), ir.Const(count))
	}
}

// fusedOrSeparate is separate for files that have attn_q, and otherwise fused.
type fusedOrSeparate struct {
	bias  presence
	limit float64
}

func (p fusedOrSeparate) project(g *graph, h heads, x *ir.Value) func(role) *ir.Value {
	if g.has(g.name("attn_q.weight")) {
		return separate(p).project(g, h, x)
	}
	return fused(p).project(g, h, x)
}

func (a attention) apply(g *graph, x *ir.Value) *ir.Value {
	h, made := a.heads, a.qkv.project(g, a.heads, x)
	q := g.grown(a.qAfter.apply(g, a.rope.turn(g, a.qNorm.applyHeads(g, made(queries), h.count, h.k))), h.count, h.k)
	ks, vs := a.cached(g, made)
	var sinks *ir.Value
	if a.sinks == required {
		sinks = g.vector("attn_sinks.weight", h.count)
	}
	y := g.f.Attention(q, ks, vs, g.in.slot, g.in.reach, g.in.lengths, sinks, a.attr(g.model))
	out := g.linear(joinHeads(g.f, y), "attn_output", g.embd, h.count*h.v, a.out)
	h.divide(g, g.layerOf(a.of))
	return out
}

// cached returns the caches of keys and values after the tokens' own are written, if the layer makes any.
func (a attention) cached(g *graph, made func(role) *ir.Value) (ks, vs *ir.Value) {
	h, c := a.heads, g.cache(a.window)
	if a.of != nil {
		g.mayHave("attn_k.weight", h.kv*h.k, g.embd)
		g.mayHave("attn_k_norm.weight", h.k)
		g.mayHave("attn_v.weight", h.kv*h.v, g.embd)
		return g.versions[layerName(*a.of, "keys")], g.versions[layerName(*a.of, "values")]
	}
	k := a.kAfter.apply(g, a.rope.turn(g, a.kNorm.applyHeads(g, made(keys), h.kv, h.k)))
	v := a.vNorm.applyHeads(g, made(values), h.kv, h.v)
	return g.keep("keys", c, h.kv, h.k, k), g.keep("values", c, h.kv, h.v, v)
}

// layerOf returns the layer under construction, or another one.
func (g *graph) layerOf(other *int64) int64 {
	if other != nil {
		return *other
	}
	return g.layer
}

// attr returns the attributes of the node. Windows that no context exceeds are left out.
func (a attention) attr(m *model) ir.AttentionAttr {
	attr := ir.AttentionAttr{Scale: float32(a.scale), Cap: float32(a.cap), Alibi: float32(a.alibi)}
	if a.window < m.context {
		attr.Window, attr.Ring = a.window, m.cache(a.window).ring
	}
	if a.around < m.context-1 || a.alibi > 0 {
		attr.Around = a.around
	}
	return attr
}

// splitHeads views [n, heads*size] as [n, heads, size].
func splitHeads(f *ir.FuncBuilder, x *ir.Value, heads, size int64) *ir.Value {
	return f.Reshape(x, x.Type.Shape[0], ir.Const(heads), ir.Const(size))
}

// joinHeads views [n, heads, size] as [n, heads*size].
func joinHeads(f *ir.FuncBuilder, x *ir.Value) *ir.Value {
	s := x.Type.Shape
	return f.Reshape(x, s[0], s[1].Mul(s[2]))
}

// heads reads the numbers and sizes of heads and checks that they are consistent.
func (m *model) heads() heads {
	var h heads
	h.count = m.count("attention.head_count", 1, maxHeads)
	h.kv = m.countOr("attention.head_count_kv", h.count, 1, maxHeads)
	if m.errs.Any() { // the sizes would be computed from missing numbers
		return heads{count: 1, kv: 1, k: 2, v: 2}
	}
	key := m.key("attention.head_count")
	if h.count%h.kv != 0 {
		m.fail(m.file.KeyError(key, "%d heads cannot share %d key/value heads evenly: the file is damaged", h.count, h.kv))
	}
	if !m.file.Has(m.key("attention.key_length")) && m.embd%h.count != 0 {
		m.fail(m.file.KeyError(key, "%d heads do not divide the width %d, and attention.key_length is absent: the file is damaged", h.count, m.embd))
	}
	usual := max(1, m.embd/h.count)
	h.k = m.countOr("attention.key_length", usual, 1, maxWidth)
	h.v = m.countOr("attention.value_length", usual, 1, maxWidth)
	m.checkKV(h)
	return h
}

// equalHeads is heads for architectures whose heads of keys and values have one size.
func (m *model) equalHeads() heads {
	h := m.heads()
	if h.k != h.v {
		m.fail(m.file.KeyError(m.key("attention.value_length"), "%d, where keys have %d: the heads of %s are equal; the file is damaged", h.v, h.k, m.arch))
	}
	return h
}

// checkKV reports a cache type whose blocks do not divide a head.
func (m *model) checkKV(h heads) {
	for _, size := range []int64{h.k, h.v} {
		if size%int64(m.o.KV.BlockElems()) != 0 {
			m.failOption("--kv %v: heads of %d elements cannot be kept in its blocks of %d: choose another", m.o.KV, size, m.o.KV.BlockElems())
			return
		}
	}
}

// keep writes keys or values to a cache and returns it. Each layer has its own, except in encoders.
func (g *graph) keep(name string, c cache, heads, size int64, x *ir.Value) *ir.Value {
	full := g.shared(name)
	if g.versions[full] == nil {
		g.versions[full] = g.kvState(full, c.rows, heads, size)
	}
	g.versions[full] = g.f.StateWrite(g.versions[full], x, g.in.slot, g.in.pos, c.ring)
	return g.versions[full]
}

// shared returns the name of something that each layer has, except in encoders.
func (g *graph) shared(name string) string {
	if g.in.reach != g.in.pos {
		return name
	}
	return g.name(name)
}

// kvState declares a cache of keys or values.
func (g *graph) kvState(full string, rows, heads, size int64) *ir.Value {
	if !g.declared[full] {
		g.declared[full] = true
		g.b.State(full, ir.Type{DType: g.o.KV, Shape: ir.Dims(int64(g.o.Sequences), heads, rows, size)})
	}
	return g.f.State(full)
}
