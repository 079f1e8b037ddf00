package target

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Anything is the format of an operand of which the kernel reads any dtype, layout and strides.
var Anything = Format{Strides: AnyStrides}

// Plain returns the format of dense plain tensors of the dtypes.
func Plain(ds ...dtype.DType) Format {
	return Format{DTypes: ds, Layouts: []dtype.Layout{dtype.Plain}}
}

// Packed returns the format of tensors of the dtypes in a layout.
func Packed(l dtype.Layout, ds ...dtype.DType) Format {
	return Format{DTypes: ds, Layouts: []dtype.Layout{l}}
}

// Holds reports whether a tensor of type t is in the format.
func (f Format) Holds(t ir.Type) bool {
	return f.hasDType(t.DType) && f.HasLayout(t.Layout) && f.Strides.Hold(t)
}

func (f Format) hasDType(d dtype.DType) bool {
	return f.DTypes == nil || slices.Contains(f.DTypes, d)
}

// HasLayout reports whether the format allows the layout.
func (f Format) HasLayout(l dtype.Layout) bool {
	return f.Layouts == nil || slices.Contains(f.Layouts, l)
}

// layout returns the layout that pack gives to a tensor of dtype d: the first layout of the format that d can have.
func (f Format) layout(d dtype.DType) dtype.Layout {
	if f.HasLayout(dtype.Plain) && len(f.Layouts) == 0 {
		return dtype.Plain
	}
	for _, l := range f.Layouts {
		if l.Holds(d) {
			return l
		}
	}
	return dtype.Plain
}

// Hold reports whether the strides of a tensor of type t are in the set.
func (s Strides) Hold(t ir.Type) bool {
	switch {
	case s == AnyStrides || IsDense(t):
		return true
	case s == RowStrides:
		return hasRowStride(t)
	}
	return false
}

// IsDense reports whether the elements of t follow each other without gaps, in the order of rows. The stride of a
// dimension of extent 1 does not matter.
//
// Example: shape [4 8] is dense with strides [8 1]. With strides [16 1] its rows are dense and equally far from each
// other, so it has row strides. With strides [1 4] it is the transpose of a dense tensor and neither.
func IsDense(t ir.Type) bool {
	return t.Strides == nil || followsFrom(t, len(t.Shape), ir.Const(1))
}

// followsFrom reports whether the outermost n dimensions are dense if one step of the last of them is inner elements.
func followsFrom(t ir.Type, n int, inner ir.Dim) bool {
	for i := n - 1; i >= 0; i-- {
		if t.Shape[i].Is(1) {
			continue
		}
		if !t.Strides[i].Equal(inner) {
			return false
		}
		inner = inner.Mul(t.Shape[i])
	}
	return true
}

// hasRowStride reports whether the rows of t are dense and the distance from each to the next is the same.
func hasRowStride(t ir.Type) bool {
	last := len(t.Shape) - 1
	if !t.Strides[last].Is(1) && !t.Shape[last].Is(1) {
		return false
	}
	for i := last - 1; i >= 0; i-- {
		if !t.Shape[i].Is(1) {
			return followsFrom(t, i, t.Strides[i].Mul(t.Shape[i]))
		}
	}
	return true
}

// obstacle is the reason why pack cannot convert a value to a format.
type obstacle uint8

const (
	noObstacle  obstacle = iota
	otherDType           // the kernel does not read the dtype
	otherLayout          // the kernel reads neither the dtype nor the layout
	noLayout             // the layout cannot be made from the value's
	noPacking            // it is not a weight, and the backend has no kernel that makes the layout
	noCopy               // it is strided, and the backend has no kernel that makes it dense
)

// of returns the obstacle as a text that follows the name of v.
func (o obstacle) of(v *ir.Value) string {
	layout := plainIfWeight(v)
	switch o {
	case otherDType:
		return fmt.Sprintf("is %v, which it does not read", v.Type.DType)
	case otherLayout:
		return fmt.Sprintf("is %v in layout %v, which it does not read", v.Type.DType, layout)
	case noLayout:
		return fmt.Sprintf("cannot be laid out from %v", layout)
	case noPacking:
		return fmt.Sprintf("is not a weight, and it has no kernel that packs %v", v.Type.DType)
	}
	return "is strided, and it cannot make it dense"
}

