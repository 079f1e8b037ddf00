package shard

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

// Graph is a module made of the inputs of a case.
type Graph struct {
	Func   *ir.Func
	Values []*ir.Value // by tensor
	Given  map[string]ir.Sharding
}

// Build makes a module of the inputs of a case.
func Build(c *Case) (*Graph, error) {
	b := ir.NewBuilder(c.Name)
	f := b.Func("graph")
	g := &Graph{Func: f.Func(), Values: make([]*ir.Value, len(c.Tensors)), Given: make(map[string]ir.Sharding)}
	for _, i := range c.order() {
		t := &c.Tensors[i]
		name := fmt.Sprintf("t%d", i)
		typ, err := t.typ()
		if err != nil {
			return nil, fmt.Errorf("%s: tensor %d: %w", c.Name, i, err)
		}
		f.At(t.Name)
		switch t.Kept {
		case "weight":
			b.Weight(name, typ, nil)
			g.Values[i] = f.Weight(name)
		case "state":
			b.State(name, typ)
			g.Values[i] = f.State(name)
		default:
			g.Values[i] = f.Named(name, f.Foreign(t.attr(i, typ), t.args(i, g.Values), typ)[0])
		}
		if t.Given != nil {
			g.Given[name] = t.Given.sharding()
		}
		if t.Output {
			f.Return(name, g.Values[i])
		}
	}
	_, err := b.Finish()
	return g, err
}

// order returns the tensors in the order of the module: what is kept, other leafs, nodes.
func (c *Case) order() []int {
	var order []int
	for i, t := range c.Tensors {
		if t.Kept != "" {
			order = append(order, i)
		}
	}
	for _, i := range slices.Concat(c.Leafs, c.Nodes) {
		if c.Tensors[i].Kept == "" {
			order = append(order, i)
		}
	}
	return order
}

// sharding returns the state with axes that count from the slowest dimension.
func (s *State) sharding() ir.Sharding {
	switch s.Word {
	case "mirrored":
		return ir.Mirrored()
	case "partial":
		return ir.Partial()
	case "none":
		return ir.Sharding{}
	}
	var segments []ir.Segment
	for _, seg := range s.Segments {
		segments = append(segments, ir.Segment{Times: seg[0], Counts: seg[1:]})
	}
	return ir.SplitOn(3-s.Axis, segments...)
}

// typ returns the type of a tensor, outermost dimension first.
func (t *Tensor) typ() (ir.Type, error) {
	d, err := dtype.Parse(strings.ToLower(t.Type))
	if err != nil {
		return ir.Type{}, err
	}
	typ := ir.Type{DType: d}
	for i, n := range slices.Backward(t.NE[:]) {
		typ.Shape = append(typ.Shape, ir.Const(n))
		stride := t.NB[i] * int64(d.BlockElems()) / int64(d.BlockBytes())
		if i == 0 && t.NB[0] == int64(d.BlockBytes()) {
			stride = 1
		}
		typ.Strides = append(typ.Strides, ir.Const(stride))
	}
	if ir.EqualDims(typ.Strides, typ.DenseStrides()) {
		typ.Strides = nil
	}
	return typ, nil
}

// attr returns the attributes of tensor i, which is neither weight nor state.
func (t *Tensor) attr(i int, typ ir.Type) ir.ForeignAttr {
	a := ir.ForeignAttr{Op: t.Op, Source: "ggml", Input: t.Input, Leaf: t.Op == "NONE", Offset: t.ViewOffset, Params: t.params()}
	if t.Bytes != typ.MaxBytes() {
		a.Bytes = t.Bytes
	}
	switch t.Op {
	case "VIEW", "RESHAPE", "PERMUTE", "TRANSPOSE":
		a.View = true
	default:
		a.InPlace = t.ViewOf != nil
	}
	for k, s := range t.Src {
		if s != nil && *s != i {
			a.Srcs = append(a.Srcs, k)
		}
	}
	return a
}

// params returns the parameters as a text such as to=0,2,1,3.
func (t *Tensor) params() string {
	var words []string
	for _, key := range slices.Sorted(maps.Keys(t.Params)) {
		var list []json.RawMessage
		if json.Unmarshal(t.Params[key], &list) != nil {
			list = []json.RawMessage{t.Params[key]}
		}
		texts := make([]string, len(list))
		for i, raw := range list {
			texts[i] = strings.Trim(string(raw), `"`)
		}
		words = append(words, key+"="+strings.Join(texts, ","))
	}
	return strings.Join(words, " ")
}

// args returns the sources that are present, without the tensor itself, followed by the tensor of which this one is a
// view.
func (t *Tensor) args(i int, values []*ir.Value) []*ir.Value {
	var args []*ir.Value
	for _, s := range t.Src {
		if s != nil && *s != i {
			args = append(args, values[*s])
		}
	}
	if t.ViewOf != nil {
		args = append(args, values[*t.ViewOf])
	}
	return args
}

// wrongCuts returns the tensors whose given state does not follow from the shares. The states of given-* are odd on
// purpose.
func (c *Case) wrongCuts() []string {
	var wrong []string
	for i, t := range c.Tensors {
		if t.Given == nil || t.Cut == nil || t.Given.Word != "" || strings.HasPrefix(c.Name, "given-") {
			continue
		}
		if got, err := c.cut(&t); err != nil || !got.Equal(t.Given.sharding()) {
			wrong = append(wrong, fmt.Sprintf("%d is given %v, the shares give %v (error %v)", i, t.Given.sharding(), got, err))
		}
	}
	return wrong
}

// cut returns the state that follows from the shares, with the segments of the given one.
func (c *Case) cut(t *Tensor) (ir.Sharding, error) {
	var times, sizes []int64
	for _, seg := range t.Given.Segments {
		n := int64(0)
		for _, count := range seg[1:] {
			n += count
		}
		times, sizes = append(times, seg[0]), append(sizes, n)
	}
	if len(t.Cut.Granularity) != len(sizes) {
		return ir.Sharding{}, fmt.Errorf("%d granularities for %d segments", len(t.Cut.Granularity), len(sizes))
	}
	return ggml.CutSegments(3-t.Given.Axis, times, sizes, t.Cut.Granularity, c.Shares, t.Cut.Rotation)
}
