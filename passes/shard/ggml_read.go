package shard

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
)

// ggmlDims is the number of dimensions that every ggml tensor has.
const ggmlDims = 4

// flip converts the axis of a state between ggml's order and that of the IR.
func flip(s ir.Sharding) ir.Sharding {
	if s.IsSplit() {
		s.Axis = ggmlDims - 1 - s.Axis
	}
	return s
}

// leafName returns the name of the weight or state that a value names.
func leafName(v *ir.Value) string {
	switch a := v.Def.Attr.(type) {
	case *ir.WeightAttr:
		return a.Name
	case *ir.StateAttr:
		return a.Name
	}
	return ""
}

// read converts the nodes of a function to tensors, weights and states first.
func (d *Division) read(f *ir.Func) error {
	for _, n := range f.Nodes {
		t, err := d.tensorOf(n)
		if err != nil {
			return fmt.Errorf("@%s %v: %w", f.Name, n, err)
		}
		if d.byVal[t.val] = t; t.pos >= 0 {
			d.nodes = append(d.nodes, t)
		}
		d.tensors = append(d.tensors, t)
	}
	slices.SortStableFunc(d.tensors, func(a, b *tensor) int { return a.rank() - b.rank() })
	for _, v := range f.Results {
		d.byVal[v].output = true
	}
	return nil
}

// rank orders tensors: kept ones, other leaves, nodes.
func (t *tensor) rank() int {
	switch {
	case t.kept:
		return 0
	case t.pos < 0:
		return 1
	}
	return 2
}

// tensorOf returns the tensor of a node, whose operands have theirs.
func (d *Division) tensorOf(n *ir.Node) (*tensor, error) {
	v := n.Result()
	t := &tensor{val: v, op: "NONE", dtype: v.Type.DType, bytes: v.MaxBytes(), pos: -1}
	if err := t.setShape(v.Type); err != nil {
		return nil, err
	}
	switch a := n.Attr.(type) {
	case *ir.WeightAttr, *ir.StateAttr:
		t.kept = true
	case *ir.ForeignAttr:
		t.op, t.offset = a.Op, a.Offset
		if !a.Leaf {
			t.pos = len(d.nodes)
		}
		if from := v.Source(); from != nil {
			t.viewOf = d.byVal[from]
		}
		d.setSources(t, n)
		return t, t.setParams(a.Params)
	default:
		return nil, fmt.Errorf("the rules of ggml know no %v", n.Op)
	}
	return t, nil
}

// setShape sets dimensions and strides.
func (t *tensor) setShape(typ ir.Type) error {
	if typ.Rank() != ggmlDims {
		return fmt.Errorf("has rank %d: ggml's tensors have %d", typ.Rank(), ggmlDims)
	}
	block, bytes := int64(t.dtype.BlockElems()), int64(t.dtype.BlockBytes())
	for i, stride := range typ.StrideDims() {
		n, fixed := typ.Shape[i].IsConst()
		s, also := stride.IsConst()
		if !fixed || !also {
			return fmt.Errorf("type %v: ggml's sizes are constant", typ)
		}
		d := ggmlDims - 1 - i
		if t.ne[d], t.nb[d] = n, s*bytes/block; d == 0 && s == 1 {
			t.nb[d] = bytes
		}
	}
	return nil
}

// setSources sets the sources at their positions, nil where there is none.
func (d *Division) setSources(t *tensor, n *ir.Node) {
	for i, v := range n.Sources() {
		at := n.SourcePos(i)
		for len(t.src) <= at {
			t.src = append(t.src, nil)
		}
		t.src[at] = d.byVal[v]
	}
}

// setParams reads parameters such as to=0,2,1,3. Words and fractions are left out, as no rule asks for them.
func (t *tensor) setParams(params string) error {
	t.params = make(map[string][]float64)
	for p := range strings.FieldsSeq(params) {
		key, list, _ := strings.Cut(p, "=")
		for text := range strings.SplitSeq(list, ",") {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				t.params[key] = append(t.params[key], n)
			}
		}
	}
	return t.checkParams()
}

// neededParams has how many numbers a parameter has, for the ops whose rule asks for one.
var neededParams = map[string]struct {
	key string
	n   int
}{"CONCAT": {"dim", 1}, "PERMUTE": {"to", ggmlDims}, "PAD": {"pad", 2 * ggmlDims}}

func (t *tensor) checkParams() error {
	if need := neededParams[t.op]; len(t.params[need.key]) != need.n {
		return fmt.Errorf("%s needs %d numbers %q", t.op, need.n, need.key)
	}
	return nil
}
