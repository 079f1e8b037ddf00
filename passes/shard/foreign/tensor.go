package foreign

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Dims is the number of dimensions that every ggml tensor has.
const Dims = 4

// Tensor is a value in ggml's terms: four dimensions, the fastest first, and strides in bytes.
type Tensor struct {
	Value  *ir.Value
	Op     string
	DType  dtype.DType
	NE, NB [Dims]int64
	Bytes  int64     // extent
	Src    []*Tensor // by position; nil where there is none
	Params map[string][]float64
	ViewOf *Tensor // the tensor whose bytes it has, which is no view; nil if it has its own
	Offset int64   // in bytes, in ViewOf
	Pos    int     // position among the nodes of the graph; -1 for others
	Kept   bool    // a weight or state
	Output bool
	Index  int // in Graph.Tensors
}

// Part is what one device has of a tensor: dimensions and strides in bytes, the fastest first, and the offset in the
// tensor that it is a view of.
type Part struct {
	NE, NB [Dims]int64
	Offset int64
}

// Source returns source i, or nil.
func (t *Tensor) Source(i int) *Tensor {
	if i < len(t.Src) {
		return t.Src[i]
	}
	return nil
}

// Sources returns the sources that are present.
func (t *Tensor) Sources() []*Tensor {
	return slices.DeleteFunc(slices.Clone(t.Src), func(s *Tensor) bool { return s == nil })
}

// Elems returns the number of elements.
func (t *Tensor) Elems() int64 { return t.UpTo(Dims - 1) }

// UpTo returns the product of the first dimensions, up to and including d.
func (t *Tensor) UpTo(d int) int64 {
	n := int64(1)
	for _, e := range t.NE[:d+1] {
		n *= e
	}
	return n
}

// Rank returns the number of dimensions, without the last ones of extent 1; at least 1.
func (t *Tensor) Rank() int {
	d := Dims - 1
	for d > 0 && t.NE[d] == 1 {
		d--
	}
	return d + 1
}

// Contiguous reports whether the rows follow each other without gaps. Strides of dimensions of extent 1 are free.
func (t *Tensor) Contiguous() bool {
	block, next := int64(t.DType.BlockElems()), int64(t.DType.BlockBytes())
	if t.NE[0] != block && t.NB[0] != next {
		return false
	}
	next *= t.NE[0] / block
	for d := 1; d < Dims; d++ {
		if t.NE[d] == 1 {
			continue
		}
		if t.NB[d] != next {
			return false
		}
		next *= t.NE[d]
	}
	return true
}

// Permuted reports whether a dimension has a smaller stride than one before it.
func (t *Tensor) Permuted() bool { return !slices.IsSorted(t.NB[:]) }

// Extent returns the bytes from the first to the last element of a tensor of these dimensions and strides.
func Extent(d dtype.DType, ne, nb [Dims]int64) int64 {
	if slices.Contains(ne[:], 0) {
		return 0
	}
	n := ne[0] / int64(d.BlockElems()) * nb[0]
	if d.BlockElems() == 1 {
		n = int64(d.BlockBytes()) + (ne[0]-1)*nb[0]
	}
	for i := 1; i < Dims; i++ {
		n += (ne[i] - 1) * nb[i]
	}
	return n
}
