package lower

import (
	"fmt"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// write writes a node of ours.
func (l *lowering) write(n *ir.Node) error {
	if l.value = n.Result(); l.value == nil {
		return fmt.Errorf("it has %d results, and ggml's nodes have one", len(n.Results))
	}
	if _, part := l.within[n]; part || tableOf(l.value) != nil {
		return nil
	}
	ne, err := sizesOf(l.value.Type.Shape, 1)
	if err != nil {
		return err
	}
	t, err := l.tensorOf(n, ne)
	if err != nil {
		return err
	}
	l.is(t)
	return nil
}

// tensorOf returns the tensor of a node's result, of so many elements.
func (l *lowering) tensorOf(n *ir.Node, ne sizes) (*tensor, error) {
	switch a := n.Attr.(type) {
	case *ir.WeightAttr:
		return l.weight(a.Name, ne), nil
	case *ir.StateAttr:
		return l.cache(a.Name)
	case *ir.ConstantAttr:
		return l.leaf(ne, l.value.Type.DType, ""), nil
	}
	args := make([]*tensor, len(n.Args))
	for i, a := range n.Args {
		if a != nil {
			args[i] = l.tensors[a]
		}
	}
	for i, a := range n.Args {
		if a != nil && args[i] == nil && !l.isPart(n, a) {
			return nil, fmt.Errorf("ggml has no tensor for %v, which it reads", a)
		}
	}
	if w := writers[n.Op]; w != nil {
		return w(l, n, ne, args)
	}
	op := names[n.Op]
	if op == "" {
		op = strings.ToUpper(n.Op.String())
	}
	return l.nodeOf(op, "", l.value.Type.DType, ne, args...), nil
}

// isPart reports whether an operand is part of the node in ggml.
func (l *lowering) isPart(n *ir.Node, v *ir.Value) bool {
	return v.Def != nil && (n.Op == ir.OpRope && tableOf(v) != nil || l.within[v.Def] != nil)
}

// weight makes a weight, in the state that is given for its name.
func (l *lowering) weight(name string, ne sizes) *tensor {
	t := &tensor{dtype: l.value.Type.DType, ne: ne, stride: dense(ne)}
	l.b.Weight(name, t.typ(), nil)
	t.v = l.f.Weight(name)
	l.g.From[t.v] = l.value
	return t
}

// names are ggml's names of ops that are one node with the same operands.
var names = map[ir.Op]string{
	ir.OpNeg: "UNARY", ir.OpAbs: "UNARY", ir.OpExp: "UNARY", ir.OpReLU: "UNARY", ir.OpSiLU: "UNARY", ir.OpGELU: "UNARY", ir.OpTanh: "UNARY",
	ir.OpSigmoid: "UNARY", ir.OpSqrt: "SQRT", ir.OpSquare: "SQR", ir.OpLog: "LOG", ir.OpClamp: "CLAMP", ir.OpSoftmax: "SOFT_MAX",
	ir.OpSub: "SUB", ir.OpMul: "MUL", ir.OpDiv: "DIV", ir.OpReduceSum: "SUM_ROWS", ir.OpReduceMean: "MEAN",
	ir.OpGather: "GET_ROWS", ir.OpCopy: "CONT", ir.OpCast: "CPY",
}

// writers write the other ops. ne are the extents of the result.
var writers map[ir.Op]func(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error)

func init() {
	writers = map[ir.Op]func(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error){
		ir.OpReshape: reshape, ir.OpPermute: permute, ir.OpSlice: slice, ir.OpConcat: concat,
		ir.OpAdd: add, ir.OpScale: scale, ir.OpMatMul: matMul, ir.OpRMSNorm: rmsNorm, ir.OpLayerNorm: layerNorm,
		ir.OpTopK: topK, ir.OpTake: take, ir.OpExpertsMatMul: expertsMatMul, ir.OpExpertsSum: expertsSum,
		ir.OpRope: rope, ir.OpStateWrite: stateWrite, ir.OpAttention: attention,
	}
}

func reshape(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	x := args[0]
	if x.stride == dense(x.ne) {
		return l.view("RESHAPE", "", ne, dense(ne), 0, x), nil
	}
	stride, err := strides(l.value.Type)
	return l.view("VIEW", "", ne, stride, 0, x), err
}

// strides returns the strides of a type in ggml's order. Those of missing dimensions follow the rows.
func strides(t ir.Type) (sizes, error) {
	stride, err := sizesOf(t.StrideDims(), 0)
	outer := int64(1)
	for i := range stride {
		if i < t.Rank() {
			outer = stride[i] * upper(t.Shape[t.Rank()-1-i])
			continue
		}
		stride[i] = outer
	}
	return stride, err
}

func slice(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	a, x := n.Attr.(*ir.SliceAttr), args[0]
	axis := l.value.Type.Rank() - 1 - a.Axis
	return l.view("VIEW", "", ne, x.stride, upper(a.Start)*x.stride[axis], x), nil
}

func permute(l *lowering, n *ir.Node, _ sizes, args []*tensor) (*tensor, error) {
	to := [4]int{0, 1, 2, 3}
	perm := n.Attr.(*ir.PermuteAttr).Perm
	for i, from := range perm {
		to[len(perm)-1-from] = len(perm) - 1 - i
	}
	return l.permute(args[0], to), nil
}

func concat(l *lowering, n *ir.Node, _ sizes, args []*tensor) (*tensor, error) {
	dim := l.value.Type.Rank() - 1 - n.Attr.(*ir.ConcatAttr).Axis
	t := args[0]
	for _, x := range args[1:] {
		ne := t.ne
		ne[dim] += x.ne[dim]
		t = l.nodeOf("CONCAT", fmt.Sprintf("dim=%d", dim), x.dtype, ne, t, x)
	}
	return t, nil
}

func scale(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	a := n.Attr.(*ir.ScaleAttr)
	return l.node("SCALE", fmt.Sprintf("scale=%g bias=%g", a.Scale, a.Bias), ne, args[0]), nil
}

// add may add biases of experts.
func add(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	for i, a := range n.Args {
		if b := l.within[a.Def]; b != nil && args[i] == nil {
			return l.node("ADD_ID", "", ne, args[1-i], l.tensors[b.table], l.tensors[b.ids]), nil
		}
	}
	return l.node("ADD", "", ne, args...), nil
}

func matMul(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	y := l.node("MUL_MAT", "", ne, args[1], args[0])
	if len(args) > 2 && args[2] != nil {
		y = l.node("ADD", "", ne, y, args[2])
	}
	return y, nil
}

func rmsNorm(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	return l.node("MUL", "", ne, l.node("RMS_NORM", "", ne, args[0]), args[1]), nil
}

func layerNorm(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	y := l.node("MUL", "", ne, l.node("NORM", "", ne, args[0]), args[1])
	if len(args) > 2 && args[2] != nil {
		y = l.node("ADD", "", ne, y, args[2])
	}
	return y, nil
}

// topK sorts, and takes the first ones of each row.
func topK(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	x := args[0]
	all := l.nodeOf("ARGSORT", "", dtype.I32, x.ne, x)
	return l.view("VIEW", "", ne, all.stride, 0, all), nil
}

// take takes rows of one element.
func take(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	x, ids := args[0], args[1]
	if x.ne[2] != 1 || x.ne[3] != 1 {
		return nil, fmt.Errorf("ggml takes elements of two dimensions, and %v has more", n.Args[0])
	}
	rows := l.node("GET_ROWS", "", sizes{1, ids.ne[0], ids.ne[1], 1}, l.reshape(x, 1, x.ne[0], x.ne[1]), ids)
	return l.reshape(rows, ne[:]...), nil
}

func expertsMatMul(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	return l.node("MUL_MAT_ID", "", ne, args[1], args[0], args[2]), nil
}

// expertsSum multiplies the experts' rows by their weights and adds views of them.
func expertsSum(l *lowering, n *ir.Node, ne sizes, args []*tensor) (*tensor, error) {
	y, p := args[0], args[1]
	used, tokens := y.ne[1], y.ne[2]
	y = l.node("MUL", "", y.ne, y, l.reshape(p, 1, used, tokens))
	stride := sizes{1, y.stride[2], y.stride[3], y.stride[3]}
	var rows []*tensor
	for k := range used {
		rows = append(rows, l.view("VIEW", "", ne, stride, k*y.stride[1], y))
	}
	sum := rows[0]
	for _, r := range rows[1:] {
		sum = l.node("ADD", "", ne, sum, r)
	}
	return sum, nil
}
