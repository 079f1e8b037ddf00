package codegen

import (
	"fmt"
	"math"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// cpuEmitter turns a node into one call of a kernel of kernels/cpu.
type cpuEmitter struct {
	kernel func(n *ir.Node) string
	args   func(e *funcEmitter, n *ir.Node) []jen.Code
}

// cpuEmitters is keyed by op. It is nil for ops that need no call (leaves, views, functions)
// and for ops that the cpu descriptor never claims. It is filled in init, as emitters of repeats
// read the table.
var cpuEmitters [ir.NumOps]*cpuEmitter

func init() {
	cpuEmitters = [ir.NumOps]*cpuEmitter{
		ir.OpNeg: unary("NegF32"), ir.OpAbs: unary("AbsF32"), ir.OpExp: unary("ExpF32"),
		ir.OpLog: unary("LogF32"), ir.OpSqrt: unary("SqrtF32"), ir.OpSquare: unary("SquareF32"),
		ir.OpReLU: unary("ReLUF32"), ir.OpSiLU: unary("SiLUF32"), ir.OpGELU: unary("GELUF32"),
		ir.OpTanh: unary("TanhF32"), ir.OpSigmoid: unary("SigmoidF32"),
		ir.OpScale:  {named("ScaleF32"), scaleArgs},
		ir.OpClamp:  {named("ClampF32"), clampArgs},
		ir.OpConcat: {named("ConcatF32"), concatArgs},

		ir.OpAdd: binary("Add"), ir.OpSub: binary("Sub"), ir.OpMul: binary("Mul"),
		ir.OpDiv: binary("Div"), ir.OpMax: binary("Max"), ir.OpMin: binary("Min"),
		ir.OpSwiGLU: {named("SwiGLUF32"), binaryArgs},

		ir.OpMatMul:       {weightKernel("MatMul", 1), matMulArgs},
		ir.OpMatMulSwiGLU: {matMulSwiGLUKernel, matMulSwiGLUArgs},

		ir.OpRMSNorm:         {named("RMSNormF32"), normArgs},
		ir.OpRMSNormQuantize: {normQuantizeKernel, normQuantizeArgs},
		ir.OpLayerNorm:       {named("LayerNormF32"), layerNormArgs},
		ir.OpSoftmax:         {named("SoftmaxF32"), rowArgs},
		ir.OpReduceSum:       {named("ReduceSumF32"), rowArgs},
		ir.OpReduceMean:      {named("ReduceMeanF32"), rowArgs},
		ir.OpReduceMax:       {named("ReduceMaxF32"), rowArgs},

		ir.OpTopK:          {named("TopKI32"), topKArgs},
		ir.OpTake:          {named("TakeF32"), takeArgs},
		ir.OpExpertsMatMul: {weightKernel("ExpertsMatMul", 1), expertsMatMulArgs},
		ir.OpExpertsSum:    {named("ExpertsSumF32"), expertsSumArgs},
		ir.OpCopyExperts:   {named("CopyExperts"), copyExpertsArgs},

		ir.OpGather:    {packedKernel("Gather", 0), gatherArgs},
		ir.OpRopeTable: {named("RopeTableF32"), ropeTableArgs},
		ir.OpRope:      {named("RopeF32"), ropeArgs},
		ir.OpAttention: {attentionKernel("Attention"), attentionArgs},

		ir.OpAttentionSegments: {attentionKernel("AttentionSegments"), attentionSegmentsArgs},
		ir.OpAttentionCombine:  {named("AttentionCombineF32"), attentionCombineArgs},

		ir.OpStateWrite: {packedKernel("StateWrite", 0), stateWriteArgs},

		ir.OpCopy:     {named("CopyStrided"), copyArgs},
		ir.OpCast:     {castKernel, castArgs},
		ir.OpQuantize: {quantizeKernel, quantizeArgs},
		ir.OpPack:     {named("PackF32"), packArgs},
	}
}

// HasCPUEmitter reports whether nodes of op can be emitted for the CPU.
func HasCPUEmitter(op ir.Op) bool { return cpuEmitters[op] != nil || op == ir.OpObserve }

func named(name string) func(*ir.Node) string { return func(*ir.Node) string { return name } }

// suffix returns what a dtype of weights is called in the names of kernels, and its constant in package dtype.
func suffix(d dtype.DType) string { return strings.ToUpper(d.String()) }

// weightKernel names a kernel by the dtype of one operand.
func weightKernel(name string, arg int) func(*ir.Node) string {
	return func(n *ir.Node) string { return name + suffixOf(n.Args[arg]) }
}

// packedKernel names a kernel by the layout and dtype of one operand, where there is one for each.
func packedKernel(name string, arg int) func(*ir.Node) string {
	return func(n *ir.Node) string {
		if v := n.Args[arg]; v.Type.Layout == dtype.R16 {
			return name + "R16" + suffixOf(v)
		}
		return name + suffixOf(n.Args[arg])
	}
}

func suffixOf(v *ir.Value) string { return suffix(v.Type.DType) }

func unary(name string) *cpuEmitter {
	return &cpuEmitter{named(name), func(e *funcEmitter, n *ir.Node) []jen.Code {
		b, rowLen := e.flat(n)
		return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), rowLen, b.r0, b.r1, b.c0, b.c1}
	}}
}

func scaleArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, rowLen := e.flat(n)
	attr := n.Attr.(*ir.ScaleAttr)
	shape := e.shape(n, "Scale", factor("Scale", attr.Scale), factor("Bias", attr.Bias))
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), shape, rowLen, b.r0, b.r1, b.c0, b.c1}
}

func clampArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, rowLen := e.flat(n)
	attr := n.Attr.(*ir.ClampAttr)
	shape := e.shape(n, "Clamp", factor("Lo", attr.Lo), factor("Hi", attr.Hi))
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), shape, rowLen, b.r0, b.r1, b.c0, b.c1}
}

func concatArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, _ := e.matrix(n)
	shape := e.shape(n, "Concat", e.extent("A", n.Args[0].Type.Inner()), e.extent("B", n.Args[1].Type.Inner()))
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), shape, b.r0, b.r1}
}

// binary has two kernels: for operands of one shape, and for a second operand that is one
// row.
func binary(name string) *cpuEmitter {
	kernel := func(n *ir.Node) string {
		if ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
			return name + "F32"
		}
		return name + "RowF32"
	}
	return &cpuEmitter{kernel, binaryArgs}
}

func binaryArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, rowLen := e.flat(n)
	if !ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
		// The row is repeated: rows must be those of the innermost axis.
		shape := n.Result().Type.Shape
		b, rowLen = e.box(n, shape, len(shape)-1), e.dim(shape[len(shape)-1])
	}
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), rowLen, b.r0, b.r1, b.c0, b.c1}
}

// matrix returns the box of a node whose result is a matrix of rows and the innermost
// axis, and the length of a row.
func (e *funcEmitter) matrix(n *ir.Node) (b box, cols jen.Code) {
	shape := n.Result().Type.Shape
	cut := len(shape) - 1
	return e.box(n, shape, cut), e.dim(shape[cut])
}

func matMulArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, _ := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.ptr(n.Arg(2)), e.matMulShape(n), b.r0, b.r1, b.c0, b.c1}
}

// matMulShape is the shape of the weights of a product.
func (e *funcEmitter) matMulShape(n *ir.Node) jen.Code {
	return e.shape(n, "MatMul", e.extent("In", n.Args[1].Type.Inner()), e.extent("Out", n.Result().Type.Inner()))
}

// matMulSwiGLUKernel is named by the weights and what is written.
func matMulSwiGLUKernel(n *ir.Node) string {
	name := "MatMulSwiGLU" + suffixOf(n.Args[1])
	if n.Attr.(*ir.MatMulSwiGLUAttr).To == dtype.BF16 {
		name += "ToBF16"
	}
	return name
}

func matMulSwiGLUArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, _ := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.ptr(n.Args[2]), e.matMulShape(n), b.r0, b.r1, b.c0, b.c1}
}

func normArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	return e.rowNorm(n, n.Attr.(*ir.NormAttr).Eps)
}

func (e *funcEmitter) rowNorm(n *ir.Node, eps float32) []jen.Code {
	b, cols := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), cols, float(eps), b.r0, b.r1}
}

