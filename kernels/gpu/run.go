package gpu

import (
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// runLen is how many elements of a row a thread loads or stores at once.
const runLen = 4

// alignment is that of the longest load, in bytes.
const alignment = 16

// prepareRuns reports whether all rows of t consist of runs of n elements, so that loadRun may read them. It is called
// where the kernel begins. Whether runs are aligned to the size of one load is a question of t's address, which is
// an argument: a view may begin anywhere.
func (l *lowering) prepareRuns(t *tensor, n int) bool {
	if t.Rank() == 0 || !t.Inner().DivisibleBy(int64(n)) {
		return false
	}
	strides := t.StrideDims()
	last := len(strides) - 1
	for i, s := range strides {
		if i == last && !s.Is(1) || i != last && !s.DivisibleBy(int64(n)) {
			return false
		}
	}
	l.prepareAligned(t)
	return true
}

// prepareAligned compares the address of t with the alignment of loads and stores of runs.
func (l *lowering) prepareAligned(t *tensor) {
	if t.aligned == nil {
		t.aligned = l.Eq(l.And(t.base, l.Bits(kir.U64, alignment-1)), l.Bits(kir.U64, 0))
	}
}

// loadRun returns elements e to e+n-1 as f32. They are elements of one row, which prepareRuns has accepted for n, 4, 8
// or 16, and e is a multiple of n beyond the first element of a row.
func (l *lowering) loadRun(t *tensor, e *kir.Value, n int) []*kir.Value {
	switch t.DType {
	case dtype.F32, dtype.F16, dtype.BF16:
		return l.Choose(t.aligned, func() []*kir.Value { return l.loadVectors(t, e, n) }, func() []*kir.Value {
			list := make([]*kir.Value, n)
			for i := range list {
				list[i] = l.load(t, l.Add(e, l.Int(i)))
			}
			return list
		})
	case dtype.Q8_0:
		return l.loadRunQ8_0(t, e, n)
	case dtype.Q4_0:
		return l.loadRunQ4_0(t, e, n)
	}
	l.refuse("elements of %v", t.DType)
	return make([]*kir.Value, n)
}

// loadVectors is loadRun for aligned floats, 16 bytes at a time, or 8 if there are no more.
func (l *lowering) loadVectors(t *tensor, e *kir.Value, n int) []*kir.Value {
	if t.DType == dtype.F32 {
		var list []*kir.Value
		for i := 0; i < n; i += 4 {
			list = append(list, l.lanes(l.Load(kir.Vector(kir.F32, 4), l.At(t.base, l.Add(e, l.Int(i)), 4)))...)
		}
		return list
	}
	kind := kir.F16
	if t.DType == dtype.BF16 {
		kind = kir.BF16
	}
	var list []*kir.Value
	for i := 0; i < n; i += 8 {
		words := l.Load(kir.Vector(kir.U32, min(n/2, 4)), l.At(t.base, l.Add(e, l.Int(i)), 2))
		for _, w := range l.lanes(words) {
			list = append(list, l.lanes(l.Convert(l.Bitcast(w, kir.Vector(kind, 2)), kir.F32))...)
		}
	}
	return list
}

// lanes returns the elements of a vector.
func (l *lowering) lanes(v *kir.Value) []*kir.Value {
	list := make([]*kir.Value, v.Type.Lanes)
	for i := range list {
		list[i] = l.Extract(v, i)
	}
	return list
}

// pairs returns the n bytes at an address, which is a multiple of 2, as u32 with two bytes each.
func (l *lowering) pairs(address *kir.Value, n int) []*kir.Value {
	var list []*kir.Value
	for i := range n / 2 {
		half := l.Load(kir.Scalar(kir.U16), l.Add(address, l.Bits(kir.U64, uint64(2*i))))
		list = append(list, l.Convert(half, kir.U32))
	}
	return list
}

// signedByte returns byte i of a u32 as a signed number, in f32.
func (l *lowering) signedByte(w *kir.Value, i int) *kir.Value {
	high := l.Bitcast(l.Shl(w, l.Uint(uint32(24-8*i))), kir.Scalar(kir.I32))
	return l.Convert(l.Shr(high, l.Uint(24)), kir.F32)
}

// loadRunQ8_0 is loadRun for blocks as loadQ8_0 knows them. Blocks have 34 bytes, so their bytes are loaded two at a
// time.
func (l *lowering) loadRunQ8_0(t *tensor, e *kir.Value, n int) []*kir.Value {
	address, at := l.block(t, e)
	scale := l.scaleAt(address)
	var list []*kir.Value
	for _, w := range l.pairs(l.Add(address, l.Offset(l.Add(at, l.Int(2)), 1)), n) {
		list = append(list, l.Mul(scale, l.signedByte(w, 0)), l.Mul(scale, l.signedByte(w, 1)))
	}
	return list
}

// loadRunQ4_0 is loadRun for blocks as loadQ4_0 knows them. A run is in one half of a block.
func (l *lowering) loadRunQ4_0(t *tensor, e *kir.Value, n int) []*kir.Value {
	address, at := l.block(t, e)
	scale := l.scaleAt(address)
	shift := l.Bitcast(l.Mul(l.Div(at, l.Int(16)), l.Int(4)), kir.Scalar(kir.U32))
	var list []*kir.Value
	for _, w := range l.pairs(l.Add(address, l.Offset(l.Add(l.Rem(at, l.Int(16)), l.Int(2)), 1)), n) {
		for i := range uint32(2) {
			q := l.And(l.Shr(l.Shr(w, l.Uint(8*i)), shift), l.Uint(15))
			list = append(list, l.Mul(scale, l.Convert(l.Sub(l.Bitcast(q, kir.Scalar(kir.I32)), l.Int(8)), kir.F32)))
		}
	}
	return list
}

// storeRun stores four f32 as elements e to e+3 of t, which prepareRuns or prepareAligned has seen.
func (l *lowering) storeRun(t *tensor, e *kir.Value, x []*kir.Value) {
	l.choose(t.aligned, func() {
		v := l.Vector(x...)
		switch t.DType {
		case dtype.F16:
			v = l.Convert(v, kir.F16)
		case dtype.BF16:
			v = l.Convert(v, kir.BF16)
		case dtype.F32:
		default:
			l.refuse("results of %v", t.DType)
			return
		}
		l.Store(l.At(t.base, e, t.DType.BlockBytes()), v)
	}, func() {
		for i := range x {
			l.store(t, l.Add(e, l.Int(i)), x[i])
		}
	})
}
