package gpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// format describes how a thread decodes a row of a matrix, a run of elements at a time. The elements of a run are among
// sliceElems that begin at a multiple of sliceElems. The addresses of rows are multiples of 16 for formats without
// blocks; for the others see partsOf.
type format struct {
	length int // elements of a run in products: 4, 8, 16 or 32
	decode func(l *lowering, row, i *kir.Value, n int) run
}

// formats are the formats of weights without blocks. Each decode function decodes run i of n elements of the row at an
// address.
var formats = map[dtype.DType]format{
	dtype.F32:  {4, decodeF32},
	dtype.F16:  {8, decodeHalves(kir.F16)},
	dtype.BF16: {8, decodeHalves(kir.BF16)},
}

// blockFormats are those in blocks. Pieces are bytes where that is possible, so that products with bytes need no
// conversion.
var blockFormats = map[dtype.DType]blockFormat{
	dtype.Q8_0: {16, 16, decodeQ8_0},
	dtype.Q4_0: {16, 32, decodeQ4_0},

	dtype.Q4_1:   {16, 32, decodeQ4_1},
	dtype.Q5_0:   {16, 32, decodeQ5_0},
	dtype.Q5_1:   {16, 0, decodeQ5_1},
	dtype.IQ4_NL: {16, 32, decodeIQ4_NL},
	dtype.MXFP4:  {16, 32, decodeMXFP4},

	dtype.Q2_K:   {16, 16, decodeQ2_K},
	dtype.Q3_K:   {16, 16, decodeQ3_K},
	dtype.Q4_K:   {16, 0, decodeQ4_K},
	dtype.Q5_K:   {16, 0, decodeQ5_K},
	dtype.Q6_K:   {16, 16, decodeQ6_K},
	dtype.IQ4_XS: {16, 0, decodeIQ4_XS},
}

// formatOf returns the format of a matrix; ok is false if there is none for its dtype and layout.
func formatOf(w *tensor) (f format, ok bool) {
	if w.DType.BlockElems() > 1 {
		return formatOfBlocks(w.Type)
	}
	f, ok = formats[w.DType]
	return f, ok
}

// run has the elements of a run: those of the pieces times scale plus a number.
type run struct {
	first  *kir.Value // the element of the row that the pieces count from
	scale  *kir.Value // f32; nil means 1
	plus   *kir.Value // f32; nil means 0, as it is without a scale
	pieces []piece
	total  *kir.Value // of activations that are multiplied with a run with plus: the sum of the pieces
}

// ofBytes reports whether the pieces are bytes.
func (r run) ofBytes() bool { return r.pieces[0].x.Type == kir.Scalar(kir.U32) }

// piece has elements that follow each other, from first + at on: an f32x4, one f32, or a u32 of four signed bytes.
type piece struct {
	at int
	x  *kir.Value
}

// floats returns a run with bytes as f32x4.
func (l *lowering) floats(r run) run {
	r.pieces = slices.Clone(r.pieces)
	for i, p := range r.pieces {
		if p.x.Type == kir.Scalar(kir.U32) {
			r.pieces[i].x = l.bytes(p.x)
		}
	}
	return r
}

// splat returns the vector of four x.
func (l *lowering) splat(x *kir.Value) *kir.Value { return l.Vector(x, x, x, x) }

// loadAt loads a t that is n bytes after an address.
func (l *lowering) loadAt(t kir.Type, address *kir.Value, n int) *kir.Value {
	return l.Load(t, l.after(address, n))
}

// after returns the address n bytes after another one.
func (l *lowering) after(address *kir.Value, n int) *kir.Value {
	if n == 0 {
		return address
	}
	return l.Add(address, l.Bits(kir.U64, uint64(n)))
}

// scaled returns elements of a run, given a piece of it.
func (l *lowering) scaled(x *kir.Value, r run) *kir.Value {
	switch {
	case r.scale == nil:
		return x
	case r.plus == nil:
		return l.Mul(x, l.splat(r.scale))
	}
	return l.FMA(x, l.splat(r.scale), l.splat(r.plus))
}

func decodeF32(l *lowering, row, i *kir.Value, n int) run {
	r := run{first: l.Mul(i, l.Int(n))}
	address := l.At(row, i, 4*n)
	for at := 0; at < n; at += 4 {
		r.pieces = append(r.pieces, piece{at, l.loadAt(kir.Vector(kir.F32, 4), address, 4*at)})
	}
	return r
}

// decodeHalves decodes formats of 16 bits, 8 elements to a load.
func decodeHalves(k kir.Kind) func(l *lowering, row, i *kir.Value, n int) run {
	return func(l *lowering, row, i *kir.Value, n int) run {
		r := run{first: l.Mul(i, l.Int(n))}
		address := l.At(row, i, 2*n)
		for at := 0; at < n; at += 8 {
			words := l.loadAt(kir.Vector(kir.U32, 4), address, 2*at)
			for h := range 2 {
				x := l.widen(k, l.Extract(words, 2*h), l.Extract(words, 2*h+1))
				r.pieces = append(r.pieces, piece{at + 4*h, x})
			}
		}
		return r
	}
}

// widen returns the two k in each of two words as an f32x4.
func (l *lowering) widen(k kir.Kind, words ...*kir.Value) *kir.Value {
	var lanes []*kir.Value
	for _, w := range words {
		pair := l.Convert(l.Bitcast(w, kir.Vector(k, 2)), kir.F32)
		lanes = append(lanes, l.Extract(pair, 0), l.Extract(pair, 1))
	}
	return l.Vector(lanes...)
}

// bytes returns the four signed bytes of a word as an f32x4.
func (l *lowering) bytes(word *kir.Value) *kir.Value {
	return l.Convert(l.Bitcast(word, kir.Vector(kir.I8, 4)), kir.F32)
}

// words loads n words of 4 bytes from an address that is a multiple of 2. Of the bytes, all but 4 are loaded as n-1
// words: the first ones if the address is a multiple of 4, else those from the second half of the first word on.
func (l *lowering) words(address *kir.Value, n int) []*kir.Value {
	four := l.Eq(l.And(address, l.Bits(kir.U64, 2)), l.Bits(kir.U64, 0))
	from := l.Select(four, address, l.after(address, 2))
	a := l.half(l.Select(four, l.after(address, 4*n-4), address))
	b := l.Shl(l.half(l.after(address, 4*n-2)), l.Uint(16))
	half := l.Uint(16)
	list := make([]*kir.Value, n)
	low := a // the lower half of the next word, if the address is no multiple of 4
	for i := range n - 1 {
		word := l.loadAt(kir.Scalar(kir.U32), from, 4*i)
		list[i] = l.Select(four, word, l.Or(low, l.Shl(word, half)))
		low = l.Shr(word, half)
	}
	list[n-1] = l.Or(l.Select(four, a, low), b)
	return list
}

// half loads 2 bytes as a number.
func (l *lowering) half(address *kir.Value) *kir.Value {
	return l.Convert(l.Load(kir.Scalar(kir.U16), address), kir.U32)
}
