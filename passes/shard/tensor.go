package shard

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// tensor is a value in ggml's terms: four dimensions, the fastest first, and strides in bytes.
type tensor struct {
	val    *ir.Value
	op     string
	dtype  dtype.DType
	ne, nb [4]int64
	bytes  int64 // extent
	src    []*tensor
	params map[string][]float64
	viewOf *tensor // the tensor whose bytes it has, which is no view; nil if it has its own
	offset int64   // in bytes, in viewOf
	pos    int     // position among the nodes of the graph; -1 for others
	kept   bool    // a weight or state
	output bool

	state ir.Sharding // as readers see it; axes count from the fastest
	own   ir.Sharding // before devices add up
}

// source returns source i, or nil. A tensor is not a source of itself.
func (t *tensor) source(i int) *tensor {
	if i < len(t.src) && t.src[i] != t {
		return t.src[i]
	}
	return nil
}

// in returns the state of source i as the tensor reads it, of kind ShardNone if there is no such source.
func (t *tensor) in(i int) ir.Sharding {
	if s := t.source(i); s != nil {
		return s.state
	}
	return ir.Sharding{}
}

// sources returns the sources that are present.
func (t *tensor) sources() []*tensor {
	var list []*tensor
	for i := range t.src {
		if s := t.source(i); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// elems returns the number of elements.
func (t *tensor) elems() int64 { return upTo(t.ne, 3) }

// upTo returns the product of the first dimensions, up to and including d.
func upTo(ne [4]int64, d int) int64 {
	n := int64(1)
	for _, e := range ne[:d+1] {
		n *= e
	}
	return n
}

// rank returns the number of dimensions, without the last ones of extent 1; at least 1.
func rank(ne [4]int64) int {
	d := 3
	for d > 0 && ne[d] == 1 {
		d--
	}
	return d + 1
}

// contiguous reports whether the rows follow each other without gaps. Strides of dimensions of extent 1 are free.
func (t *tensor) contiguous() bool {
	block, next := int64(t.dtype.BlockElems()), int64(t.dtype.BlockBytes())
	if t.ne[0] != block && t.nb[0] != next {
		return false
	}
	next *= t.ne[0] / block
	for d := 1; d < 4; d++ {
		if t.ne[d] == 1 {
			continue
		}
		if t.nb[d] != next {
			return false
		}
		next *= t.ne[d]
	}
	return true
}

// permuted reports whether a dimension has a smaller stride than one before it.
func (t *tensor) permuted() bool { return !slices.IsSorted(t.nb[:]) }

// extent returns the bytes from the first to the last element of a tensor of these dimensions and strides.
func extent(d dtype.DType, ne, nb [4]int64) int64 {
	if upTo(ne, 3) == 0 {
		return 0
	}
	n := ne[0] / int64(d.BlockElems()) * nb[0]
	if d.BlockElems() == 1 {
		n = int64(d.BlockBytes()) + (ne[0]-1)*nb[0]
	}
	for i := 1; i < 4; i++ {
		n += (ne[i] - 1) * nb[i]
	}
	return n
}
