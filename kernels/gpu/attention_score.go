package gpu

import (
	"math"
	"math/bits"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// firstOf returns the first position that token i reads. There is a window.
func (b *block) firstOf(i int) *kir.Value {
	return b.Sub(b.Add(b.places[i], b.one), b.Int(int(b.scoring.Window)))
}

// firstOfAll returns the first position that any token reads. Tokens with a count of 0 read none.
func (b *block) firstOfAll(counts []*kir.Value) *kir.Value {
	none := b.Int(math.MaxInt32)
	first := none
	for i, n := range counts {
		first = b.Min(first, b.Select(b.Lt(b.zero, n), b.firstOf(i), none))
	}
	return first
}

// reads reports whether a token reads position p, which is not before the segment.
func (s *stretch) reads(token int, p *kir.Value) *kir.Value {
	reads := s.Lt(p, s.counts[token])
	if s.scoring.Window != 0 {
		reads = s.And(reads, s.Le(s.firstOf(token), p))
	}
	return reads
}

// score returns the score of position p for a row whose token is at pos. product is that of query and key, scaled.
func (b *block) score(row int, pos, p, product *kir.Value) *kir.Value {
	if most := b.scoring.Cap; most != 0 {
		product = b.Mul(b.tanh(b.Div(product, b.Float(most))), b.Float(most))
	}
	if b.scoring.Alibi == 0 {
		return product
	}
	return b.FMA(b.slopes[row], b.Convert(b.Sub(p, pos), kir.F32), product)
}

// slopesOf returns the slopes of the bias by distance of all rows, nil without such a bias. See [ir.AlibiSlope].
func (b *block) slopesOf() []*kir.Value {
	if b.scoring.Alibi == 0 {
		return nil
	}
	var list []*kir.Value
	for r := range b.rows() {
		_, head := b.position(b.Int(r))
		list = append(list, b.slope(b.Convert(head, kir.F32)))
	}
	return list
}

// slope returns the slope of a head of the queries.
func (b *block) slope(h *kir.Value) *kir.Value {
	heads := b.scoring.Heads
	if first := b.scoring.Head; first > 0 {
		h = b.Add(h, b.Float(float32(first)))
	}
	n := 1 << (bits.Len64(uint64(heads)) - 1)
	unit := -math.Ln2 * float64(b.scoring.Alibi) / float64(n)
	exponent := b.Mul(b.Add(h, b.Float(1)), b.Float(float32(unit)))
	if int64(n) < heads {
		between := b.Add(b.Sub(h, b.Float(float32(n))), b.Float(0.5))
		exponent = b.Select(b.Lt(h, b.Float(float32(n))), exponent, b.Mul(between, b.Float(float32(unit))))
	}
	return b.Exp(exponent)
}

// sinkWeight returns the weight of the sink of a row's head, relative to the largest score of the row.
func (b *block) sinkWeight(row, top *kir.Value) *kir.Value {
	_, head := b.position(row)
	return b.weightOf(b.load(b.sinks, b.Mul(head, b.innerStride(b.sinks))), top)
}

// mostWeight bounds the logarithm of a sink's weight, so that it is finite. Beside such a weight all values are zero.
const mostWeight = 80

// weightOf returns e^(sink-top).
func (l *lowering) weightOf(sink, top *kir.Value) *kir.Value {
	return l.Exp(l.Min(l.Sub(sink, top), l.Float(mostWeight)))
}
