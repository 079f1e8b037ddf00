package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// ropeTable computes the cosine and sine of each position times each frequency.
func ropeTable(l *lowering) {
	l.begin("rope_table", elementThreads)
	pos, freqs, y := l.operand(0), l.operand(1), l.result()
	factor := l.Float(l.n.Attr.(*ir.RopeTableAttr).Scale)
	pairs := y.Shape[0].Mul(y.Shape[1])
	l.perThread(l.size(pairs), elementThreads, func(i *kir.Value) {
		c := l.coords(i, y.shape[:2])
		sin, cos := l.sinCos(l.loadI32(pos, l.element(pos, c[:1])), l.load(freqs, l.element(freqs, c[1:])))
		at := l.Mul(i, l.Int(2))
		l.store(y, at, l.Mul(factor, cos))
		l.store(y, l.Add(at, l.one), l.Mul(factor, sin))
	})
	l.end(units(pairs, elementThreads))
}

// sinCos returns sine and cosine of p times f, and NaN if f is no number. A device's own sine may be wrong by 2^-11
// (Vulkan's precision of SPIR-V instructions).
func (l *lowering) sinCos(p, f *kir.Value) (sin, cos *kir.Value) {
	turns, number := l.turns(p, f)
	quadrant := l.Shr(l.Add(turns, l.Uint(1<<29)), l.Uint(30)) // the nearest
	rest := l.Bitcast(l.Sub(turns, l.Shl(quadrant, l.Uint(30))), kir.Scalar(kir.I32))
	s, c := l.sinCosPolynomial(l.Mul(l.Convert(rest, kir.F32), l.Float(2*math.Pi/(1<<32)))) // in -π/4 … π/4
	odd := l.Eq(l.And(quadrant, l.Uint(1)), l.Uint(1))
	sin, cos = l.Select(odd, c, s), l.Select(odd, s, c)
	sin = l.Select(l.Le(l.Uint(2), quadrant), l.Neg(sin), sin)
	negative := l.Eq(l.Xor(l.Shr(quadrant, l.Uint(1)), l.And(quadrant, l.Uint(1))), l.Uint(1))
	nan := l.Float(float32(math.NaN()))
	return l.Select(number, sin, nan), l.Select(number, l.Select(negative, l.Neg(cos), cos), nan)
}

// sinCosPolynomial returns sine and cosine of r between -π/4 and π/4 by their Taylor series; the first term that is
// left out is below 2e-9.
func (l *lowering) sinCosPolynomial(r *kir.Value) (sin, cos *kir.Value) {
	sq := l.Mul(r, r)
	s, c := l.Float(1.0/362880), l.Float(-1.0/3628800)
	for _, x := range []float32{-1.0 / 5040, 1.0 / 120, -1.0 / 6} {
		s = l.FMA(s, sq, l.Float(x))
	}
	for _, x := range []float32{1.0 / 40320, -1.0 / 720, 1.0 / 24, -1.0 / 2} {
		c = l.FMA(c, sq, l.Float(x))
	}
	return l.FMA(l.Mul(r, sq), s, r), l.FMA(c, sq, l.Float(1))
}

// rope turns pairs of elements by the angles of a table. A thread has a pair, or an element after the pairs. It reads
// both before it writes, so that the result may be in the operand's place.
func rope(l *lowering) {
	l.begin("rope", elementThreads)
	x, table, y := l.operand(0), l.operand(1), l.result()
	pairs := table.Shape[1]
	perHead := x.Shape[2].Sub(pairs)
	count := x.Shape[0].Mul(x.Shape[1]).Mul(perHead)
	r := &rotation{l, x, y, table, table.shape[1], l.n.Attr.(*ir.RopeAttr).NeoX}
	perHeadSize, heads := l.size(perHead), x.shape[1]
	l.perThread(l.size(count), elementThreads, func(i *kir.Value) {
		j, head := l.Rem(i, perHeadSize), l.Div(i, perHeadSize)
		t, h := l.Div(head, heads), l.Rem(head, heads)
		l.choose(l.Lt(j, r.pairs), func() { r.turn(t, h, j) }, func() { r.keep(t, h, l.Add(j, r.pairs)) })
	})
	l.end(units(count, elementThreads))
}

// choose runs one of two functions that return nothing.
func (l *lowering) choose(cond *kir.Value, then, otherwise func()) {
	l.Choose(cond, func() []*kir.Value { then(); return nil }, func() []*kir.Value { otherwise(); return nil })
}

type rotation struct {
	*lowering
	x, y, table *tensor
	pairs       *kir.Value // of a head
	neox        bool
}

// turn turns pair j of head h of token t.
func (r *rotation) turn(t, h, j *kir.Value) {
	first, second := r.Mul(j, r.Int(2)), r.Add(r.Mul(j, r.Int(2)), r.one)
	if r.neox {
		first, second = j, r.Add(j, r.pairs)
	}
	angle := r.element(r.table, []*kir.Value{t, j})
	cos, sin := r.load(r.table, angle), r.load(r.table, r.Add(angle, r.table.strides[2]))
	a, b := r.load(r.x, r.element(r.x, []*kir.Value{t, h, first})), r.load(r.x, r.element(r.x, []*kir.Value{t, h, second}))
	r.store(r.y, r.element(r.y, []*kir.Value{t, h, first}), r.Sub(r.Mul(a, cos), r.Mul(b, sin)))
	r.store(r.y, r.element(r.y, []*kir.Value{t, h, second}), r.Add(r.Mul(a, sin), r.Mul(b, cos)))
}

func (r *rotation) keep(t, h, d *kir.Value) {
	at := []*kir.Value{t, h, d}
	r.store(r.y, r.element(r.y, at), r.load(r.x, r.element(r.x, at)))
}
