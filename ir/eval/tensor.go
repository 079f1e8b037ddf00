package eval

import (
	"fmt"
	"slices"
)

// Tensor is a strided array of float64, outermost dimension first. Views share Data; a Tensor that this
// package has received or returned must not be modified.
type Tensor struct {
	Shape   []int
	Strides []int // in elements; as many as Shape
	Offset  int   // of the first element in Data
	Data    []float64
}

// New returns a dense tensor of zeros.
func New(shape ...int) Tensor { return Of(make([]float64, size(shape)), shape...) }

// Of returns the dense tensor with the elements of data in row order. It shares data, whose length must
// match the shape.
func Of(data []float64, shape ...int) Tensor {
	if len(data) != size(shape) {
		panic(fmt.Sprintf("eval: internal error: %d elements for shape %v", len(data), shape))
	}
	return Tensor{Shape: slices.Clone(shape), Strides: denseStrides(shape), Data: data}
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func denseStrides(shape []int) []int {
	strides := make([]int, len(shape))
	n := 1
	for i, d := range slices.Backward(shape) {
		strides[i] = n
		n *= d
	}
	return strides
}

// Rank returns the number of dimensions.
func (t Tensor) Rank() int { return len(t.Shape) }

// Len returns the number of elements.
func (t Tensor) Len() int { return size(t.Shape) }

// Inner returns the extent of the innermost dimension; 1 for a scalar.
func (t Tensor) Inner() int {
	if len(t.Shape) == 0 {
		return 1
	}
	return t.Shape[len(t.Shape)-1]
}

// At returns the element at an index with one number for each dimension.
func (t Tensor) At(index ...int) float64 { return t.Data[t.at(index)] }

func (t Tensor) at(index []int) int {
	if len(index) != len(t.Shape) {
		panic(fmt.Sprintf("eval: internal error: index %v into shape %v", index, t.Shape))
	}
	p := t.Offset
	for i, x := range index {
		if x < 0 || x >= t.Shape[i] {
			panic(fmt.Sprintf("eval: internal error: index %v into shape %v", index, t.Shape))
		}
		p += x * t.Strides[i]
	}
	return p
}

// IsDense reports whether the elements are consecutive in row order. Strides of dimensions of extent 1
// are ignored.
func (t Tensor) IsDense() bool {
	n := 1
	for i, d := range slices.Backward(t.Shape) {
		if d != 1 && t.Strides[i] != n {
			return false
		}
		n *= d
	}
	return true
}

// Flat returns the elements in row order: those of the tensor if it is dense, else a copy.
func (t Tensor) Flat() []float64 {
	if t.IsDense() {
		return t.Data[t.Offset : t.Offset+t.Len()]
	}
	out := make([]float64, 0, t.Len())
	t.each(func(at int) { out = append(out, t.Data[at]) })
	return out
}

// each calls visit with the position in Data of every element, in row order.
func (t Tensor) each(visit func(at int)) {
	var walk func(dim, at int)
	walk = func(dim, at int) {
		if dim == len(t.Shape) {
			visit(at)
			return
		}
		for range t.Shape[dim] {
			walk(dim+1, at)
			at += t.Strides[dim]
		}
	}
	walk(0, t.Offset)
}

// Dense returns t, copied if it is not dense.
func (t Tensor) Dense() Tensor { return Of(t.Flat(), t.Shape...) }

// row returns row i of the innermost dimension; flat is the result of t.Flat.
func (t Tensor) row(flat []float64, i int) []float64 {
	n := t.Inner()
	return flat[i*n : (i+1)*n]
}

// rows returns the number of rows of the innermost dimension.
func (t Tensor) rows() int {
	if len(t.Shape) == 0 {
		return 1
	}
	return size(t.Shape[:len(t.Shape)-1])
}

// Reshape returns t in another shape with the same number of elements. It is a view if t is dense.
func (t Tensor) Reshape(shape ...int) (Tensor, error) {
	if size(shape) != t.Len() {
		return Tensor{}, fmt.Errorf("shape %v has %d elements, %v has %d", shape, size(shape), t.Shape, t.Len())
	}
	if !t.IsDense() {
		return Of(t.Flat(), shape...), nil
	}
	return Tensor{slices.Clone(shape), denseStrides(shape), t.Offset, t.Data}, nil
}

// Permute returns the view whose dimension i is dimension perm[i] of t.
func (t Tensor) Permute(perm ...int) (Tensor, error) {
	seen := make([]bool, len(t.Shape))
	v := t
	v.Shape, v.Strides = nil, nil
	for _, p := range perm {
		if p < 0 || p >= len(seen) || seen[p] {
			return Tensor{}, fmt.Errorf("%v is no permutation of %d dimensions", perm, len(seen))
		}
		seen[p] = true
		v.Shape, v.Strides = append(v.Shape, t.Shape[p]), append(v.Strides, t.Strides[p])
	}
	if len(perm) != len(seen) {
		return Tensor{}, fmt.Errorf("%v is no permutation of %d dimensions", perm, len(seen))
	}
	return v, nil
}

// Slice returns the view of the range [start, start+n) of an axis.
func (t Tensor) Slice(axis, start, n int) (Tensor, error) {
	if axis < 0 || axis >= len(t.Shape) {
		return Tensor{}, fmt.Errorf("axis %d of a tensor of rank %d", axis, len(t.Shape))
	}
	if start < 0 || n < 0 || start > t.Shape[axis]-n {
		return Tensor{}, fmt.Errorf("range [%d,%d) of axis %d, which has %d", start, start+n, axis, t.Shape[axis])
	}
	v := t
	v.Shape = slices.Clone(t.Shape)
	v.Shape[axis] = n
	v.Offset += start * t.Strides[axis]
	return v, nil
}

// Broadcast returns the view that repeats t to a shape. Dimensions are aligned at the innermost one; an
// extent that differs must be 1.
func (t Tensor) Broadcast(shape ...int) (Tensor, error) {
	lead := len(shape) - len(t.Shape)
	if lead < 0 {
		return Tensor{}, fmt.Errorf("shape %v cannot be repeated to %v", t.Shape, shape)
	}
	v := Tensor{slices.Clone(shape), make([]int, len(shape)), t.Offset, t.Data}
	for i, d := range t.Shape {
		switch {
		case d == shape[lead+i]:
			v.Strides[lead+i] = t.Strides[i]
		case d != 1:
			return Tensor{}, fmt.Errorf("shape %v cannot be repeated to %v", t.Shape, shape)
		}
	}
	return v, nil
}

// mapped returns the dense tensor with f applied to each element.
func (t Tensor) mapped(f func(float64) float64) Tensor {
	flat := t.Flat()
	out := make([]float64, len(flat))
	for i, x := range flat {
		out[i] = f(x)
	}
	return Of(out, t.Shape...)
}
