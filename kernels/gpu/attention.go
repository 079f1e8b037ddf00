package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// attentionThreads is the size of workgroups of attention: the positions that are looked at together.
const attentionThreads = 64

// attention computes a row of the result, that of one token and one head, per workgroup. It goes through the positions
// in chunks, one position for each thread, and keeps the largest score m so far, the sum s of e^(score-m) and the sum
// of e^(score-m) times the rows of v. Where a chunk has a larger score, both sums are scaled to it. For the scores 1, 3
// and 2 in chunks of one:
//
//	score  m  s                     sum of rows
//	1      1  1                     v0
//	3      3  1/e² + 1              v0/e² + v1
//	2      3  1/e² + 1 + 1/e        v0/e² + v1 + v2/e
//
// This is the algorithm of Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018.
func attention(l *lowering) {
	l.begin("attention", attentionThreads)
	a := &heads{
		team: l.team(attentionThreads), q: l.tensor(l.n.Args[0]), k: l.tensor(l.n.Args[1]), v: l.tensor(l.n.Args[2]),
		slot: l.tensor(l.n.Args[3]), pos: l.tensor(l.n.Args[4]), lengths: l.tensor(l.n.Args[5]), y: l.tensor(l.n.Result()),
		weights: l.NewShared("weights", kir.Scalar(kir.F32), attentionThreads), scale: l.n.Attr.(*ir.AttentionAttr).Scale,
	}
	wide, ok := a.v.Shape[3].IsConst()
	queries, ok1 := a.q.Shape[1].IsConst()
	keys, ok2 := a.k.Shape[1].IsConst()
	if !ok || !ok1 || !ok2 || wide > 512 {
		l.refuse("heads of %v elements", a.v.Shape[3])
		return
	}
	a.wide, a.share = int(wide), int(queries/keys)
	count := a.q.Shape[0].Mul(a.q.Shape[1])
	l.perGroup(l.size(count), a.row)
	l.end(count)
}

// heads is the kernel of an attention.
type heads struct {
	*team
	q, k, v, slot, pos, lengths, y *tensor
	weights                        *kir.Shared // of the positions of a chunk
	scale                          float32
	wide                           int // elements of a row of v
	share                          int // query heads that read one key head
}

// uniformI32 loads an element of an index, which no thread writes.
func (l *lowering) uniformI32(t *tensor, at *kir.Value) *kir.Value {
	return l.LoadUniform(kir.Scalar(kir.I32), l.At(t.base, l.Mul(at, l.innerStride(t)), 4))
}

// row computes the result of unit u.
func (a *heads) row(u *kir.Value) {
	t, h := a.Div(u, a.q.shape[1]), a.Rem(u, a.q.shape[1])
	sequence := a.uniformI32(a.slot, t)
	count := a.Min(a.Add(a.uniformI32(a.pos, t), a.one), a.uniformI32(a.lengths, sequence))
	count = a.Min(count, a.k.shape[2])
	group := a.Div(h, a.Int(a.share))
	query := a.element(a.q, []*kir.Value{t, h})
	keys, values := a.element(a.k, []*kir.Value{sequence, group}), a.element(a.v, []*kir.Value{sequence, group})

	mine := (a.wide + attentionThreads - 1) / attentionThreads // elements of the result that a thread has
	init := []*kir.Value{a.Float(float32(math.Inf(-1))), a.Float(0)}
	for range mine {
		init = append(init, a.Float(0))
	}
	end := a.For(a.zero, count, a.Int(attentionThreads), init, func(from *kir.Value, c []*kir.Value) []*kir.Value {
		return a.chunk(from, count, query, keys, values, c)
	})
	for i, sum := range end[2:] {
		d := a.Add(a.Thread(), a.Int(i*attentionThreads))
		a.If(a.Lt(d, a.Int(a.wide)), func() {
			a.store(a.y, a.element(a.y, []*kir.Value{t, h, d}), a.Div(sum, end[1]))
		})
	}
}

// chunk looks at the positions from from on. c has the largest score, the sum of the weights and those of the rows.
func (a *heads) chunk(from, count, query, keys, values *kir.Value, c []*kir.Value) []*kir.Value {
	me := a.Add(from, a.Thread())
	known := a.Lt(me, count)
	score := a.Choose(known, func() []*kir.Value {
		return []*kir.Value{a.Mul(a.dot(query, a.Add(keys, a.Mul(me, a.k.strides[2]))), a.Float(a.scale))}
	}, func() []*kir.Value { return []*kir.Value{a.Float(float32(math.Inf(-1)))} })[0]
	top := a.maxOrNaN(c[0], a.most(score))
	weight := a.Select(known, a.Exp(a.Sub(score, top)), a.Float(0))
	a.SharedStore(a.weights, a.Thread(), weight) // all have read those of the chunk before: most has barriers
	before := a.Exp(a.Sub(c[0], top))            // 0 in the first chunk
	sum := a.Add(a.Mul(c[1], before), a.sum(weight))
	next := []*kir.Value{top, sum}
	n := a.Min(a.Sub(count, from), a.Int(attentionThreads))
	for i, acc := range c[2:] {
		d := a.Min(a.Add(a.Thread(), a.Int(i*attentionThreads)), a.Int(a.wide-1))
		rows := a.For(a.zero, n, a.one, []*kir.Value{a.Mul(acc, before)}, func(p *kir.Value, s []*kir.Value) []*kir.Value {
			at := a.Add(values, a.Add(a.Mul(a.Add(from, p), a.v.strides[2]), a.Mul(d, a.v.strides[3])))
			return []*kir.Value{a.FMA(a.SharedLoad(a.weights, p), a.load(a.v, at), s[0])}
		})
		next = append(next, rows[0])
	}
	return next
}

// dot returns the product of a query and a key, which begin at these elements.
func (a *heads) dot(query, key *kir.Value) *kir.Value {
	return a.For(a.zero, a.q.shape[2], a.one, []*kir.Value{a.Float(0)}, func(i *kir.Value, s []*kir.Value) []*kir.Value {
		q := a.load(a.q, a.Add(query, a.Mul(i, a.q.strides[2])))
		return []*kir.Value{a.FMA(q, a.load(a.k, a.Add(key, a.Mul(i, a.k.strides[3]))), s[0])}
	})[0]
}