// normQuantizeKernel is named by what the norm writes.
func normQuantizeKernel(n *ir.Node) string {
	return "RMSNorm" + activationOf(n, n.Attr.(*ir.NormQuantizeAttr).To)
}

// quantizeKernel is named by what it writes.
func quantizeKernel(n *ir.Node) string {
	return "Quantize" + activationOf(n, n.Attr.(*ir.QuantizeAttr).To)
}

// bounded returns what the names of kernels end with that quantize for products with q8_0. On AVX2 these are faster with
// such blocks. The whole module decides, as what reads a value differs between plans: there are such products, no others
// whose activations are q8a, as these would gain nothing for the larger errors, and no experts, of which a small error
// may choose others.
func bounded(n *ir.Node) string {
	name := ""
	for _, f := range n.Func.Module.AllFuncs() {
		for _, n := range f.Nodes {
			switch n.Op {
			case ir.OpExpertsMatMul:
				return ""
			case ir.OpMatMul, ir.OpMatMulSwiGLU:
				for _, w := range n.Args[1:] {
					switch {
					case w == nil:
					case w.Type.DType == dtype.Q8_0:
						name = "Bounded"
					case readsQ8A(w.Type.DType):
						return ""
					}
				}
			}
		}
	}
	return name
}

// readsQ8A reports whether products with weights of a format read q8a.
func readsQ8A(d dtype.DType) bool {
	a, ok := tile.Activation(d)
	return ok && a == dtype.Q8A
}

// activationOf returns what the activations that a node makes are called in the names of kernels.
func activationOf(n *ir.Node, d dtype.DType) string {
	switch d {
	case dtype.Q8A:
		return "Q8A" + bounded(n)
	case dtype.Q8A_K:
		return "Q8AK"
	}
	return suffix(d)
}

func normQuantizeArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	return e.rowNorm(n, n.Attr.(*ir.NormQuantizeAttr).Eps)
}

func layerNormArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, cols := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.ptr(n.Arg(2)), cols, float(n.Attr.(*ir.NormAttr).Eps), b.r0, b.r1}
}

// rowArgs returns the arguments of ops that read whole rows of their operand.
func rowArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, _ := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.dim(n.Args[0].Type.Inner()), b.r0, b.r1}
}

func gatherArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, cols := e.matrix(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[1]), e.ptr(n.Args[0]), cols, b.r0, b.r1, b.c0, b.c1}
}

func quantizeArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, cols := e.flat(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), cols, b.r0, b.r1, b.c0, b.c1}
}

func packArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	t := n.Args[0].Type
	lo, hi := jen.Code(jen.Lit(0)), e.dim(t.Rows())
	if n.Part.Mode == ir.PartSplit {
		a, b := e.owned(n.Part.N, n.Part.Granule)
		lo, hi = jen.Id(a), jen.Id(b)
	}
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.dim(t.Rows()), e.dim(t.Inner()), lo, hi}
}

func ropeTableArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	shape := n.Result().Type.Shape
	b := e.box(n, shape, 1)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.dim(shape[1]), float(n.Attr.(*ir.RopeTableAttr).Scale), b.r0, b.r1}
}

// heads returns the box of a value [tokens, heads, size] in tokens and heads.
func (e *funcEmitter) heads(n *ir.Node) box {
	return e.box(n, n.Result().Type.Shape[:2], 1)
}

func ropeArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	shape := n.Result().Type.Shape
	b := e.heads(n)
	neox := n.Attr.(*ir.RopeAttr).NeoX
	rope := e.shape(n, "Rope", e.extent("Heads", shape[1]), e.extent("HeadLen", shape[2]), e.extent("Pairs", n.Args[1].Type.Shape[1]),
		shapeField{name: "NeoX", value: jen.Lit(neox), text: fmt.Sprint(neox)})
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Args[1]), rope, b.r0, b.r1, b.c0, b.c1}
}

func attentionArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b := e.heads(n)
	// The kernel counts kv heads, each with its group of query heads.
	heads, kvHeads := headCounts(n)
	h0, h1 := jen.Code(jen.Lit(0)), jen.Code(jen.Lit(int(kvHeads)))
	if n.Part.Mode == ir.PartSplit && n.Part.Axis == 1 {
		h0, h1 = divided(b.c0, heads/kvHeads), divided(b.c1, heads/kvHeads)
	}
	return append(append(e.attended(n), e.ptr(n.Arg(6)), e.attentionShape(n)), b.r0, b.r1, h0, h1)
}

// attentionKernel names a kernel by the layout and dtype of keys. A node that may round has a kernel that rounds if its
// keys are in panels.
func attentionKernel(name string) func(*ir.Node) string {
	exact, rounded := packedKernel(name, 1), packedKernel(name+"BF16", 1)
	return func(n *ir.Node) string {
		if mayRound(n) && n.Args[1].Type.Layout == dtype.R16 {
			return rounded(n)
		}
		return exact(n)
	}
}

// mayRound reports whether an attention may round what it multiplies.
func mayRound(n *ir.Node) bool {
	if a, ok := n.Attr.(*ir.AttentionSegmentsAttr); ok {
		return a.BF16
	}
	return n.Attr.(*ir.AttentionAttr).BF16
}

// headCounts returns the numbers of query heads and of key heads of an attention.
func headCounts(n *ir.Node) (heads, kvHeads int64) {
	heads, _ = n.Args[0].Type.Shape[1].IsConst()
	kvHeads, _ = n.Args[1].Type.Shape[1].IsConst()
	return heads, kvHeads
}

// attended returns the pointers that all kernels of attention need.
func (e *funcEmitter) attended(n *ir.Node) []jen.Code {
	list := []jen.Code{e.ptr(n.Result())}
	for _, v := range n.Args[:5] { // kernels know no lengths
		list = append(list, e.ptr(v))
	}
	return list
}

func (e *funcEmitter) attentionShape(n *ir.Node) jen.Code {
	q, k, v, s := n.Args[0].Type.Shape, n.Args[1].Type.Shape, n.Args[2].Type.Shape, ir.ScoringOf(n)
	fields := []shapeField{e.extent("Heads", q[1]), e.extent("KVHeads", k[1]), e.extent("Context", k[2]),
		e.extent("KeyLen", k[3]), e.extent("ValueLen", v[3]), factor("Scale", s.Scale)}
	if s.Cap != 0 {
		fields = append(fields, factor("Cap", s.Cap))
	}
	if s.Window != 0 {
		fields = append(fields, e.extent("Window", ir.Const(s.Window)))
	}
	if s.Alibi != 0 {
		fields = append(fields, factor("Alibi", s.Alibi))
		if !q[1].Is(s.Heads) {
			fields = append(fields, e.extent("AlibiHead", ir.Const(s.Head)), e.extent("AlibiHeads", ir.Const(s.Heads)))
		}
	}
	if s.Around != 0 {
		fields = append(fields, e.extent("Around", ir.Const(s.Around)))
	}
	return e.shape(n, "Attention", fields...)
}

// attentionSegmentsArgs passes the kernel a range of units. A unit is one key head in one segment.
func attentionSegmentsArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	a, shape := n.Attr.(*ir.AttentionSegmentsAttr), n.Result().Type.Shape
	u0, u1 := jen.Code(jen.Lit(0)), e.dim(shape[0])
	if n.Part.Mode == ir.PartSplit {
		lo, hi := e.owned(n.Part.N, n.Part.Granule)
		u0, u1 = jen.Id(lo), jen.Id(hi)
	}
	return append(e.attended(n), e.attentionShape(n), e.dim(shape[1]), e.dim(a.Segments), u0, u1)
}

func attentionCombineArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	x, kvHeads := n.Args[0].Type.Shape, ir.Const(n.Attr.(*ir.AttentionCombineAttr).KVHeads)
	b := e.heads(n)
	shape := e.shape(n, "Combine", e.extent("KVHeads", kvHeads), e.extent("Group", x[2]), e.extent("ValueLen", n.Result().Type.Shape[2]))
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), e.ptr(n.Arg(1)), shape, e.dim(x[1]), e.dim(x[0].FloorDiv(kvHeads)), b.r0, b.r1, b.c0, b.c1}
}

