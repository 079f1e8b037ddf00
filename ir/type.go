package ir

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Type says what the bytes of a value are.
type Type struct {
	DType  dtype.DType
	Layout dtype.Layout // plain, or the packed form of a tile

	// Shape is outermost dimension first. A scalar has rank 0.
	Shape []Dim

	// Strides, in elements, belong to views; nil means dense, row by row. The innermost
	// dimension of a block format is always dense.
	Strides []Dim

	// Space is the memory space where the bytes lie; empty before assign.
	Space string
}

// Rank returns the number of dimensions.
func (t Type) Rank() int { return len(t.Shape) }

// Dense reports whether the elements follow each other without gaps, in row order.
func (t Type) Dense() bool { return t.Strides == nil }

// Elems returns the number of elements.
func (t Type) Elems() Dim {
	n := Const(1)
	for _, d := range t.Shape {
		n = n.Mul(d)
	}
	return n
}

// Inner returns the extent of the innermost dimension; 1 for a scalar.
func (t Type) Inner() Dim {
	if len(t.Shape) == 0 {
		return Const(1)
	}
	return t.Shape[len(t.Shape)-1]
}

// Rows returns the product of all dimensions but the innermost.
func (t Type) Rows() Dim {
	n := Const(1)
	for _, d := range t.Shape[:max(0, len(t.Shape)-1)] {
		n = n.Mul(d)
	}
	return n
}

// Bytes returns the size in bytes of a dense value of this type, in its layout.
func (t Type) Bytes() Dim {
	if t.Layout != dtype.Plain {
		blocks := t.Inner().CeilDiv(int64(t.DType.BlockElems()))
		return t.Rows().CeilDiv(dtype.PanelRows).Mul(blocks).Mul(Const(int64(t.DType.PanelBlockBytes())))
	}
	return t.Rows().Mul(t.Inner().CeilDiv(int64(t.DType.BlockElems()))).Mul(Const(int64(t.DType.BlockBytes())))
}

// MaxBytes returns the size in bytes at the symbols' upper bounds.
func (t Type) MaxBytes() int64 { return t.Bytes().Upper() }

// DenseStrides returns the strides, in elements, that a dense value of this shape has.
func (t Type) DenseStrides() []Dim {
	s := make([]Dim, len(t.Shape))
	n := Const(1)
	for i, d := range slices.Backward(t.Shape) {
		s[i] = n
		n = n.Mul(d)
	}
	return s
}

// StrideDims returns the strides in elements, those of a dense value where none are set.
func (t Type) StrideDims() []Dim {
	if t.Strides != nil {
		return t.Strides
	}
	return t.DenseStrides()
}

// WithShape returns t with another shape, dense.
func (t Type) WithShape(shape ...Dim) Type {
	t.Shape, t.Strides = shape, nil
	return t
}

// WithDType returns t with another dtype, plain and dense.
func (t Type) WithDType(d dtype.DType) Type {
	t.DType, t.Layout, t.Strides = d, dtype.Plain, nil
	return t
}

// Equal reports whether t and u agree in everything, the space included.
func (t Type) Equal(u Type) bool { return t.SameData(u) && t.Space == u.Space }

// SameData reports whether t and u agree in everything but the space.
func (t Type) SameData(u Type) bool {
	return t.DType == u.DType && t.Layout == u.Layout && EqualDims(t.Shape, u.Shape) &&
		EqualDims(t.Strides, u.Strides)
}

// EqualDims reports whether two lists of dimensions are equal for all sizes.
func EqualDims(a, b []Dim) bool { return slices.EqualFunc(a, b, Dim.Equal) }
