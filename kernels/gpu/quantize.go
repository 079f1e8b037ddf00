package gpu

import (
	"math"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// blockLen is the number of elements of a block of q8_0 and q8a.
const blockLen = 32

// quantize converts f32 to the format of activations, a block in each thread.
func quantize(l *lowering) {
	if l.refuseLongBlocks() {
		return
	}
	l.begin("quantize", elementThreads)
	x, y := l.operand(0), l.result()
	runs := l.prepareRuns(x, runLen)
	blocks := y.Elems().CeilDiv(blockLen)
	l.perThread(l.size(blocks), elementThreads, func(b *kir.Value) {
		first := l.element(x, l.coords(l.Mul(b, l.Int(blockLen)), y.shape))
		l.storeQ8A(y, b, l.loadBlock(x, first, runs))
	})
	l.end(units(blocks, elementThreads))
}

// refuseLongBlocks refuses a node that makes q8a_k, and reports whether it did: products of GPUs do not read that.
func (l *lowering) refuseLongBlocks() bool {
	to := l.n.Result().Type.DType
	if to == dtype.Q8A_K {
		l.refuse("a result of %v", to)
	}
	return to == dtype.Q8A_K
}

// loadBlock returns the elements of a block of a row of floats, which begins at element e.
func (l *lowering) loadBlock(x *tensor, e *kir.Value, runs bool) []*kir.Value {
	var list []*kir.Value
	for len(list) < blockLen {
		at := l.Int(len(list))
		if runs {
			list = append(list, l.loadRun(x, l.Add(e, at), runLen)...)
		} else {
			list = append(list, l.load(x, l.Add(e, l.Mul(at, l.innerStride(x)))))
		}
	}
	return list
}

// quantized returns the scale of a block and its elements as i32 from -127 to 127: x/scale, rounded to nearest, ties
// away from zero. A block of zeros, or of numbers so small that 1/scale is infinite, becomes zeros.
func (l *lowering) quantized(x []*kir.Value) (scale *kir.Value, q []*kir.Value) {
	most := l.abs(x[0])
	for _, v := range x[1:] {
		most = l.Max(most, l.abs(v))
	}
	scale = l.Div(most, l.Float(127))
	inverse := l.Div(l.Float(1), scale)
	fits := l.And(l.Lt(l.Float(0), scale), l.Le(inverse, l.Float(math.MaxFloat32)))
	inverse = l.Select(fits, inverse, l.Float(0))
	return scale, each(x, func(_ int, x *kir.Value) *kir.Value {
		y := l.Mul(x, inverse)
		whole := l.Floor(l.Add(l.abs(y), l.Float(0.5)))
		n := l.Convert(l.Min(whole, l.Float(127)), kir.I32) // a quotient may be a little too large
		return l.Select(l.Lt(y, l.Float(0)), l.Sub(l.zero, n), n)
	})
}

// abs returns the magnitude of x.
func (l *lowering) abs(x *kir.Value) *kir.Value {
	return l.Bitcast(l.magnitude(x), kir.Scalar(kir.F32))
}

// word returns the low bytes of numbers, the first one lowest, as bits of a u32.
func (l *lowering) word(q []*kir.Value) *kir.Value {
	w := l.Uint(0)
	for i, x := range q {
		b := l.And(l.Bitcast(x, kir.Scalar(kir.U32)), l.Uint(255))
		w = l.Or(w, l.Shl(b, l.Uint(uint32(8*i))))
	}
	return w
}

// storeQ8A stores block b of y: 32 bytes, in f32 the scale and 1.5*2^23 less 8 times and 128 times the sum of the bytes,
// and zero (dtype.Q8A).
func (l *lowering) storeQ8A(y *tensor, b *kir.Value, x []*kir.Value) {
	scale, q := l.quantized(x)
	address := l.At(y.base, b, y.DType.BlockBytes())
	sum := l.zero
	for i := 0; i < blockLen; i += 4 {
		l.Store(l.after(address, i), l.word(q[i:i+4]))
		for _, n := range q[i : i+4] {
			sum = l.Add(sum, n)
		}
	}
	l.Store(l.after(address, blockLen), scale)
	for i, factor := range []int{8, 128} {
		offset := l.Convert(l.Sub(l.Int(3<<22), l.Mul(sum, l.Int(factor))), kir.F32)
		l.Store(l.after(address, blockLen+4+4*i), offset)
	}
	l.Store(l.after(address, blockLen+12), l.Uint(0))
}

// storeQ8_0 stores block b of y: the scale in f16, then 32 bytes. Blocks have 34 bytes, so bytes are stored two at a
// time.
func (l *lowering) storeQ8_0(y *tensor, b *kir.Value, x []*kir.Value) {
	scale, q := l.quantized(x)
	address := l.At(y.base, b, y.DType.BlockBytes())
	l.Store(address, l.Convert(scale, kir.F16))
	for i := 0; i < blockLen; i += 2 {
		l.Store(l.after(address, 2+i), l.Convert(l.word(q[i:i+2]), kir.U16))
	}
}

// nibbles returns the scale of a block of q4_0 and its elements as i32 from 0 to 15: 8 + x/scale, rounded to nearest.
// The scale is the first of the elements of the largest magnitude, divided by -8. If that is so small that its inverse
// is infinite, all elements are 8; so they are if it is infinite or no number.
func (l *lowering) nibbles(x []*kir.Value) (scale *kir.Value, q []*kir.Value) {
	extreme := x[0]
	for _, v := range x[1:] {
		larger := l.Lt(l.magnitude(extreme), l.magnitude(v))
		extreme = l.Select(larger, v, extreme)
	}
	scale = l.Div(extreme, l.Float(-8))
	inverse := l.Div(l.Float(1), scale)
	fits := l.And(l.Le(l.abs(scale), l.Float(math.MaxFloat32)), l.Le(l.abs(inverse), l.Float(math.MaxFloat32)))
	return scale, each(x, func(_ int, x *kir.Value) *kir.Value {
		y := l.Select(fits, l.Add(l.Mul(x, inverse), l.Float(8.5)), l.Float(8))
		return l.Convert(l.Max(l.Min(l.Floor(y), l.Float(15)), l.Float(0)), kir.I32)
	})
}

// magnitude returns the bits of x without its sign: those of NaN are larger than all others.
func (l *lowering) magnitude(x *kir.Value) *kir.Value {
	return l.And(l.Bitcast(x, kir.Scalar(kir.U32)), l.Uint(math.MaxInt32))
}

// storeQ4_0 stores block b of y: the scale in f16, then 16 bytes as loadQ4_0 reads them. Blocks have 18 bytes, so bytes
// are stored two at a time.
func (l *lowering) storeQ4_0(y *tensor, b *kir.Value, x []*kir.Value) {
	scale, q := l.nibbles(x)
	address := l.At(y.base, b, y.DType.BlockBytes())
	l.Store(address, l.Convert(scale, kir.F16))
	const half = blockLen / 2
	bytes := each(q[:half], func(i int, low *kir.Value) *kir.Value {
		return l.Add(low, l.Mul(q[half+i], l.Int(16)))
	})
	for i := 0; i < half; i += 2 {
		l.Store(l.after(address, 2+i), l.Convert(l.word(bytes[i:i+2]), kir.U16))
	}
}
