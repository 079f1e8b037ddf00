package gpu

import (
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Blocks of quantized activations (dtype.Q8A): 32 signed bytes, then the scale as f32. The rest is not for GPUs.
const (
	q8aElems = 32
	q8aBytes = 48
)

// packed reads runs of blocks of bytes, of the matrices and of x. Rows are addresses. Sums are f32.
type packed struct{ vectors }

func (f packed) run(l *lowering, _ *tensor, row, i *kir.Value) run {
	return f.operand(l, f.decode(l, row, i, f.length))
}

// operand returns a run as dot takes it: of bytes, or of f32x4 where there is no instruction for bytes.
func (packed) operand(l *lowering, r run) run {
	if l.on.Caps&kir.CapDot4 == 0 {
		return l.floats(r)
	}
	return r
}

func (packed) xRow(l *lowering, x *tensor, r *kir.Value) *kir.Value { return l.addressOfRow(x, r) }

func (f packed) x(l *lowering, _ *tensor, row *kir.Value, r run) run {
	n := l.Int(q8aElems)
	block := l.At(row, l.Div(r.first, n), q8aBytes)
	first := l.At(block, l.Rem(r.first, n), 1)
	own := run{scale: l.loadAt(kir.Scalar(kir.F32), block, q8aElems)}
	for _, p := range r.pieces {
		own.pieces = append(own.pieces, piece{p.at, l.loadAt(kir.Scalar(kir.U32), first, p.at)})
	}
	if !r.ofBytes() {
		return l.added(l.floats(own), r)
	}
	if r.plus != nil {
		own.total = l.zero
		for _, p := range own.pieces {
			own.total = l.Dot4(p.x, l.Uint(0x01010101), own.total)
		}
		own.total = l.Convert(own.total, kir.F32)
	}
	return own
}

func (packed) zero(l *lowering) *kir.Value { return l.Float(0) }

func (packed) total(_ *lowering, sum *kir.Value) *kir.Value { return sum }

func (f packed) add(l *lowering, x, w run, sum *kir.Value) *kir.Value {
	sum = l.FMA(l.Mul(w.scale, x.scale), f.dot(l, x, w), sum)
	if w.plus == nil {
		return sum
	}
	total := x.total
	if total.Type.Lanes > 1 {
		total = f.vectors.total(l, total)
	}
	return l.FMA(l.Mul(w.plus, x.scale), total, sum)
}

// dot returns the sum of the products of the bytes of two runs. It is exact in f32 too: 32 products of bytes are less
// than 2^24.
func (f packed) dot(l *lowering, x, w run) *kir.Value {
	if !w.ofBytes() {
		return f.vectors.total(l, l.addFloats(x, run{pieces: w.pieces}, f.vectors.zero(l)))
	}
	sum := l.zero
	for i, p := range w.pieces {
		sum = l.Dot4(x.pieces[i].x, p.x, sum)
	}
	return l.Convert(sum, kir.F32)
}

// quadOfBytes returns vector of four number at of a row of activations.
func (l *lowering) quadOfBytes(row, at *kir.Value) *kir.Value {
	per := l.Int(q8aElems / 4)
	block := l.At(row, l.Div(at, per), q8aBytes)
	word := l.Load(kir.Scalar(kir.U32), l.At(block, l.Rem(at, per), 4))
	return l.Mul(l.bytes(word), l.splat(l.loadAt(kir.Scalar(kir.F32), block, q8aElems)))
}
