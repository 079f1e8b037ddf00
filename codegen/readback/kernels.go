package readback

import (
	"fmt"
	"math"
	"strings"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// kernel states which kernel of kernels/cpu computes a node of an op, and what its arguments
// mean. A test compares the names of parameters with the kernels' own.
type kernel struct {
	name   func(n *ir.Node) string
	params string // in order; a struct with a colon and its type
	check  func(a *arguments, n *ir.Node)
}

// shapes are the fields of the structs that kernels take, by type.
var shapes = map[string]string{
	"MatMulShape":    "In Out",
	"ExpertsShape":   "Experts Choices Rows In Out",
	"SumShape":       "Choices Len",
	"RopeShape":      "Heads HeadLen Pairs NeoX",
	"StateShape":     "Heads Context HeadLen",
	"AttentionShape": "Heads KVHeads Context KeyLen ValueLen Scale",
	"CombineShape":   "KVHeads Group ValueLen",
	"ScaleShape":     "Scale Bias",
}

// arguments are those of one call of a kernel. Methods compare one with what the node
// demands.
type arguments struct {
	c      *checker
	p      *program
	fr     *frame
	n      *ir.Node
	e      *event
	on     *device
	kernel *kernel
	part   ir.Partition
	lo, hi ir.Dim // of what the worker owns

	byName map[string]value
	wrong  []string
}

func (a *arguments) differ(format string, args ...any) {
	a.wrong = append(a.wrong, fmt.Sprintf(format, args...))
}

// bind gives the arguments the names of the kernel's parameters.
func (a *arguments) bind() bool {
	names := strings.Fields(a.kernel.params)
	if len(names) != len(a.e.args) {
		a.differ("%d arguments, not %d", len(a.e.args), len(names))
		return false
	}
	a.byName = make(map[string]value, len(names))
	for i, id := range names {
		if _, typ, isShape := strings.Cut(id, ":"); isShape {
			a.shape(typ, a.e.args[i])
		} else {
			a.byName[id] = a.e.args[i]
		}
	}
	return len(a.wrong) == 0
}

// shape gives the fields of a shape their names. It is a variable of the package, or written in the call.
func (a *arguments) shape(typ string, v value) {
	if v.kind == name && !v.addr {
		x := &runner{c: a.c, p: a.p}
		v = x.variable(v.text)
	}
	fields := strings.Fields(shapes[typ])
	if v.kind != composite || v.text != "cpu."+typ || v.addr || len(v.fields) != len(fields) {
		a.differ("the shape is %v, not a cpu.%s of %d fields", v, typ, len(fields))
		return
	}
	for _, id := range fields {
		f, has := v.fields[id]
		if !has {
			a.differ("the shape has no field %s", id)
		}
		a.byName[id] = f
	}
}

// take returns an argument, which then is compared.
func (a *arguments) take(param string) value {
	v, ok := a.byName[param]
	if !ok {
		panic("readback: internal error: no parameter " + param)
	}
	delete(a.byName, param)
	return v
}

// ptr demands the address of a value; nil for an operand that is absent.
func (a *arguments) ptr(param string, v *ir.Value) {
	got, want := a.take(param), value{kind: null}
	if v != nil {
		var err error
		if want, err = a.c.pointerTo(a.fr.of(v), a.on); err != nil {
			a.differ("%s of %v: %v", param, v, err)
			return
		}
	}
	if got.kind != want.kind || got.kind == pointer && (got.base != want.base || !got.n.Equal(want.n)) {
		a.differ("%s is %v, and %v is at %v", param, got, v, want)
	}
}

// dim demands a size.
func (a *arguments) dim(param string, want ir.Dim) {
	if got := a.take(param); got.kind != number || !got.n.Equal(want) {
		a.differ("%s is %v, not %s", param, got, readable(want))
	}
}

func (a *arguments) float(param string, want float32) {
	got := a.take(param)
	f, ok := float32Of(got)
	if !ok || math.Float32bits(f) != math.Float32bits(want) {
		a.differ("%s is %v, not %v", param, got, want)
	}
}

func (a *arguments) bool(param string, want bool) {
	if got := a.take(param); got.kind != boolean || got.text != fmt.Sprint(want) {
		a.differ("%s is %v, not %v", param, got, want)
	}
}

// number returns an argument that is a number.
func (a *arguments) number(param string) ir.Dim {
	v := a.take(param)
	if v.kind != number {
		a.differ("%s is %v, no number", param, v)
	}
	return v.n
}

// area demands that the kernel computes what the worker owns, no more and no less. It is
// given its rows and columns by four parameters, its rows alone by two.
func (a *arguments) area(params string, cols, unit ir.Dim) {
	b := matrix{cols: cols, unit: unit, c1: cols, times: a.e.times}
	switch p := strings.Fields(params); len(p) {
	case 4:
		b.c0, b.c1 = a.number(p[2]), a.number(p[3])
		fallthrough
	default:
		b.r0, b.r1 = a.number(p[0]), a.number(p[1])
	}
	a.covers(b)
}

func (a *arguments) covers(b matrix) {
	got, err := b.strips()
	want := owned(a.n.Result().Type.Shape, a.part, a.lo, a.hi)
	if err != nil {
		a.differ("%v", err)
	} else if !got.equal(want) {
		a.differ("it computes %v, not %v", got, want)
	}
}

// indices demands a range of indices of an axis: those that the worker owns where that is
// divided, else all of n.
func (a *arguments) indices(from, to string, n ir.Dim) {
	lo, hi := ir.Const(0), n
	if a.part.Mode == ir.PartSplit {
		lo, hi = a.lo, a.hi
	}
	a.dim(from, lo)
	a.dim(to, hi)
	a.once()
}

// once demands that the call is made once.
func (a *arguments) once() {
	if a.e.times != nil {
		a.differ("it is called %s times", readable(*a.e.times))
	}
}

// formats are what dtypes are called in names of kernels.
var formats = map[dtype.DType]string{
	dtype.F32: "F32", dtype.F16: "F16", dtype.BF16: "BF16", dtype.Q8_0: "Q8_0", dtype.Q4_0: "Q4_0",
}

// of names a kernel by the format of one operand.
func of(base string, arg int) func(*ir.Node) string {
	return func(n *ir.Node) string { return base + formats[n.Args[arg].Type.DType] }
}

// laidOut names a kernel by the layout and the format of one operand.
func laidOut(base string, arg int) func(*ir.Node) string {
	return func(n *ir.Node) string {
		t := n.Args[arg].Type
		if t.Layout == dtype.R16 {
			return base + "R16" + formats[t.DType]
		}
		return base + formats[t.DType]
	}
}

func is(id string) func(*ir.Node) string { return func(*ir.Node) string { return id } }

// attending names a kernel of attention: by its keys, and by whether products of keys in
// panels are rounded to bf16.
func attending(base string, rounds func(*ir.Node) bool) func(*ir.Node) string {
	return func(n *ir.Node) string {
		if rounds(n) && n.Args[1].Type.Layout == dtype.R16 {
			return laidOut(base+"BF16", 1)(n)
		}
		return laidOut(base, 1)(n)
	}
}

// elementwise is a kernel that computes each element of its result from the elements of its
// operands at the same place: how long its rows are does not matter.
func elementwise(id string, operands string) *kernel {
	return &kernel{is(id), "dst " + operands + " n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		for i, p := range strings.Fields(operands) {
			a.ptr(p, n.Args[i])
		}
		a.area("r0 r1 c0 c1", a.number("n"), ir.Const(1))
	}}
}

