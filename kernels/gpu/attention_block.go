package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// tokensOf finds what the tokens from one on read.
func (b *block) tokensOf(from *kir.Value) {
	last := b.Sub(b.q.shape[0], b.one)
	for i := range b.tokens {
		t := b.Add(from, b.Int(i))
		at := b.Min(t, last)
		slot, pos := b.uniformI32(b.slot, at), b.uniformI32(b.pos, at)
		count := b.Min(b.Add(pos, b.one), b.uniformI32(b.lengths, slot))
		count = b.Max(b.Min(count, b.size(ir.PositionsOf(b.n, 1))), b.zero)
		if b.segment != nil {
			count = b.Min(count, b.Mul(b.Add(b.segment, b.one), b.Int(b.length)))
		}
		b.token, b.slots, b.places = append(b.token, t), append(b.slots, slot), append(b.places, pos)
		b.counts = append(b.counts, b.Select(b.Lt(last, t), b.zero, count))
	}
}

// position returns the token and the head of a row, both of which exist: a row beyond them is the last one again.
func (b *block) position(row *kir.Value) (token, head *kir.Value) {
	heads := b.Int(b.heads)
	token = b.Min(b.Add(b.token[0], b.Div(row, heads)), b.Sub(b.q.shape[0], b.one))
	head = b.Min(b.Add(b.first, b.Rem(row, heads)), b.Int(b.share-1))
	return token, b.Add(b.Mul(b.group, b.Int(b.share)), head)
}

// loadQueries copies the queries of the rows to shared memory.
func (b *block) loadQueries() {
	perRow := b.deep / b.queryLanes
	b.strided(b.Int(b.rows()*perRow), b.threads, nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
		token, head := b.position(b.Div(i, b.Int(perRow)))
		d := b.Mul(b.Rem(i, b.Int(perRow)), b.Int(b.queryLanes))
		q := b.loadSome(b.q, b.element(b.q, []*kir.Value{token, head, d}), b.queryLanes, b.queryRuns)
		b.SharedStore(b.queries, i, b.joined(each(q, func(_ int, x *kir.Value) *kir.Value { return b.Mul(x, b.Float(b.scoring.Scale)) })))
		return nil
	})
}

// joined returns numbers as a vector, or the only one.
func (l *lowering) joined(x []*kir.Value) *kir.Value {
	if len(x) == 1 {
		return x[0]
	}
	return l.Vector(x...)
}

// parts is the reverse of joined.
func (l *lowering) parts(x *kir.Value) []*kir.Value {
	if x.Type.Lanes == 1 {
		return []*kir.Value{x}
	}
	return l.lanes(x)
}

// sequences returns the sums over all positions: the largest score and the sum of weights of the thread's row, then the
// sums of values. Tokens of one sequence are computed together. There is more than one sequence only where a batch has
// several.
func (b *block) sequences() []*kir.Value {
	init := []*kir.Value{b.Float(least), b.Float(0)}
	init = append(init, slices.Repeat([]*kir.Value{b.Float(0)}, b.rows()*b.sums()*b.valueLanes)...)
	if b.tokens == 1 {
		return b.positions(b.slots[0], b.counts, init)
	}
	return b.For(b.zero, b.Int(b.tokens), b.one, init, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		t := b.Min(b.Add(b.token[0], i), b.Sub(b.q.shape[0], b.one))
		slot := b.uniformI32(b.slot, t)
		counts := make([]*kir.Value, b.tokens)
		first := b.Eq(b.zero, b.zero) // no earlier token has the sequence
		for j, s := range b.slots {
			same := b.Eq(s, slot)
			counts[j] = b.Select(same, b.counts[j], b.zero)
			first = b.And(first, b.Not(b.And(same, b.Lt(b.Int(j), i))))
		}
		return b.Choose(first, func() []*kir.Value { return b.positions(slot, counts, c) }, func() []*kir.Value { return c })
	})
}

// positions goes through the positions of a sequence, of which each token reads the first ones.
func (b *block) positions(slot *kir.Value, counts, c []*kir.Value) []*kir.Value {
	most := counts[0]
	for _, n := range counts[1:] {
		most = b.Max(most, n)
	}
	from := b.zero
	if b.segment != nil {
		from = b.Mul(b.segment, b.Int(b.length))
	}
	if b.scoring.Window != 0 {
		from = b.Max(from, b.firstOfAll(counts))
	}
	head := []*kir.Value{slot, b.group}
	s := &stretch{block: b, counts: counts, end: most, keys: b.element(b.k, head), values: b.element(b.v, head)}
	return b.For(from, most, b.Int(b.chunkLen()), c, s.chunk)
}

// stretch is the positions of a sequence that the tokens of a block read.
type stretch struct {
	*block
	counts       []*kir.Value // by token
	end          *kir.Value   // the largest of counts
	keys, values *kir.Value   // their first elements
}

// chunk adds the positions from from on to what was summed before.
func (s *stretch) chunk(from *kir.Value, c []*kir.Value) []*kir.Value {
	s.storeScores(from)
	s.Barrier()
	top, sum := s.weigh(c[0], c[1])
	next := append([]*kir.Value{top, sum}, s.addValues(from, c[2:])...)
	s.Barrier() // the next chunk overwrites the weights
	return next
}

