// Package lower writes functions of our ops in those of ggml, as llama.cpp builds its graphs, so that what is known of
// ggml's graphs can be asked of ours.
//
// An op of ours is one node of ggml or several: rms_norm is RMS_NORM and MUL. A cache of heads is one matrix, in which
// the elements of a position's heads follow each other. Sizes are the upper bounds of ours. What ggml computes within
// an op, or on the host, has no node: tables of ROPE, and indexes of cells.
package lower

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// Graph is a function in ggml's ops.
type Graph struct {
	Func *ir.Func // of weights, states and foreign nodes

	Of   map[*ir.Value]*ir.Value // of each value of ours, ggml's; absent if there is none
	From map[*ir.Value]*ir.Value // of each value of ggml's, the one of ours that it is made for

	heads map[*ir.Value]int64 // of each value of ours that is a cache: the elements of a head
}

// Func returns a function in ggml's ops. An op that ggml has not keeps our name, in capitals.
func Func(f *ir.Func) (*Graph, error) {
	b := ir.NewBuilder(f.Name)
	l := &lowering{
		b: b, f: b.Func(f.Name), tensors: make(map[*ir.Value]*tensor),
		g: &Graph{Of: make(map[*ir.Value]*ir.Value), From: make(map[*ir.Value]*ir.Value), heads: make(map[*ir.Value]int64)},
	}
	l.within = biasesOf(f)
	for _, p := range f.Params {
		l.value = p
		if err := l.input(p); err != nil {
			return nil, fmt.Errorf("@%s %v: %w", f.Name, p, err)
		}
	}
	for _, n := range f.Nodes {
		if err := l.write(n); err != nil {
			return nil, fmt.Errorf("@%s %v: %w", f.Name, n, err)
		}
	}
	for i, r := range f.Results {
		if t := l.tensors[r]; t != nil {
			l.f.Return(fmt.Sprintf("result%d", i), t.v)
		}
	}
	l.g.Func = l.f.Func()
	_, err := b.Finish()
	return l.g, err
}

// State returns the state of a value of ours for that of its tensor. ok is false if it has none: pieces of heads.
func (g *Graph) State(v *ir.Value, s ir.Sharding) (_ ir.Sharding, ok bool) {
	if !s.IsSplit() {
		return s, true
	}
	size, cache := g.heads[v]
	if !cache {
		s.Axis -= foreign.Dims - v.Type.Rank()
		return s, s.Axis >= 0
	}
	if s.Axis != foreign.Dims-1 {
		return s, false
	}
	return scaled(s, 1, 1, size)
}

// Given returns the state of a tensor that is a weight or state for that of our value; ok as for State.
func (g *Graph) Given(v *ir.Value, s ir.Sharding) (_ ir.Sharding, ok bool) {
	if !s.IsSplit() {
		return s, true
	}
	size, cache := g.heads[v]
	if !cache {
		s.Axis += foreign.Dims - v.Type.Rank()
		return s, true
	}
	if s.Axis != 1 {
		return s, false
	}
	return scaled(s, foreign.Dims-1, size, 1)
}

// scaled returns s on another axis, with counts of num/den times the size.
func scaled(s ir.Sharding, axis int, num, den int64) (ir.Sharding, bool) {
	r := ir.SplitOn(axis)
	for _, seg := range s.Segments {
		t := ir.Segment{Times: seg.Times}
		for _, n := range seg.Counts {
			if n*num%den != 0 {
				return s, false
			}
			t.Counts = append(t.Counts, n*num/den)
		}
		r.Segments = append(r.Segments, t)
	}
	return r, true
}

// lowering writes a function in ggml's ops.
type lowering struct {
	b       *ir.Builder
	f       *ir.FuncBuilder
	g       *Graph
	value   *ir.Value // of ours, for which tensors are made
	tensors map[*ir.Value]*tensor
	within  map[*ir.Node]*bias // nodes that are part of another
}

// tensor is a value of ggml's: extents and strides in elements, the fastest dimension first.
type tensor struct {
	v          *ir.Value
	dtype      dtype.DType
	ne, stride [foreign.Dims]int64
	root       *tensor // that it views; nil for one that has its own bytes
	offset     int64   // in root, in elements
}

// sizes are extents, the fastest first.
type sizes = [foreign.Dims]int64

// upper returns the value of a dimension at the upper bounds of its symbols.
func upper(d ir.Dim) int64 { return d.Eval(func(s *ir.Symbol) int64 { return s.Max }) }