// broadcast is elementwise arithmetic whose second operand may be one row, which is repeated
// for each row of the result.
func broadcast(id string) *kernel {
	oneRow := func(n *ir.Node) bool { return !ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) }
	name := func(n *ir.Node) string {
		if oneRow(n) {
			return id + "RowF32"
		}
		return id + "F32"
	}
	return &kernel{name, "dst a b n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("a", n.Args[0])
		a.ptr("b", n.Args[1])
		cols := a.number("n")
		if oneRow(n) && !cols.Equal(n.Result().Type.Inner()) {
			a.differ("n is %s, not the row's %s", readable(cols), readable(n.Result().Type.Inner()))
		}
		a.area("r0 r1 c0 c1", cols, ir.Const(1))
	}}
}

// rowwise is a kernel that looks at whole rows of its operand and computes rows of its
// result.
func rowwise(id string) *kernel {
	return &kernel{is(id), "dst x n r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.dim("n", n.Args[0].Type.Inner())
		a.rows(n)
	}}
}

// rows demands rows of the innermost axis.
func (a *arguments) rows(n *ir.Node) {
	a.area("r0 r1", ir.Const(1), n.Result().Type.Inner())
}

// columns demands rows and columns of the innermost axis, whose length a parameter is.
func (a *arguments) columns(param string, n *ir.Node) {
	cols := n.Result().Type.Inner()
	a.dim(param, cols)
	a.area("r0 r1 c0 c1", cols, ir.Const(1))
}

