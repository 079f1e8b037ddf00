package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// NormAttr has the number that is added to the mean square, or variance, under the root.
type NormAttr struct {
	Eps float32 `attr:"eps"`
}

var rmsNormInfo = OpInfo{
	Name:    "rms_norm",
	Doc:     "rms_norm(x[…,n] f32, w[n] f32) {eps}: y = x / √(mean(x²) + eps) * w over the innermost dimension; n >= 1. Result f32 of the shape of x, dense.",
	Args:    []Arg{{Name: "x", Kinds: Float}, {Name: "w", Kinds: Float}},
	Attr:    NormAttr{},
	Traits:  Pure | Reduces,
	InPlace: []int{0},
	Infer:   inferNorm,
	Cost:    perElement(4),
	Axes:    rowAxes,
	Cases:   rmsNormCases,
	Tol:     summed,
}

// inferNorm is the shape rule of all norms: operands from 1 on are factors or terms of a row.
func inferNorm(n *Node) (Type, error) {
	x := n.Args[0].Type
	if err := needDType(n, dtype.F32, dtype.F32, dtype.F32); err != nil {
		return Type{}, err
	}
	if x.Rank() < 1 {
		return Type{}, argErr(n, 0, "must have rank 1 or more")
	}
	err := cmp.Or(needRank(n, -1, 1, 1), needElements(n))
	for i := 1; err == nil && i < len(n.Args); i++ {
		err = needDim(n, i, 0, x.Inner(), "the rows of x")
	}
	if err != nil {
		return Type{}, err
	}
	return denseF32(x.Shape), nil
}

func rmsNormCases(yield func(Case) bool) {
	attr := &NormAttr{Eps: 1e-5}
	each(yield,
		Case{Name: "rows", Args: args(f32(3, 64), weight(dtype.F32, 64)), Attr: attr},
		Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(96)), weight(dtype.F32, 96)), Attr: attr, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 3, 32).view(), weight(dtype.F32, 32)), Attr: attr},
	)
}

// NormQuantizeAttr is NormAttr with the dtype of the result: q8a, q8a_k or bf16.
type NormQuantizeAttr struct {
	Eps float32     `attr:"eps"`
	To  dtype.DType `attr:"to,default=q8a"`
}

var rmsNormQuantizeInfo = OpInfo{
	Name: "rms_norm_quantize",
	Doc: "rms_norm_quantize(x[…,n] f32, w[n] f32) {eps, to}: rms_norm(x, w) as activations of products: quantize of it with to=q8a, which is the default, " +
		"or to=q8a_k, cast of it with to=bf16. Result of that dtype and of the shape of x, dense.",
	Args:   []Arg{{Name: "x", Kinds: Float}, {Name: "w", Kinds: Float}},
	Attr:   NormQuantizeAttr{},
	Traits: Pure | Reduces,
	Infer:  inferNormQuantize,
	Cost:   perElement(8),
	Axes:   rowAxes,
	Cases:  rmsNormQuantizeCases,
	Tol:    stepped,
}

func inferNormQuantize(n *Node) (Type, error) {
	t, err := inferNorm(n)
	if err != nil {
		return Type{}, err
	}
	to := attrOf[NormQuantizeAttr](n).To
	if !to.IsActivation() && to != dtype.BF16 {
		return Type{}, argErr(n, 0, "cannot become %v: only q8a, q8a_k or bf16", to)
	}
	return checked(t.WithDType(to))
}

func rmsNormQuantizeCases(yield func(Case) bool) {
	attr := &NormQuantizeAttr{Eps: 1e-5, To: dtype.Q8A}
	super := &NormQuantizeAttr{Eps: 1e-5, To: dtype.Q8A_K}
	bf16 := &NormQuantizeAttr{Eps: 1e-5, To: dtype.BF16}
	each(yield,
		Case{Name: "rows", Args: args(f32(3, 64), weight(dtype.F32, 64)), Attr: attr},
		Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(96)), weight(dtype.F32, 96)), Attr: attr, Sizes: sizes(5)},
		Case{Name: "view", Args: args(f32(4, 3, 32).view(), weight(dtype.F32, 32)), Attr: attr},
		Case{Name: "long blocks", Args: args(f32d(Sym(symTokens), Const(512)), weight(dtype.F32, 512)), Attr: super, Sizes: sizes(5)},
		Case{Name: "view of long blocks", Args: args(f32(4, 3, 256).view(), weight(dtype.F32, 256)), Attr: super},
		Case{Name: "bf16", Args: args(f32(3, 67), weight(dtype.F32, 67)), Attr: bf16},
	)
}

var layerNormInfo = OpInfo{
	Name: "layer_norm",
	Doc: "layer_norm(x[…,n] f32, w[n] f32, b[n] f32, optional) {eps}: y = (x - mean(x)) / √(variance(x) + eps) * w + b over the innermost dimension; " +
		"the variance divides by n; n >= 1. Result f32 of the shape of x, dense.",
	Args:    []Arg{{Name: "x", Kinds: Float}, {Name: "w", Kinds: Float}, {Name: "b", Kinds: Float, Optional: true}},
	Attr:    NormAttr{},
	Traits:  Pure | Reduces,
	InPlace: []int{0},
	Infer:   inferNorm,
	Cost:    perElement(8),
	Axes:    rowAxes,
	Cases: func(yield func(Case) bool) {
		attr := &NormAttr{Eps: 1e-5}
		w := weight(dtype.F32, 64)
		each(yield,
			Case{Name: "rows", Args: args(f32(3, 64), w), Attr: attr},
			Case{Name: "symbolic", Args: args(f32d(Sym(symTokens), Const(64)), w, w), Attr: attr, Sizes: sizes(5)},
			Case{Name: "view", Args: args(f32(4, 3, 64).view(), w, w), Attr: attr},
		)
	},
	Tol: summed,
}