// plainIfWeight returns the layout that pack starts from. A weight can be laid out again from its plain bytes, whatever
// layout other readers of it got.
func plainIfWeight(v *ir.Value) dtype.Layout {
	if isWeight(v) {
		return dtype.Plain
	}
	return v.Type.Layout
}

// canMake returns why pack cannot convert v to the format; noObstacle if it can. The pass can quantize f32 values or
// round them to bf16, lay out plain values, and make strided values dense, if the backend has kernels for that.
// Weights are converted by the compiler, which needs no kernel.
func (d *Descriptor) canMake(v *ir.Value, f *Format) obstacle {
	readsDType, readsLayout := f.hasDType(v.Type.DType), f.HasLayout(plainIfWeight(v))
	switch {
	case !readsDType && !d.canConvert(v, f):
		return otherDType
	case !readsDType && !readsLayout:
		return otherLayout
	case !readsLayout && !canLayOut(v, f):
		return noLayout
	case !readsLayout && !isWeight(v) && !d.packs(v.Type.DType):
		return noPacking
	case !f.Strides.Hold(v.Type) && !d.copies(v):
		return noCopy
	}
	return noObstacle
}

// copies reports whether the backend has a kernel that makes v dense.
func (d *Descriptor) copies(v *ir.Value) bool {
	row, _ := d.Kernel(&ir.Node{Op: ir.OpCopy, Args: []*ir.Value{v}})
	return row != nil
}

// isWeight reports whether v is a weight itself. A view of a weight is not: it is packed at run time.
func isWeight(v *ir.Value) bool { return v.Def != nil && v.Def.Op == ir.OpWeight }

// canConvert reports whether pack can make one of the format's dtypes from v. It makes q8a and q8a_k from f32, and bf16
// from f32 activations for a kernel that reads only bf16.
func (d *Descriptor) canConvert(v *ir.Value, f *Format) bool {
	if v.Type.DType != dtype.F32 {
		return false
	}
	if to := f.activation(); to.Valid() {
		return d.quantizes(to)
	}
	return f.onlyBF16() && !isWeight(v) && d.Has(ir.OpCast)
}

// activation returns the first format of quantized activations that f holds; dtype.Invalid if there is none.
func (f Format) activation() dtype.DType {
	for _, d := range f.DTypes {
		if d.IsActivation() {
			return d
		}
	}
	return dtype.Invalid
}

// quantizes reports whether the backend has a kernel that makes activations of dtype to.
func (d *Descriptor) quantizes(to dtype.DType) bool {
	n := &ir.Node{Op: ir.OpQuantize, Attr: &ir.QuantizeAttr{To: to}}
	return slices.ContainsFunc(d.Rows, func(r Row) bool { return r.Op == n.Op && (r.Check == nil || r.Check(n) == "") })
}

// onlyBF16 reports whether the format holds plain bf16 only.
func (f Format) onlyBF16() bool {
	return len(f.DTypes) == 1 && f.DTypes[0] == dtype.BF16 && f.HasLayout(dtype.Plain)
}

// packs reports whether the backend has a kernel that lays out tensors of dtype dt.
func (d *Descriptor) packs(dt dtype.DType) bool {
	for i := range d.Rows {
		if r := &d.Rows[i]; r.Op == ir.OpPack && (r.Args == nil || r.Args[0].hasDType(dt)) {
			return true
		}
	}
	return false
}

// canLayOut reports whether v can get a layout of the format: it is a matrix, or a weight that is a list of matrices.
func canLayOut(v *ir.Value, f *Format) bool {
	rank := v.Type.Rank()
	isMatrix := rank == 2 || rank == 3 && isWeight(v)
	return isMatrix && plainIfWeight(v) == dtype.Plain && f.layout(v.Type.DType) != dtype.Plain
}

// Want returns the dtype and the layout that pack gives to v for a kernel that reads f. It keeps what the kernel reads.
func (f Format) Want(v *ir.Value) (dtype.DType, dtype.Layout) {
	t := v.Type
	dt, layout := t.DType, t.Layout
	switch {
	case f.hasDType(dt):
	case f.onlyBF16():
		return dtype.BF16, dtype.Plain
	default:
		return f.activation(), dtype.Plain
	}
	if !f.HasLayout(layout) {
		layout = f.layout(dt)
	}
	return dt, layout
}