// norm is a normalization of rows by a weight.
func norm(name func(*ir.Node) string, eps func(*ir.Node) float32) *kernel {
	return &kernel{name, "dst x w n eps r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("w", n.Args[1])
		a.dim("n", n.Result().Type.Inner())
		a.float("eps", eps(n))
		a.rows(n)
	}}
}

// kernels is keyed by op; nil for ops that no kernel computes.
var kernels = [ir.NumOps]*kernel{
	ir.OpNeg: elementwise("NegF32", "x"), ir.OpAbs: elementwise("AbsF32", "x"), ir.OpExp: elementwise("ExpF32", "x"),
	ir.OpLog: elementwise("LogF32", "x"), ir.OpSqrt: elementwise("SqrtF32", "x"), ir.OpSquare: elementwise("SquareF32", "x"),
	ir.OpReLU: elementwise("ReLUF32", "x"), ir.OpSiLU: elementwise("SiLUF32", "x"), ir.OpGELU: elementwise("GELUF32", "x"),
	ir.OpTanh: elementwise("TanhF32", "x"), ir.OpSigmoid: elementwise("SigmoidF32", "x"),
	ir.OpSwiGLU:   elementwise("SwiGLUF32", "gate up"),
	ir.OpQuantize: elementwise("QuantizeQ8A", "x"),

	ir.OpAdd: broadcast("Add"), ir.OpSub: broadcast("Sub"), ir.OpMul: broadcast("Mul"),
	ir.OpDiv: broadcast("Div"), ir.OpMax: broadcast("Max"), ir.OpMin: broadcast("Min"),

	ir.OpSoftmax: rowwise("SoftmaxF32"), ir.OpReduceSum: rowwise("ReduceSumF32"),
	ir.OpReduceMean: rowwise("ReduceMeanF32"), ir.OpReduceMax: rowwise("ReduceMaxF32"),

	ir.OpRMSNorm: norm(is("RMSNormF32"), func(n *ir.Node) float32 { return n.Attr.(*ir.NormAttr).Eps }),
	ir.OpRMSNormQuantize: norm(func(n *ir.Node) string {
		return "RMSNorm" + map[bool]string{true: "BF16", false: "Q8A"}[n.Result().Type.DType == dtype.BF16]
	}, func(n *ir.Node) float32 { return n.Attr.(*ir.NormQuantizeAttr).Eps }),

	ir.OpScale: {is("ScaleF32"), "dst x shape:ScaleShape n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		attr := n.Attr.(*ir.ScaleAttr)
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.float("Scale", attr.Scale)
		a.float("Bias", attr.Bias)
		a.area("r0 r1 c0 c1", a.number("n"), ir.Const(1))
	}},
	ir.OpCast: {func(n *ir.Node) string {
		return "Cast" + formats[n.Args[0].Type.DType] + formats[n.Result().Type.DType]
	}, "dst src n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("src", n.Args[0])
		a.area("r0 r1 c0 c1", a.number("n"), ir.Const(1))
	}},
	ir.OpLayerNorm: {is("LayerNormF32"), "dst x w b n eps r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("w", n.Args[1])
		a.ptr("b", n.Arg(2))
		a.dim("n", n.Result().Type.Inner())
		a.float("eps", n.Attr.(*ir.NormAttr).Eps)
		a.rows(n)
	}},

	ir.OpMatMul: {of("MatMul", 1), "dst x w res shape:MatMulShape r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("w", n.Args[1])
		a.ptr("res", n.Arg(2))
		a.dim("In", n.Args[0].Type.Inner())
		a.columns("Out", n)
	}},
	ir.OpMatMulSwiGLU: {func(n *ir.Node) string {
		id := of("MatMulSwiGLU", 1)(n)
		if n.Result().Type.DType == dtype.BF16 {
			id += "ToBF16"
		}
		return id
	}, "dst x wGate wUp shape:MatMulShape r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("wGate", n.Args[1])
		a.ptr("wUp", n.Args[2])
		a.dim("In", n.Args[0].Type.Inner())
		a.columns("Out", n)
	}},
	ir.OpPack: {is("PackF32"), "dst src n k c0 c1", func(a *arguments, n *ir.Node) {
		t := n.Args[0].Type
		a.ptr("dst", n.Result())
		a.ptr("src", n.Args[0])
		a.dim("n", t.Rows())
		a.dim("k", t.Inner())
		a.indices("c0", "c1", t.Rows())
	}},
	ir.OpGather: {laidOut("Gather", 0), "dst idx table n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("idx", n.Args[1])
		a.ptr("table", n.Args[0])
		a.columns("n", n)
	}},

	ir.OpRopeTable: {is("RopeTableF32"), "dst pos freqs half scale r0 r1", func(a *arguments, n *ir.Node) {
		shape := n.Result().Type.Shape
		a.ptr("dst", n.Result())
		a.ptr("pos", n.Args[0])
		a.ptr("freqs", n.Args[1])
		a.dim("half", shape[1])
		a.float("scale", n.Attr.(*ir.RopeTableAttr).Scale)
		a.area("r0 r1", ir.Const(1), product(shape[1:]))
	}},
	ir.OpRope: {is("RopeF32"), "dst x table shape:RopeShape r0 r1 h0 h1", func(a *arguments, n *ir.Node) {
		shape := n.Result().Type.Shape // tokens, heads, elements
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("table", n.Args[1])
		a.dim("Heads", shape[1])
		a.dim("HeadLen", shape[2])
		a.dim("Pairs", n.Args[1].Type.Shape[1])
		a.bool("NeoX", n.Attr.(*ir.RopeAttr).NeoX)
		a.area("r0 r1 h0 h1", shape[1], shape[2])
	}},

	ir.OpAttention: {
		attending("Attention", func(n *ir.Node) bool { return n.Attr.(*ir.AttentionAttr).BF16 }),
		"dst q k v slot pos shape:AttentionShape r0 r1 h0 h1",
		func(a *arguments, n *ir.Node) {
			_, kvHeads := a.attention(n, n.Attr.(*ir.AttentionAttr).Scale)
			// Its columns are heads of keys, each with its queries.
			inner := product(n.Result().Type.Shape[1:])
			a.area("r0 r1 h0 h1", kvHeads, inner.FloorDiv(kvHeads))
		},
	},
	ir.OpAttentionSegments: {
		attending("AttentionSegments", func(n *ir.Node) bool { return n.Attr.(*ir.AttentionSegmentsAttr).BF16 }),
		"dst q k v slot pos shape:AttentionShape tokens segments u0 u1",
		func(a *arguments, n *ir.Node) {
			attr, shape := n.Attr.(*ir.AttentionSegmentsAttr), n.Result().Type.Shape
			a.attention(n, attr.Scale)
			a.dim("tokens", n.Args[0].Type.Shape[0])
			a.dim("segments", attr.Segments)
			a.area("u0 u1", ir.Const(1), product(shape[1:]))
		},
	},
	ir.OpAttentionCombine: {is("AttentionCombineF32"), "dst x shape:CombineShape tokens segments r0 r1 h0 h1", func(a *arguments, n *ir.Node) {
		x, shape := n.Args[0].Type.Shape, n.Result().Type.Shape // units, tokens, group, sums; tokens, heads, elements
		kvHeads := ir.Const(n.Attr.(*ir.AttentionCombineAttr).KVHeads)
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.dim("tokens", shape[0])
		a.dim("KVHeads", kvHeads)
		a.dim("Group", shape[1].FloorDiv(kvHeads))
		a.dim("ValueLen", shape[2])
		a.dim("segments", x[0].FloorDiv(kvHeads))
		a.area("r0 r1 h0 h1", shape[1], shape[2])
	}},
	ir.OpStateWrite: {laidOut("StateWrite", 0), "state x slot pos shape:StateShape r0 r1 h0 h1", func(a *arguments, n *ir.Node) {
		state := n.Args[0].Type.Shape // sequences, heads, positions, elements
		a.ptr("state", n.Args[0])
		a.ptr("x", n.Args[1])
		a.ptr("slot", n.Args[2])
		a.ptr("pos", n.Args[3])
		a.dim("Heads", state[1])
		a.dim("Context", state[2])
		a.dim("HeadLen", state[3])
		a.dim("r0", ir.Const(0))
		a.dim("r1", n.Args[1].Type.Shape[0])
		if a.part.Mode == ir.PartSplit && a.part.Axis != 1 {
			a.differ("its heads are axis 1, and axis %d is divided", a.part.Axis)
		}
		a.indices("h0", "h1", state[1])
	}},

	ir.OpTopK: {is("TopKI32"), "dst x n k r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.dim("n", n.Args[0].Type.Inner())
		a.dim("k", n.Result().Type.Inner())
		a.rows(n)
	}},
	ir.OpTake: {is("TakeF32"), "dst x idx n k r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("idx", n.Args[1])
		a.dim("n", n.Args[0].Type.Inner())
		a.dim("k", n.Result().Type.Inner())
		a.rows(n)
	}},
	ir.OpExpertsMatMul: {of("ExpertsMatMul", 1), "dst x w idx shape:ExpertsShape t0 t1 c0 c1", func(a *arguments, n *ir.Node) {
		x, w, shape := n.Args[0].Type, n.Args[1].Type, n.Result().Type.Shape // shape: tokens, choices, columns
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("w", n.Args[1])
		a.ptr("idx", n.Args[2])
		a.dim("Experts", w.Shape[0])
		a.dim("Choices", shape[1])
		a.dim("Rows", x.Shape[1])
		a.dim("Out", shape[2])
		a.dim("In", x.Inner())
		a.covers(matrix{
			cols: shape[2], unit: ir.Const(1), times: a.e.times,
			r0: a.number("t0").Mul(shape[1]), r1: a.number("t1").Mul(shape[1]), c0: a.number("c0"), c1: a.number("c1"),
		})
	}},
	ir.OpExpertsSum: {is("ExpertsSumF32"), "dst y p shape:SumShape t0 t1 c0 c1", func(a *arguments, n *ir.Node) {
		cols := n.Result().Type.Inner()
		a.ptr("dst", n.Result())
		a.ptr("y", n.Args[0])
		a.ptr("p", n.Args[1])
		a.dim("Choices", n.Args[0].Type.Shape[1])
		a.dim("Len", cols)
		a.area("t0 t1 c0 c1", cols, ir.Const(1))
	}},
	ir.OpCopyExperts: {is("CopyExperts"), "dst src idx bytes count e0 e1", func(a *arguments, n *ir.Node) {
		w := n.Args[0].Type
		a.ptr("dst", n.Result())
		a.ptr("src", n.Args[0])
		a.ptr("idx", n.Args[1])
		a.dim("bytes", w.WithShape(w.Shape[1:]...).Bytes())
		a.dim("count", product(n.Args[1].Type.Shape))
		a.indices("e0", "e1", w.Shape[0])
	}},
	ir.OpCopy: {is("CopyStrided"), "dst src elem shape dstStride srcStride r0 r1", stridedCopy},
}

// attention demands the arguments that all kernels of attention have, and returns the
// numbers of heads.
func (a *arguments) attention(n *ir.Node, scale float32) (heads, kvHeads ir.Dim) {
	q, k, v := n.Args[0].Type.Shape, n.Args[1].Type.Shape, n.Args[2].Type.Shape
	for i, p := range []string{"q", "k", "v", "slot", "pos"} {
		a.ptr(p, n.Args[i])
	}
	a.ptr("dst", n.Result())
	a.dim("Heads", q[1])
	a.dim("KVHeads", k[1])
	a.dim("Context", k[2])
	a.dim("KeyLen", k[3])
	a.dim("ValueLen", v[3])
	a.float("Scale", scale)
	return q[1], k[1]
}
