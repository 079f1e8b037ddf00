package readback

import (
	"slices"
	"strconv"
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
	"AttentionShape": "Heads KVHeads Context KeyLen ValueLen Scale Cap Window Alibi AlibiHead AlibiHeads Around",
	"CombineShape":   "KVHeads Group ValueLen",
	"ScaleShape":     "Scale Bias",
	"ClampShape":     "Lo Hi",
	"ConcatShape":    "A B",
}

// formats are the names of dtypes in the names of kernels.
var formats = map[dtype.DType]string{
	dtype.F32: "F32", dtype.F16: "F16", dtype.BF16: "BF16", dtype.Q8_0: "Q8_0", dtype.Q4_0: "Q4_0",
	dtype.Q4_1: "Q4_1", dtype.Q5_0: "Q5_0", dtype.Q5_1: "Q5_1", dtype.Q2_K: "Q2_K", dtype.Q3_K: "Q3_K", dtype.Q4_K: "Q4_K",
	dtype.Q5_K: "Q5_K", dtype.Q6_K: "Q6_K", dtype.IQ4_NL: "IQ4_NL", dtype.IQ4_XS: "IQ4_XS", dtype.MXFP4: "MXFP4",
	dtype.IQ2X: "IQ2X", dtype.IQ2X16: "IQ2X16", dtype.IQ3X: "IQ3X", dtype.IQ3SX: "IQ3SX",
}

// activations are the names of dtypes of activations in the names of the kernels that write them.
var activations = map[dtype.DType]string{dtype.BF16: "BF16", dtype.Q8A: "Q8A", dtype.Q8A_K: "Q8AK"}

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
func attending(base string, mayRound func(*ir.Node) bool) func(*ir.Node) string {
	return func(n *ir.Node) string {
		if mayRound(n) && n.Args[1].Type.Layout == dtype.R16 {
			return laidOut(base+"BF16", 1)(n)
		}
		return laidOut(base, 1)(n)
	}
}

// quantizing names a kernel by the format that it writes, and for q8a by the products of the module.
func quantizing(base string) func(*ir.Node) string {
	return func(n *ir.Node) string {
		name := base + activations[n.Result().Type.DType]
		if n.Result().Type.DType == dtype.Q8A && multipliesBytes(n.Func.Module) {
			name += "Bounded"
		}
		return name
	}
}

// otherBlocks are the formats beside q8_0 whose blocks have 32 elements, as those of q8a.
var otherBlocks = []dtype.DType{dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.IQ4_NL, dtype.MXFP4}

// multipliesBytes reports whether a module without experts has products with q8_0, and none with other such blocks.
func multipliesBytes(m *ir.Module) bool {
	var weights []dtype.DType
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			switch n.Op {
			case ir.OpExpertsMatMul:
				return false
			case ir.OpMatMul:
				weights = append(weights, n.Args[1].Type.DType)
			case ir.OpMatMulSwiGLU:
				weights = append(weights, n.Args[1].Type.DType, n.Args[2].Type.DType)
			}
		}
	}
	other := func(d dtype.DType) bool { return slices.Contains(otherBlocks, d) }
	return slices.Contains(weights, dtype.Q8_0) && !slices.ContainsFunc(weights, other)
}

// elementwise is a kernel that computes each element of its result from the elements of its
// operands at the same place. The length of its rows does not matter.
func elementwise(id string, operands string) *kernel {
	return elementwiseOf(is(id), operands)
}

// elementwiseOf is elementwise with a name for each node.
func elementwiseOf(name func(*ir.Node) string, operands string) *kernel {
	return &kernel{name, "dst " + operands + " n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
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

// rowwise is a kernel that reads whole rows of its operand and computes rows of its
// result.
func rowwise(id string) *kernel {
	return &kernel{is(id), "dst x n r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.dim("n", n.Args[0].Type.Inner())
		a.rows(n)
	}}
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
	ir.OpQuantize: elementwiseOf(quantizing("Quantize"), "x"),

	ir.OpAdd: broadcast("Add"), ir.OpSub: broadcast("Sub"), ir.OpMul: broadcast("Mul"),
	ir.OpDiv: broadcast("Div"), ir.OpMax: broadcast("Max"), ir.OpMin: broadcast("Min"),

	ir.OpSoftmax: rowwise("SoftmaxF32"), ir.OpReduceSum: rowwise("ReduceSumF32"),
	ir.OpReduceMean: rowwise("ReduceMeanF32"), ir.OpReduceMax: rowwise("ReduceMaxF32"),

	ir.OpRMSNorm:         norm(is("RMSNormF32"), func(n *ir.Node) float32 { return n.Attr.(*ir.NormAttr).Eps }),
	ir.OpRMSNormQuantize: norm(quantizing("RMSNorm"), func(n *ir.Node) float32 { return n.Attr.(*ir.NormQuantizeAttr).Eps }),

	ir.OpConcat: {is("ConcatF32"), "dst a b shape:ConcatShape r0 r1", func(a *arguments, n *ir.Node) {
		a.ptr("dst", n.Result())
		a.ptr("a", n.Args[0])
		a.ptr("b", n.Args[1])
		a.dim("A", n.Args[0].Type.Inner())
		a.dim("B", n.Args[1].Type.Inner())
		a.rows(n)
	}},
	ir.OpClamp: {is("ClampF32"), "dst x shape:ClampShape n r0 r1 c0 c1", func(a *arguments, n *ir.Node) {
		attr := n.Attr.(*ir.ClampAttr)
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.float("Lo", attr.Lo)
		a.float("Hi", attr.Hi)
		a.area("r0 r1 c0 c1", a.number("n"), ir.Const(1))
	}},
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
		a.boolean("NeoX", strconv.FormatBool(n.Attr.(*ir.RopeAttr).NeoX))
		a.area("r0 r1 h0 h1", shape[1], shape[2])
	}},

	ir.OpAttention: {
		attending("Attention", func(n *ir.Node) bool { return n.Attr.(*ir.AttentionAttr).BF16 }),
		"dst q k v slot pos sinks shape:AttentionShape r0 r1 h0 h1",
		func(a *arguments, n *ir.Node) {
			_, kvHeads := a.attention(n)
			a.ptr("sinks", n.Arg(6))
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
			a.attention(n)
			a.dim("tokens", n.Args[0].Type.Shape[0])
			a.dim("segments", attr.Segments)
			a.area("u0 u1", ir.Const(1), product(shape[1:]))
		},
	},
	ir.OpAttentionCombine: {is("AttentionCombineF32"), "dst x sinks shape:CombineShape tokens segments r0 r1 h0 h1", func(a *arguments, n *ir.Node) {
		x, shape := n.Args[0].Type.Shape, n.Result().Type.Shape // units, tokens, group, sums; tokens, heads, elements
		kvHeads := ir.Const(n.Attr.(*ir.AttentionCombineAttr).KVHeads)
		a.ptr("dst", n.Result())
		a.ptr("x", n.Args[0])
		a.ptr("sinks", n.Arg(1))
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