// storeScores computes the scores of the thread's positions, which follow each other.
func (s *stretch) storeScores(from *kir.Value) {
	first := s.Add(from, s.Mul(s.Thread(), s.Int(s.each)))
	last := s.Sub(s.end, s.one)
	keys := make([]*kir.Value, s.each)
	for e := range keys {
		at := s.Min(s.Add(first, s.Int(e)), last)
		keys[e] = s.Add(s.keys, s.Mul(s.ringRow(s.k, at), s.k.strides[2]))
	}
	products := s.products(keys)
	for r := range s.rows() {
		row := make([]*kir.Value, s.each)
		for e := range row {
			p, token := s.Add(first, s.Int(e)), r/s.heads
			score := s.score(r, s.places[token], p, products[r*s.each+e])
			row[e] = s.Select(s.reads(token, p), score, s.Float(least))
		}
		s.SharedStore(s.scores, s.Add(s.Int(r*s.threads), s.Thread()), s.joined(row))
	}
}

// products returns the products of all rows with keys, row by row.
func (s *stretch) products(keys []*kir.Value) []*kir.Value {
	zeros := slices.Repeat([]*kir.Value{s.Float(0)}, s.rows()*s.each)
	return s.For(s.zero, s.Int(s.deep), s.Int(s.keyRun), zeros, func(d *kir.Value, c []*kir.Value) []*kir.Value {
		next := slices.Clone(c)
		loaded := make([][]*kir.Value, len(keys))
		for e, at := range keys {
			loaded[e] = s.loadSome(s.k, s.Add(at, s.Mul(d, s.innerStride(s.k))), s.keyRun, s.keyRuns)
		}
		for r := range s.rows() {
			query := s.queryRun(r, d)
			for e := range keys {
				for i, q := range query {
					next[r*s.each+e] = s.FMA(q, loaded[e][i], next[r*s.each+e])
				}
			}
		}
		return next
	})
}

// queryRun returns keyRun elements of the query of a row, from d on.
func (s *stretch) queryRun(row int, d *kir.Value) []*kir.Value {
	at := s.Div(s.Add(s.Int(row*s.deep), d), s.Int(s.queryLanes))
	var list []*kir.Value
	for i := range s.keyRun / s.queryLanes {
		list = append(list, s.parts(s.SharedLoad(s.queries, s.Add(at, s.Int(i))))...)
	}
	return list
}

// weigh turns the scores of a chunk into weights, and stores the factors of the rows. It returns the largest score and
// the sum of weights of the thread's row, which were top and sum before.
func (s *stretch) weigh(top, sum *kir.Value) (newTop, newSum *kir.Value) {
	row, me := s.Div(s.Thread(), s.Int(s.weighers)), s.Rem(s.Thread(), s.Int(s.weighers))
	mine := s.Lt(row, s.Int(s.rows()))
	most := s.eachScore(row, me, s.Float(least), func(c, _ *kir.Value, scores []*kir.Value) *kir.Value {
		for _, x := range scores {
			c = s.Max(c, x)
		}
		return c
	})
	top, before := s.Max(top, s.overRow(most, 0)), top
	total := s.eachScore(row, me, s.Float(0), func(c, at *kir.Value, scores []*kir.Value) *kir.Value {
		weights := each(scores, func(_ int, x *kir.Value) *kir.Value {
			w := s.Select(s.Le(x, s.Float(least)), s.Float(0), s.Exp(s.Sub(x, top)))
			c = s.Add(c, w)
			return w
		})
		s.SharedStore(s.scores, at, s.joined(weights))
		return c
	})
	factor := s.Exp(s.Sub(before, top))
	s.If(s.And(mine, s.Eq(me, s.zero)), func() { s.SharedStore(s.factors, row, factor) })
	if s.inSubgroup() {
		total = s.ReduceAdd(total)
		s.Barrier()
	} else {
		total = s.overRow(total, 1) // has a barrier
	}
	return top, s.Add(s.Mul(sum, factor), total)
}

// eachScore returns join over init and the scores that thread me of a row has, with the index of the element that holds
// them. Threads without a row have none.
func (s *stretch) eachScore(row, me, init *kir.Value, join func(c, at *kir.Value, scores []*kir.Value) *kir.Value) *kir.Value {
	first := s.Mul(row, s.Int(s.threads))
	end := s.Select(s.Lt(row, s.Int(s.rows())), s.Int(s.threads), s.zero)
	return s.For(me, end, s.Int(s.weighers), []*kir.Value{init}, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		at := s.Add(first, i)
		return []*kir.Value{join(c[0], at, s.parts(s.SharedLoad(s.scores, at)))}
	})[0]
}

// overRow returns the largest x of the threads of the row, or the sum if which is 1.
func (s *stretch) overRow(x *kir.Value, which int) *kir.Value {
	if s.inSubgroup() {
		return s.ReduceMax(x)
	}
	join := []func(a, b *kir.Value) *kir.Value{s.Max, s.Add}[which]
	s.SharedStore(s.part[which], s.Thread(), x)
	s.Barrier()
	first := s.Sub(s.Thread(), s.Rem(s.Thread(), s.Int(s.weighers)))
	init := []*kir.Value{s.SharedLoad(s.part[which], first)}
	return s.For(s.one, s.Int(s.weighers), s.one, init, func(i *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{join(c[0], s.SharedLoad(s.part[which], s.Add(first, i)))}
	})[0]
}