// sizesOf returns dimensions of a type in ggml's order.
func sizesOf(dims []ir.Dim, fill int64) (ne sizes, err error) {
	if len(dims) > foreign.Dims {
		return ne, fmt.Errorf("it has %d dimensions, and ggml's tensors have %d", len(dims), foreign.Dims)
	}
	for i := range ne {
		if ne[i] = fill; i < len(dims) {
			ne[i] = upper(dims[len(dims)-1-i])
		}
	}
	return ne, nil
}

// dense returns the strides of extents that follow each other without gaps.
func dense(ne sizes) (stride sizes) {
	n := int64(1)
	for i := range ne {
		stride[i] = n
		n *= ne[i]
	}
	return stride
}

// typ returns the type of a tensor, outermost dimension first.
func (t *tensor) typ() ir.Type {
	typ := ir.Type{DType: t.dtype}
	for _, n := range slices.Backward(t.ne[:]) {
		typ.Shape = append(typ.Shape, ir.Const(n))
	}
	if t.stride != dense(t.ne) {
		for _, n := range slices.Backward(t.stride[:]) {
			typ.Strides = append(typ.Strides, ir.Const(n))
		}
	}
	return typ
}

// bytes returns an offset in bytes.
func (t *tensor) bytes(elements int64) int64 {
	return elements / int64(t.dtype.BlockElems()) * int64(t.dtype.BlockBytes())
}

// made records a tensor. The one that is our value itself gets its name.
func (l *lowering) made(t *tensor, suffix string) *tensor {
	l.f.Named(l.value.Name()+suffix, t.v)
	l.g.From[t.v] = l.value
	return t
}

// is makes a tensor our value.
func (l *lowering) is(t *tensor) {
	l.tensors[l.value] = t
	l.g.Of[l.value] = t.v
	if l.g.From[t.v] == l.value {
		l.f.Named(l.value.Name(), t.v)
	}
}

// input makes a parameter, which the host writes.
func (l *lowering) input(p *ir.Value) error {
	ne, err := sizesOf(p.Type.Shape, 1)
	if err != nil {
		return err
	}
	l.is(l.leaf(ne, p.Type.DType, ""))
	return nil
}

// leaf makes an input of the graph.
func (l *lowering) leaf(ne sizes, d dtype.DType, suffix string) *tensor {
	t := &tensor{dtype: d, ne: ne, stride: dense(ne)}
	t.v = l.f.Foreign(ir.ForeignAttr{Op: "NONE", Leaf: true, Input: true}, nil, t.typ())[0]
	return l.made(t, suffix)
}

// node makes a node with a result of its own.
func (l *lowering) node(op, params string, ne sizes, src ...*tensor) *tensor {
	return l.nodeOf(op, params, dtype.F32, ne, src...)
}

func (l *lowering) nodeOf(op, params string, d dtype.DType, ne sizes, src ...*tensor) *tensor {
	t := &tensor{dtype: d, ne: ne, stride: dense(ne)}
	a, args := sources(op, params, src)
	t.v = l.f.Foreign(a, args, t.typ())[0]
	return l.made(t, "."+strings.ToLower(op))
}

// sources returns the attributes of a node, and the sources that are present.
func sources(op, params string, src []*tensor) (ir.ForeignAttr, []*ir.Value) {
	a := ir.ForeignAttr{Op: op, Params: params}
	var args []*ir.Value
	for i, s := range src {
		if s != nil {
			a.Srcs, args = append(a.Srcs, i), append(args, s.v)
		}
	}
	return a, args
}

// view makes a node that names bytes of its source, from an offset on.
func (l *lowering) view(op, params string, ne, stride sizes, offset int64, x *tensor) *tensor {
	t := &tensor{dtype: x.dtype, ne: ne, stride: stride, root: x, offset: offset + x.offset}
	if x.root != nil {
		t.root = x.root
	}
	a, args := sources(op, params, []*tensor{x})
	a.View, a.Offset = true, t.bytes(t.offset)
	t.v = l.f.Foreign(a, append(args, t.root.v), t.typ())[0]
	return l.made(t, "."+strings.ToLower(op))
}

// reshape sees x in another shape, if it has no gaps.
func (l *lowering) reshape(x *tensor, ne ...int64) *tensor {
	s := sizes{1, 1, 1, 1}
	copy(s[:], ne)
	if s == x.ne {
		return x
	}
	return l.view("RESHAPE", "", s, dense(s), 0, x)
}

// permute moves dimension i to to[i].
func (l *lowering) permute(x *tensor, to [foreign.Dims]int) *tensor {
	var ne, stride sizes
	for i, j := range to {
		ne[j], stride[j] = x.ne[i], x.stride[i]
	}
	return l.view("PERMUTE", fmt.Sprintf("to=%d,%d,%d,%d", to[0], to[1], to[2], to[3]), ne, stride, 0, x)
}
