package ir

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

var matMulInfo = OpInfo{
	Name: "matmul",
	Doc: "matmul(x[…,K] f32, bf16, q8a or q8a_k, w[N,K], residual[…,N] f32, optional): y[…,n] = Σk x[…,k]*w[n,k] + residual[…,n]. " +
		"w is row-major as in GGUF, of any float or quantized dtype, plain or packed. Result f32, dense.",
	Args: []Arg{
		{Name: "x", Kinds: Float | ActFmt},
		{Name: "w", Kinds: Float | Quant},
		{Name: "residual", Kinds: Float, Optional: true},
	},
	Traits:  Pure | Reduces,
	InPlace: []int{2},
	Infer:   inferMatMul,
	Cost:    matMulCost,
	Axes:    matMulAxes,
	Ways:    matMulWays,
	Cases:   matMulCases,
	Tol:     summed,
}

func inferMatMul(n *Node) (Type, error) {
	shape, err := productShape(n, 1)
	if err != nil {
		return Type{}, err
	}
	if r := n.Arg(2); r != nil && !(r.Type.DType == dtype.F32 && EqualDims(r.Type.Shape, shape)) {
		return Type{}, argErr(n, 2, "must be f32%s, as the result", dimsText(shape))
	}
	return denseF32(shape), nil
}

// productShape returns the shape of operand 0 times the matrix that is operand i.
func productShape(n *Node, i int) ([]Dim, error) {
	x, w := n.Args[0].Type, n.Args[i].Type
	if !activation(x.DType) {
		return nil, argErr(n, 0, "must be f32, bf16, q8a or q8a_k")
	}
	if x.Rank() < 1 {
		return nil, argErr(n, 0, "must have rank 1 or more")
	}
	if w.Rank() != 2 {
		return nil, argErr(n, i, "must have rank 2")
	}
	if !w.Shape[1].Equal(x.Inner()) {
		return nil, argErr(n, i, "its rows must have %v elements, as those of %s %s", x.Inner(), n.Op.Info().Args[0].Name, x)
	}
	return replaceInner(x.Shape, w.Shape[0]), nil
}

// activation reports whether products read activations of dtype d. Activations in bf16 are for matrices
// in bf16: processors multiply two bf16 at twice the rate of f32.
func activation(d dtype.DType) bool { return d == dtype.F32 || d == dtype.BF16 || d.IsActivation() }

// replaceInner returns the shape with another innermost extent. It returns the shape itself if the
// extent is the same.
func replaceInner(shape []Dim, inner Dim) []Dim {
	if shape[len(shape)-1].Equal(inner) {
		return shape
	}
	return append(append(make([]Dim, 0, len(shape)), shape[:len(shape)-1]...), inner)
}

func matMulCost(n *Node) Cost {
	c := moved(n)
	c.FLOPs = product(n.Args[0].Type.Elems(), n.Args[1].Type.Shape[0], Const(2))
	return c
}

func product(ds ...Dim) Dim {
	p := Const(1)
	for _, d := range ds {
		p = p.Mul(d)
	}
	return p
}

// matMulAxes divides by rows of the weights first: then each worker reads only its part of them, which
// are most of the bytes. It divides by rows of x second.
func matMulAxes(n *Node) []Axis {
	return productAxes(n, 1)
}

// productAxes is matMulAxes for an op whose operands 1 to weights are matrices.
func productAxes(n *Node, weights int) []Axis {
	y := n.Result().Type
	last, args := y.Rank()-1, len(n.Args)
	reads := make([]Read, 2*args) // of both axes
	byCol := Axis{Axis: last, Granule: n.Args[1].Type.Layout.Rows(), Reads: reads[:args:args]}
	byRow := Axis{Axis: 0, Granule: 1, Reads: reads[args:]}
	byRow.Reads[0] = sameRange(0)
	for i := 1; i < len(n.Args); i++ {
		switch {
		case n.Args[i] == nil:
			byCol.Reads[i], byRow.Reads[i] = Read{Kind: ReadNone}, Read{Kind: ReadNone}
		case i <= weights:
			byCol.Reads[i] = sameRange(0)
		default:
			byCol.Reads[i], byRow.Reads[i] = sameRange(last), sameRange(0)
		}
	}
	if last == 0 || y.Shape[0].Is(1) {
		return []Axis{byCol}
	}
	return []Axis{byCol, byRow}
}

