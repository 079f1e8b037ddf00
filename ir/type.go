package ir

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Type describes the bytes of a value.
type Type struct {
	DType  dtype.DType
	Layout dtype.Layout // plain, or a packed form

	// Shape has the outermost dimension first. A scalar has rank 0.
	Shape []Dim

	// Strides are in elements, for views. Nil means dense: row by row without gaps. The innermost
	// dimension of a block format is always dense.
	Strides []Dim

	// Space is the memory space of the bytes; empty before assign.
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

// Rows returns the product of all dimensions except the innermost.
func (t Type) Rows() Dim {
	n := Const(1)
	for _, d := range t.Shape[:max(0, len(t.Shape)-1)] {
		n = n.Mul(d)
	}
	return n
}

// Bytes returns the size in bytes of a dense value of this type, in its layout.
func (t Type) Bytes() Dim {
	blocks := t.Inner().CeilDiv(int64(t.DType.BlockElems()))
	switch t.Layout {
	case dtype.R16:
		return t.panels().Mul(blocks).Mul(Const(int64(t.DType.PanelBlockBytes())))
	case dtype.Planar:
		return t.Rows().Mul(t.planes(blocks))
	}
	if group := t.Layout.GroupBytes(t.DType); group != 0 {
		return t.panels().Mul(blocks).Mul(Const(int64(group)))
	}
	return t.Rows().Mul(blocks).Mul(Const(int64(t.DType.BlockBytes())))
}

// planes returns the bytes of a row of that many blocks in layout Planar.
func (t Type) planes(blocks Dim) (n Dim) {
	for _, p := range t.DType.Planes() {
		aligned := blocks.Mul(Const(int64(p.Bytes))).CeilDiv(dtype.PlaneAlign)
		n = n.Add(aligned.Mul(Const(dtype.PlaneAlign)))
	}
	return n
}

// panels returns the number of panels of a packed value. Each of its matrices begins with a new panel.
func (t Type) panels() Dim {
	n := t.Shape[len(t.Shape)-2].CeilDiv(t.Layout.Rows())
	for _, d := range t.Shape[:len(t.Shape)-2] {
		n = n.Mul(d)
	}
	return n
}

// MaxBytes returns the size in bytes at the symbols' upper bounds.
func (t Type) MaxBytes() int64 {
	if n, ok := t.constBytes(); ok {
		return n
	}
	return t.Bytes().Upper()
}

// constBytes is Bytes for plain types with constant extents, which most are; ok is false for others.
func (t Type) constBytes() (int64, bool) {
	if t.Layout != dtype.Plain {
		return 0, false
	}
	elems, inner := int64(1), int64(1)
	for _, d := range t.Shape {
		n, ok := d.IsConst()
		if !ok {
			return 0, false
		}
		elems, inner = elems*inner, n
	}
	block := int64(t.DType.BlockElems())
	return elems * ((inner + block - 1) / block) * int64(t.DType.BlockBytes()), true
}

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

// StrideDims returns the strides in elements, also of a dense value.
func (t Type) StrideDims() []Dim {
	if t.Strides != nil {
		return t.Strides
	}
	return t.DenseStrides()
}

// WithShape returns the dense type with another shape.
func (t Type) WithShape(shape ...Dim) Type {
	t.Shape, t.Strides = shape, nil
	return t
}

// WithDType returns the plain, dense type with another dtype.
func (t Type) WithDType(d dtype.DType) Type {
	t.DType, t.Layout, t.Strides = d, dtype.Plain, nil
	return t
}

// Equal reports whether t and u are the same, including the space.
func (t Type) Equal(u Type) bool { return t.SameData(u) && t.Space == u.Space }

// SameData reports whether t and u are the same except for the space.
func (t Type) SameData(u Type) bool {
	return t.DType == u.DType && t.Layout == u.Layout && EqualDims(t.Shape, u.Shape) &&
		EqualDims(t.Strides, u.Strides)
}

// EqualDims reports whether two lists of dimensions are equal for all sizes. Types often share the
// slice of their shape, which is compared first.
func EqualDims(a, b []Dim) bool {
	if len(a) != len(b) {
		return false
	}
	return len(a) == 0 || &a[0] == &b[0] || slices.EqualFunc(a, b, Dim.Equal)
}

// maxElems bounds the elements of a value at the upper bounds of its symbols. It is far above any
// memory, and keeps sizes in bytes from overflowing.
const maxElems = 1 << 44

// maxTerms bounds the terms of the number of elements: products of sums grow fast.
const maxTerms = 64

// maxRank bounds the number of dimensions.
const maxRank = 16

// CheckType returns an error if t cannot be the type of a value: it has no dtype, an extent that can be
// negative, a size beyond all bounds, rows that are not whole blocks, or a layout that the dtype does
// not have.
func CheckType(t Type) error {
	switch {
	case !t.DType.Valid():
		return errors.New("the dtype is missing")
	case len(t.Shape) > maxRank:
		return fmt.Errorf("rank %d is above %d", len(t.Shape), maxRank)
	case t.Strides != nil && (len(t.Strides) != len(t.Shape) || len(t.Shape) == 0):
		return fmt.Errorf("type %v: %d strides for rank %d", t, len(t.Strides), len(t.Shape))
	case !t.Layout.Holds(t.DType):
		return fmt.Errorf("type %v: %v has no layout %v", t, t.DType, t.Layout)
	case t.Layout != dtype.Plain && (len(t.Shape) < 2 || len(t.Shape) > 4 || t.Strides != nil):
		return fmt.Errorf("type %v: layout %v belongs to dense matrices, to dense lists of them and to states", t, t.Layout)
	}
	if err := checkExtents(t); err != nil {
		return fmt.Errorf("type %v: %w", t, err)
	}
	return nil
}

func checkExtents(t Type) error {
	elems, terms := int64(1), 1
	for i, d := range t.Shape {
		if terms *= max(d.numTerms(), 1); terms > maxTerms {
			return errors.New("its number of elements is too long a formula")
		}
		lo, hi := d.Bounds()
		if lo < 0 {
			return fmt.Errorf("dimension %d can be negative", i)
		}
		if elems = satMul(elems, max(hi, 1)); elems > maxElems {
			return errors.New("is larger than any memory")
		}
	}
	for i, s := range t.Strides {
		if lo, hi := s.Bounds(); lo < 0 || hi > maxElems {
			return fmt.Errorf("stride %d is outside 0 to %d", i, int64(maxElems))
		}
	}
	block := int64(t.DType.BlockElems())
	if block > 1 && (len(t.Shape) == 0 || !t.Inner().DivisibleBy(block)) {
		return fmt.Errorf("rows are no whole number of blocks of %d", block)
	}
	if block > 1 && t.Strides != nil && !blocksStay(t, block) {
		return fmt.Errorf("strides cut blocks of %d elements", block)
	}
	return nil
}

// blocksStay reports whether the strides of t keep its blocks whole.
func blocksStay(t Type, block int64) bool {
	last := len(t.Strides) - 1
	for _, s := range t.Strides[:last] {
		if !s.DivisibleBy(block) {
			return false
		}
	}
	return t.Strides[last].Is(1)
}

// String returns the type in the text form, such as f32[tokens,64], q4_0.r16[64,64], or f32[4,32
// strides 1,4], followed by the space, if any, as @host.
func (t Type) String() string {
	var b strings.Builder
	b.WriteString(t.data())
	if t.Space != "" {
		b.WriteString(" @" + quoteName(t.Space))
	}
	return b.String()
}

// data returns the text of the type without the space.
func (t Type) data() string {
	var b strings.Builder
	b.WriteString(t.DType.String())
	if t.Layout != dtype.Plain {
		b.WriteString("." + t.Layout.String())
	}
	b.WriteString("[" + joinDims(t.Shape))
	if t.Strides != nil {
		b.WriteString(" strides " + joinDims(t.Strides))
	}
	b.WriteString("]")
	return b.String()
}

func joinDims(ds []Dim) string {
	texts := make([]string, len(ds))
	for i, d := range ds {
		texts[i] = d.String()
	}
	return strings.Join(texts, ",")
}

// dimsText returns a list of dimensions in the text form: [tokens,64].
func dimsText(ds []Dim) string { return "[" + joinDims(ds) + "]" }
