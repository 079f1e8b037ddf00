package gpu

import (
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// slice returns the thread's load number i of a value: the number of the load among those of a value, and the share
// of the positions that it is summed over. Beyond the loads, or beyond the shares, inside is false.
func (b *block) slice(i int) (number, share, inside *kir.Value) {
	n := b.Int(b.slices())
	if b.shares() > 1 {
		share = b.Div(b.Thread(), n)
		return b.Rem(b.Thread(), n), share, b.Lt(share, b.Int(b.shares()))
	}
	number = b.Add(b.Thread(), b.Int(i*b.threads))
	return number, b.zero, b.Lt(number, n)
}

// at returns the first of the sums of row r and load i.
func (b *block) at(r, i int) int { return (r*b.sums() + i) * b.valueLanes }

// addValues adds the values of the chunk from from on, times their weights, to the sums that are scaled by the factors.
func (s *stretch) addValues(from *kir.Value, sums []*kir.Value) []*kir.Value {
	scaled := slices.Clone(sums)
	for r := range s.rows() {
		factor := s.SharedLoad(s.factors, s.Int(r))
		for j := s.at(r, 0); j < s.at(r+1, 0); j++ {
			scaled[j] = s.Mul(scaled[j], factor)
		}
	}
	count := s.Min(s.Sub(s.end, from), s.Int(s.chunkLen()))
	groups := s.Div(s.Add(count, s.Int(s.together-1)), s.Int(s.together))
	_, share, inside := s.slice(0)
	begin := s.Select(inside, share, groups)
	return s.For(begin, groups, s.Int(s.shares()), scaled, func(group *kir.Value, c []*kir.Value) []*kir.Value {
		return s.addGroup(from, group, c)
	})
}

// addGroup adds a group of positions of a chunk, together at once.
func (s *stretch) addGroup(from, group *kir.Value, c []*kir.Value) []*kir.Value {
	next := slices.Clone(c)
	first, last := s.Add(from, s.Mul(group, s.Int(s.together))), s.Sub(s.end, s.one)
	weights := make([][]*kir.Value, s.rows())
	for r := range weights {
		weights[r] = s.weightsOf(r, group)
	}
	for i := range s.sums() {
		number, _, _ := s.slice(i)
		d := s.Mul(s.Min(number, s.Int(s.slices()-1)), s.Int(s.valueLanes))
		values := make([][]*kir.Value, s.together)
		for p := range values {
			at := s.Mul(s.ringRow(s.v, s.Min(s.Add(first, s.Int(p)), last)), s.v.strides[2])
			at = s.Add(s.Add(s.values, at), s.Mul(d, s.innerStride(s.v)))
			values[p] = s.loadSome(s.v, at, s.valueLanes, s.valueRuns)
		}
		for r := range s.rows() {
			for p, value := range values {
				for j, v := range value {
					next[s.at(r, i)+j] = s.FMA(weights[r][p], v, next[s.at(r, i)+j])
				}
			}
		}
	}
	return next
}

// weightsOf returns the weights of a group of positions of a row.
func (s *stretch) weightsOf(row int, group *kir.Value) (list []*kir.Value) {
	elems := s.together / s.each // of scores, which hold the weights
	first := s.Add(s.Int(row*s.threads), s.Mul(group, s.Int(elems)))
	for i := range elems {
		list = append(list, s.parts(s.SharedLoad(s.scores, s.Add(first, s.Int(i))))...)
	}
	return list
}

// finish stores the result of the unit. c has the largest score and the sum of weights of the thread's row, then the
// sums.
func (b *block) finish(c []*kir.Value) {
	row := b.Div(b.Thread(), b.Int(b.weighers))
	if b.sinks != nil {
		c[1] = b.Add(c[1], b.sinkWeight(row, c[0]))
	}
	b.If(b.And(b.Lt(row, b.Int(b.rows())), b.Eq(b.Rem(b.Thread(), b.Int(b.weighers)), b.zero)), func() {
		b.SharedStore(b.tops, row, c[0])
		b.SharedStore(b.factors, row, c[1])
	})
	b.Barrier()
	for i := range b.sums() {
		for first := 0; first < b.rows(); first += b.joint {
			if b.shares() > 1 && i+first > 0 {
				b.Barrier() // what finishRows stored in scratch before has been read
			}
			b.finishRows(c[2:], i, first, min(first+b.joint, b.rows()))
		}
	}
	if b.segment != nil {
		b.storeTails()
	}
}

// finishRows stores what load i of a value has for the rows from first to end-1.
func (b *block) finishRows(sums []*kir.Value, i, first, end int) {
	if b.shares() == 1 {
		number, _, inside := b.slice(i)
		for r := first; r < end; r++ {
			b.If(b.And(inside, b.exists(b.Int(r))), func() { b.storeSums(b.Int(r), number, sums[b.at(r, i):b.at(r, i+1)]) })
		}
		return
	}
	for r := first; r < end; r++ {
		b.SharedStore(b.scratch, b.Add(b.Int((r-first)*b.threads), b.Thread()), b.joined(sums[b.at(r, i):b.at(r, i+1)]))
	}
	b.Barrier()
	slices := b.Int(b.slices())
	b.strided(b.Int((end-first)*b.slices()), b.threads, nil, func(o *kir.Value, _ []*kir.Value) []*kir.Value {
		r, number := b.Div(o, slices), b.Rem(o, slices)
		at := b.Add(b.Mul(r, b.Int(b.threads)), number)
		row := b.Add(r, b.Int(first))
		b.If(b.exists(row), func() { b.storeSums(row, number, b.overShares(at)) })
		return nil
	})
}

// overShares returns the sums over all shares of the positions. The first is element at of scratch.
func (b *block) overShares(at *kir.Value) []*kir.Value {
	end, step := b.Int(b.shares()*b.slices()), b.Int(b.slices())
	return b.For(step, end, step, b.parts(b.SharedLoad(b.scratch, at)), func(i *kir.Value, c []*kir.Value) []*kir.Value {
		more := b.parts(b.SharedLoad(b.scratch, b.Add(at, i)))
		return each(c, func(j int, x *kir.Value) *kir.Value { return b.Add(x, more[j]) })
	})
}

// tokenAndHead returns the token of row r, and its head among those of the key head.
func (b *block) tokenAndHead(r *kir.Value) (token, head *kir.Value) {
	heads := b.Int(b.heads)
	return b.Add(b.token[0], b.Div(r, heads)), b.Add(b.first, b.Rem(r, heads))
}

// exists reports whether row r is one of a token and a head, and not one that fills the unit.
func (b *block) exists(r *kir.Value) *kir.Value {
	token, head := b.tokenAndHead(r)
	return b.And(b.Lt(token, b.q.shape[0]), b.Lt(head, b.Int(b.share)))
}

// resultRow returns the first element of the result for row r.
func (b *block) resultRow(r *kir.Value) *kir.Value {
	token, head := b.tokenAndHead(r)
	if b.segment != nil {
		return b.element(b.y, []*kir.Value{b.Add(b.Mul(b.group, b.segments), b.segment), token, head})
	}
	return b.element(b.y, []*kir.Value{token, b.Add(b.Mul(b.group, b.Int(b.share)), head)})
}

// storeSums stores elements of row r: as they are for a segment, else divided by the sum of weights. The sum is zero if
// the token reads nothing.
func (b *block) storeSums(r, number *kir.Value, sums []*kir.Value) {
	weight := b.SharedLoad(b.factors, r)
	weight = b.Select(b.Eq(weight, b.Float(0)), b.Float(1), weight)
	first := b.Add(b.resultRow(r), b.Mul(number, b.Int(b.valueLanes)))
	for j, x := range sums {
		if b.segment == nil {
			x = b.Div(x, weight)
		}
		b.store(b.y, b.Add(first, b.Int(j)), x)
	}
}

// storeTails stores the largest score, times log2(e), and the sum of weights of each row.
func (b *block) storeTails() {
	r := b.Thread()
	b.If(b.And(b.Lt(r, b.Int(b.rows())), b.exists(r)), func() {
		top, sum := b.SharedLoad(b.tops, r), b.SharedLoad(b.factors, r)
		empty := b.Eq(sum, b.Float(0))
		at := b.Add(b.resultRow(r), b.Int(b.wide))
		b.store(b.y, at, b.Select(empty, b.Float(float32(math.Inf(-1))), b.Mul(top, b.Float(math.Log2E))))
		b.store(b.y, b.Add(at, b.one), sum)
	})
}

// attentionCombine adds the sums of segments, an element of the result in each thread.
func attentionCombine(l *lowering) {
	l.begin("attention_combine", elementThreads)
	x, y := l.operand(0), l.result()
	var sinks *tensor
	if l.n.Arg(1) != nil {
		sinks = l.operand(1)
	}
	elems := y.Elems()
	segments := l.size(x.Shape[0].FloorDiv(ir.Const(l.n.Attr.(*ir.AttentionCombineAttr).KVHeads)))
	wide, group := l.size(y.Shape[2]), x.shape[2]
	l.perThread(l.size(elems), elementThreads, func(i *kir.Value) {
		c := l.coords(i, y.shape)
		first := l.element(x, []*kir.Value{l.Mul(l.Div(c[1], group), segments), c[0], l.Rem(c[1], group)})
		get := func(s, d *kir.Value) *kir.Value {
			return l.load(x, l.Add(first, l.Add(l.Mul(s, x.strides[0]), l.Mul(d, x.strides[3]))))
		}
		top := l.For(l.zero, segments, l.one, []*kir.Value{l.Float(least)}, func(s *kir.Value, m []*kir.Value) []*kir.Value {
			return []*kir.Value{l.Max(m[0], get(s, wide))}
		})[0]
		sums := l.For(l.zero, segments, l.one, []*kir.Value{l.Float(0), l.Float(0)}, func(s *kir.Value, m []*kir.Value) []*kir.Value {
			w := l.Exp(l.Mul(l.Sub(get(s, wide), top), l.Float(math.Ln2)))
			return []*kir.Value{l.FMA(w, get(s, c[2]), m[0]), l.FMA(w, get(s, l.Add(wide, l.one)), m[1])}
		})
		if sinks != nil {
			sums[1] = l.Add(sums[1], l.weightOf(l.load(sinks, l.Mul(c[1], l.innerStride(sinks))), l.Mul(top, l.Float(math.Ln2))))
		}
		l.store(y, i, l.Div(sums[0], l.Select(l.Eq(sums[1], l.Float(0)), l.Float(1), sums[1])))
	})
	l.end(units(elems, elementThreads))
}