func divided(c jen.Code, by int64) jen.Code {
	if by == 1 {
		return c
	}
	return jen.Add(c).Op("/").Lit(int(by))
}

func stateWriteArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	state, x := n.Args[0].Type, n.Args[1].Type
	r0, r1 := jen.Code(jen.Lit(0)), e.dim(x.Shape[0])
	h0, h1 := jen.Code(jen.Lit(0)), e.dim(state.Shape[1])
	if n.Part.Mode == ir.PartSplit {
		lo, hi := e.owned(n.Part.N, n.Part.Granule)
		h0, h1 = jen.Id(lo), jen.Id(hi)
	}
	shape := e.shape(n, "State", e.extent("Heads", state.Shape[1]), e.extent("Context", state.Shape[2]), e.extent("HeadLen", state.Shape[3]))
	return []jen.Code{e.ptr(n.Args[0]), e.ptr(n.Args[1]), e.ptr(n.Args[2]), e.ptr(n.Args[3]), shape, r0, r1, h0, h1}
}

func castKernel(n *ir.Node) string { return "Cast" + suffixOf(n.Args[0]) + suffixOf(n.Result()) }

func castArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	b, rowLen := e.flat(n)
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), rowLen, b.r0, b.r1, b.c0, b.c1}
}

// float returns a float32 constant that keeps the bits. Go has no literal for negative zero.
func float(f float32) jen.Code {
	switch {
	case math.IsInf(float64(f), 0) || f != f || f == 0 && math.Signbit(float64(f)):
		return jen.Qual("math", "Float32frombits").Call(jen.Lit(int(math.Float32bits(f))))
	default:
		return jen.Id(fmt.Sprint(f))
	}
}

// copyArgs passes the kernel a box of rank 4. The divided axis is first, as the kernel cuts the
// first axis; axes of extent 1 follow, and then the others in their order. A copy of f32 [8,3,n] divided on
// axis 1 has the shape [3,1,8,n].
func copyArgs(e *funcEmitter, n *ir.Node) []jen.Code {
	src, dst := n.Args[0].Type, n.Result().Type
	axes := copyAxes(n)
	var shape, dstStride, srcStride []jen.Code
	for _, axis := range axes {
		if axis < 0 {
			shape, dstStride, srcStride = append(shape, jen.Lit(1)), append(dstStride, jen.Lit(0)), append(srcStride, jen.Lit(0))
			continue
		}
		elem := ir.Const(int64(dst.DType.BlockBytes()))
		shape = append(shape, e.dim(dst.Shape[axis]))
		dstStride = append(dstStride, e.dim(dst.StrideDims()[axis].Mul(elem)))
		srcStride = append(srcStride, e.dim(src.StrideDims()[axis].Mul(elem)))
	}
	r0, r1 := jen.Code(jen.Lit(0)), shape[0]
	if n.Part.Mode == ir.PartSplit {
		lo, hi := e.owned(n.Part.N, n.Part.Granule)
		r0, r1 = jen.Id(lo), jen.Id(hi)
	}
	array := func(vals []jen.Code) jen.Code { return jen.Op("&").Index(jen.Lit(4)).Int().Values(vals...) }
	return []jen.Code{e.ptr(n.Result()), e.ptr(n.Args[0]), jen.Lit(dst.DType.BlockBytes()), array(shape), array(dstStride), array(srcStride), r0, r1}
}

// copyAxes returns the order in which the kernel sees the axes; -1 is an axis of extent 1.
func copyAxes(n *ir.Node) []int {
	rank := n.Result().Type.Rank()
	if rank > 4 {
		panic(fmt.Sprintf("codegen: internal error: %v: a copy of rank %d", n, rank))
	}
	first := -1
	if n.Part.Mode == ir.PartSplit {
		first = n.Part.Axis
	} else if rank == 4 {
		first = 0
	}
	axes := []int{first}
	ones := 4 - rank // axes that are added; the first may be one of them
	if first < 0 {
		ones--
	}
	for range ones {
		axes = append(axes, -1)
	}
	for i := range rank {
		if i != first {
			axes = append(axes, i)
		}
	}
	return axes
}