func matMulCases(yield func(Case) bool) {
	t := Sym(symTokens)
	withSchemed(yield, func(d dtype.DType, k int64) Case {
		return Case{Args: args(operand(bytesFor(d), t, Const(k)), weight(d, 40, k).layout(dtype.R16), f32d(t, Const(40))), Sizes: sizes(7)}
	}, append(unpacked(func(d dtype.DType, k int64, l dtype.Layout) Case {
		return Case{Args: args(f32(3, k), weight(d, 40, k).layout(l))}
	}),
		Case{Name: "f32", Args: args(f32(3, 64), weight(dtype.F32, 48, 64))},
		Case{Name: "f16", Args: args(f32(2, 64), weight(dtype.F16, 48, 64))},
		Case{Name: "bf16", Args: args(f32(2, 64), weight(dtype.BF16, 48, 64))},
		Case{Name: "symbolic", Args: args(f32d(t, Const(64)), weight(dtype.F32, 40, 64), f32d(t, Const(40))), Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 64).view(), weight(dtype.F32, 16, 64))},
		Case{Name: "vector", Args: args(f32(64), weight(dtype.Q8_0, 16, 64))},
		Case{Name: "quantized", Args: args(operand(dtype.Q8A, t, Const(96)), weight(dtype.Q8_0, 40, 96)), Sizes: sizes(7)},
		Case{Name: "four bits", Args: args(operand(dtype.Q8A, t, Const(96)), weight(dtype.Q4_0, 40, 96), f32d(t, Const(40))), Sizes: sizes(7)},
		Case{Name: "packed f32", Args: args(f32(3, 64), weight(dtype.F32, 40, 64).layout(dtype.R16))},
		Case{Name: "packed f16", Args: args(f32(3, 64), weight(dtype.F16, 40, 64).layout(dtype.R16))},
		Case{Name: "both bf16", Args: args(operand(dtype.BF16, Dims(3, 64)...), weight(dtype.BF16, 40, 64))},
		Case{Name: "packed bf16", Args: args(operand(dtype.BF16, t, Const(67)), weight(dtype.BF16, 40, 67).layout(dtype.R16), f32d(t, Const(40))), Sizes: sizes(7)},
		Case{Name: "packed quantized", Args: args(operand(dtype.Q8A, t, Const(96)), weight(dtype.Q8_0, 40, 96).layout(dtype.R16)), Sizes: sizes(7)},
		Case{Name: "packed four bits", Args: args(operand(dtype.Q8A, t, Const(96)), weight(dtype.Q4_0, 40, 96).layout(dtype.R16), f32d(t, Const(40))), Sizes: sizes(1)},
		Case{Name: "planar", Args: args(f32(3, 96), weight(dtype.Q8_0, 40, 96).layout(dtype.Planar))},
		Case{Name: "planar four bits", Args: args(f32d(t, Const(96)), weight(dtype.Q4_0, 40, 96).layout(dtype.Planar), f32d(t, Const(40))), Sizes: sizes(7)},
		Case{Name: "planar quantized", Args: args(operand(dtype.Q8A, t, Const(96)), weight(dtype.Q4_0, 40, 96).layout(dtype.Planar)), Sizes: sizes(7)},
	)...)
}

// MatMulSwiGLUAttr has the dtype of the result: f32, or bf16 if the matrices are bf16.
type MatMulSwiGLUAttr struct {
	To dtype.DType `attr:"to,default=f32"`
}

