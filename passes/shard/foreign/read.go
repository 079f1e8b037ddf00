// Package foreign reads functions of foreign nodes in the terms of ggml, from which they come.
package foreign

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// Graph is a function of weights, states and foreign nodes.
type Graph struct {
	Tensors []*Tensor // kept ones, other leaves, nodes
	Nodes   []*Tensor
	Of      map[*ir.Value]*Tensor
}

// Read returns the graph of a function.
func Read(f *ir.Func) (*Graph, error) {
	g := &Graph{Of: make(map[*ir.Value]*Tensor)}
	for _, n := range f.Nodes {
		t, err := g.tensor(n)
		if err != nil {
			return nil, fmt.Errorf("@%s %v: %w", f.Name, n, err)
		}
		if g.Of[t.Value] = t; t.Pos >= 0 {
			g.Nodes = append(g.Nodes, t)
		}
		g.Tensors = append(g.Tensors, t)
	}
	slices.SortStableFunc(g.Tensors, func(a, b *Tensor) int { return a.class() - b.class() })
	for i, t := range g.Tensors {
		t.Index = i
	}
	for _, v := range f.Results {
		g.Of[v].Output = true
	}
	return g, nil
}

// class orders tensors: kept ones, other leaves, nodes.
func (t *Tensor) class() int {
	switch {
	case t.Kept:
		return 0
	case t.Pos < 0:
		return 1
	}
	return 2
}

// tensor returns the tensor of a node, whose operands have theirs.
func (g *Graph) tensor(n *ir.Node) (*Tensor, error) {
	v := n.Result()
	if v == nil {
		return nil, fmt.Errorf("%v has no result", n.Op)
	}
	t := &Tensor{Value: v, Op: "NONE", DType: v.Type.DType, Bytes: v.MaxBytes(), Pos: -1}
	if err := t.setShape(v.Type); err != nil {
		return nil, err
	}
	switch a := n.Attr.(type) {
	case *ir.WeightAttr, *ir.StateAttr:
		t.Kept = true
	case *ir.ForeignAttr:
		t.Op, t.Offset = a.Op, a.Offset
		if !a.Leaf {
			t.Pos = len(g.Nodes)
		}
		if from := v.Source(); from != nil {
			t.ViewOf = g.Of[from]
		}
		g.setSources(t, n)
		return t, t.setParams(a.Params)
	default:
		return nil, fmt.Errorf("ggml has no op %v", n.Op)
	}
	return t, nil
}

// setShape sets dimensions and strides.
func (t *Tensor) setShape(typ ir.Type) error {
	if typ.Rank() != Dims {
		return fmt.Errorf("has rank %d: ggml's tensors have %d", typ.Rank(), Dims)
	}
	block, bytes := int64(t.DType.BlockElems()), int64(t.DType.BlockBytes())
	for i, stride := range typ.StrideDims() {
		n, fixed := typ.Shape[i].IsConst()
		s, also := stride.IsConst()
		if !fixed || !also {
			return fmt.Errorf("type %v: ggml's sizes are constant", typ)
		}
		d := Dims - 1 - i
		if t.NE[d], t.NB[d] = n, s*bytes/block; d == 0 && s == 1 {
			t.NB[d] = bytes
		}
	}
	return nil
}

// setSources sets the sources at their positions.
func (g *Graph) setSources(t *Tensor, n *ir.Node) {
	for i, v := range n.Sources() {
		at := n.SourcePos(i)
		for len(t.Src) <= at {
			t.Src = append(t.Src, nil)
		}
		t.Src[at] = g.Of[v]
	}
}

// setParams reads parameters such as to=0,2,1,3. Words are left out, as nothing asks for them.
func (t *Tensor) setParams(params string) error {
	t.Params = make(map[string][]float64)
	for p := range strings.FieldsSeq(params) {
		key, list, _ := strings.Cut(p, "=")
		for text := range strings.SplitSeq(list, ",") {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				t.Params[key] = append(t.Params[key], n)
			}
		}
	}
	if need := needed[t.Op]; len(t.Params[need.key]) != need.n {
		return fmt.Errorf("%s needs %d numbers %q", t.Op, need.n, need.key)
	}
	return nil
}

// needed has how many numbers a parameter has, for the ops that are wrong without it.
var needed = map[string]struct {
	key string
	n   int
}{"CONCAT": {"dim", 1}, "PERMUTE": {"to", Dims}, "PAD": {"pad", 2 * Dims}}

// Flip converts the axis of a state between ggml's order and that of the IR.
func Flip(s ir.Sharding) ir.Sharding {
	if s.IsSplit() {
		s.Axis = Dims - 1 - s.Axis
	}
	return s
}
