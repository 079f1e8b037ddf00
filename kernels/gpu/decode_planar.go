package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// planarFormat returns how rows in layout planar are decoded; ok is false if nothing decodes them. A run is what one load
// of 16 bytes brings. Where its planes are in a row depends on the row's length, which has to be a constant.
func planarFormat(t ir.Type) (f format, ok bool) {
	k, constant := t.Inner().IsConst()
	if !constant {
		return format{}, false
	}
	scales := t.DType.PlaneAt(1, int(k)) // both formats have the plane of quants first, then that of scales
	switch t.DType {
	case dtype.Q8_0:
		return format{16, planarQ8_0(scales)}, true
	case dtype.Q4_0:
		return format{32, planarQ4_0(scales)}, true
	}
	return format{}, false
}

// planarQ8_0 decodes the blocks of decodeQ8_0, of which the scales begin so many bytes after the row.
func planarQ8_0(scales int) func(l *lowering, row, i *kir.Value, n int) run {
	return func(l *lowering, row, i *kir.Value, n int) run {
		r := run{first: l.Mul(i, l.Int(n)), scale: l.planeScale(row, l.Div(i, l.Int(32/n)), scales)}
		r.pieces = signedBytes(l.alignedWords(l.At(row, i, n), n/4))
		return r
	}
}

// planarQ4_0 decodes the blocks of decodeQ4_0.
func planarQ4_0(scales int) func(l *lowering, row, i *kir.Value, n int) run {
	return func(l *lowering, row, i *kir.Value, n int) run {
		per := l.Int(32 / n)
		block, at := l.Div(i, per), l.Rem(i, per)
		r := run{scale: l.Mul(l.planeScale(row, block, scales), l.Float(1.0/16))}
		r.first = l.Add(l.Mul(block, l.Int(32)), l.Mul(at, l.Int(n/2)))
		r.pieces = l.halfBytes(l.alignedWords(l.At(row, i, n/2), n/8))
		return r
	}
}

// planeScale returns the scale of a block of a row.
func (l *lowering) planeScale(row, block *kir.Value, scales int) *kir.Value {
	return l.scaleAt(l.after(l.At(row, block, 2), scales))
}

// alignedWords loads n words, 1, 2 or a multiple of 4, from an address that is a multiple of their size or of 16.
func (l *lowering) alignedWords(address *kir.Value, n int) (list []*kir.Value) {
	if n == 1 {
		return []*kir.Value{l.Load(kir.Scalar(kir.U32), address)}
	}
	for at := 0; at < n; at += 4 {
		list = append(list, l.lanes(l.loadAt(kir.Vector(kir.U32, min(n, 4)), address, 4*at))...)
	}
	return list
}