var matMulSwiGLUInfo = OpInfo{
	Name: "matmul_swiglu",
	Doc: "matmul_swiglu(x[…,K] f32, bf16, q8a or q8a_k, wgate[N,K], wup[N,K]) {to}: swiglu(matmul(x, wgate), matmul(x, wup)), " +
		"or cast of it with to=bf16; the matrices have the same type. Result to[…,N], dense: f32, which is the default, or bf16 with matrices of bf16.",
	Args: []Arg{
		{Name: "x", Kinds: Float | ActFmt},
		{Name: "wgate", Kinds: Float | Quant},
		{Name: "wup", Kinds: Float | Quant},
	},
	Attr:   MatMulSwiGLUAttr{},
	Traits: Pure | Reduces,
	Infer:  inferMatMulSwiGLU,
	Cost: func(n *Node) Cost {
		c := matMulCost(n)
		c.FLOPs = c.FLOPs.Mul(Const(2)).Add(n.Result().Type.Elems().Mul(Const(flopsFunc)))
		return c
	},
	Axes:  func(n *Node) []Axis { return productAxes(n, 2) },
	Cases: matMulSwiGLUCases,
	Tol:   summed,
}

func inferMatMulSwiGLU(n *Node) (Type, error) {
	shape, err := productShape(n, 1)
	if err != nil {
		return Type{}, err
	}
	if gate, up := n.Args[1].Type, n.Args[2].Type; !gate.SameData(up) {
		return Type{}, argErr(n, 2, "must be %v, as wgate", gate)
	}
	to, w := attrOf[MatMulSwiGLUAttr](n).To, n.Args[1].Type.DType
	if to != dtype.F32 && (to != dtype.BF16 || w != dtype.BF16) {
		return Type{}, fmt.Errorf("the result cannot be %v with weights of %v: only f32, or bf16 with weights of bf16", to, w)
	}
	return denseF32(shape).WithDType(to), nil
}

func matMulSwiGLUCases(yield func(Case) bool) {
	t := Sym(symTokens)
	w := func(d dtype.DType) CaseArg { return weight(d, 40, 96) }
	q8, q4, bf16 := w(dtype.Q8_0).layout(dtype.R16), w(dtype.Q4_0).layout(dtype.R16), w(dtype.BF16).layout(dtype.R16)
	plain, rounded := &MatMulSwiGLUAttr{To: dtype.F32}, &MatMulSwiGLUAttr{To: dtype.BF16}
	withSchemed(yield, func(d dtype.DType, k int64) Case {
		w := weight(d, 40, k).layout(dtype.R16)
		return Case{Args: args(operand(bytesFor(d), t, Const(k)), w, w), Attr: plain, Sizes: sizes(5)}
	},
		Case{Name: "f32", Args: args(f32(3, 96), w(dtype.F32), w(dtype.F32)), Attr: plain},
		Case{Name: "symbolic", Args: args(operand(dtype.Q8A, t, Const(96)), q8, q8), Attr: plain, Sizes: sizes(5)},
		Case{Name: "four bits", Args: args(operand(dtype.Q8A, t, Const(96)), q4, q4), Attr: plain, Sizes: sizes(1)},
		Case{Name: "both bf16", Args: args(operand(dtype.BF16, t, Const(96)), bf16, bf16), Attr: plain, Sizes: sizes(5)},
		Case{Name: "rounded", Args: args(operand(dtype.BF16, t, Const(96)), bf16, bf16), Attr: rounded, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(3, 96).view(), w(dtype.Q8_0), w(dtype.Q8_0)), Attr: plain},
		Case{Name: "planar", Args: args(f32(3, 96), w(dtype.Q8_0).layout(dtype.Planar), w(dtype.Q8_0).layout(dtype.Planar)), Attr: plain},
		Case{Name: "planar four bits", Args: args(f32d(t, Const(96)), w(dtype.Q4_0).layout(dtype.Planar), w(dtype.Q4_0).layout(dtype.Planar)), Attr: plain, Sizes: sizes(5)},
	)
}
