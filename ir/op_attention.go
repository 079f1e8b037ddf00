package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// AttentionAttr has the factor of the scores, usually 1/sqrt(head size). With BF16, kernels may round
// the factors of products to bf16: queries, keys, weights of positions and values.
type AttentionAttr struct {
	Scale float32 `attr:"scale"`
	BF16  bool    `attr:"bf16,default=false"`
}

var attentionInfo = OpInfo{
	Name: "attention",
	Doc: "attention(q[T,H,D] f32 or q8a, k[S,KVH,C,D], v[S,KVH,C,Dv], slot[T] i32, pos[T] i32, lengths[S] i32) {scale, bf16}: " +
		"token t reads the positions p in 0..pos[t] of sequence slot[t] that are below lengths[slot[t]]; query head h reads key head g = h/(H/KVH); " +
		"y[t,h] = Σp softmaxp(scale * q[t,h]·k[slot[t],g,p]) * v[slot[t],g,p]. k and v are f32, f16 or q8_0. " +
		"If q is q8a, the scores are products of integers and k is q8_0. k of q8_0 or f16 may be in layout r16, with the positions of each head as the rows of a matrix. " +
		"With bf16, a kernel may round the factors of products to bf16: q, k, softmax and v. Result f32[T,H,Dv], dense.",
	Args: []Arg{
		{Name: "q", Kinds: Float | ActFmt},
		{Name: "k", Kinds: Float | Quant},
		{Name: "v", Kinds: Float | Quant},
		{Name: "slot", Kinds: Int},
		{Name: "pos", Kinds: Int},
		{Name: "lengths", Kinds: Int},
	},
	Attr:   AttentionAttr{},
	Traits: Pure | Reduces | ReadsState,
	Infer:  inferAttention,
	Cost:   attentionCost,
	Axes:   attentionAxes,
	Cases:  attentionCases,
	Tol:    Tolerance{NMSE: 1e-9, MaxAbs: 1e-4, Why: "f32 sums over positions of f32 exponentials; with bf16, factors also have a relative error of up to 2^-8"},
}

func inferAttention(n *Node) (Type, error) {
	if err := checkAttention(n); err != nil {
		return Type{}, err
	}
	q, v := n.Args[0].Type.Shape, n.Args[2].Type.Shape
	return denseF32([]Dim{q[0], q[1], v[3]}), nil
}

// checkAttention checks the operands of an attention.
func checkAttention(n *Node) error {
	err := cmp.Or(
		needDType(n, dtype.Invalid, dtype.Invalid, dtype.Invalid, dtype.I32, dtype.I32, dtype.I32),
		needRank(n, 3, 4, 4, 1, 1, 1), needCache(n, 1), needCache(n, 2), needQuery(n), needCacheLayout(n, 1), needPlain(n, 2))
	if err != nil {
		return err
	}
	q, k := n.Args[0].Type.Shape, n.Args[1].Type.Shape
	err = cmp.Or(
		needDim(n, 1, 3, q[2], "the heads of q"),
		needDim(n, 2, 0, k[0], "the sequences of k"), needDim(n, 2, 1, k[1], "the heads of k"), needDim(n, 2, 2, k[2], "the positions of k"),
		needDim(n, 3, 0, q[0], "the tokens of q"), needDim(n, 4, 0, q[0], "the tokens of q"),
		needDim(n, 5, 0, k[0], "the sequences of k"))
	if err != nil {
		return err
	}
	if heads, kvHeads, ok := headCounts(n); !ok || heads%kvHeads != 0 {
		return argErr(n, 0, "its heads must be a constant multiple of the %v heads of k", k[1])
	}
	return nil
}

// headCounts returns the numbers of query heads and of key heads; ok is false if they are not constant.
func headCounts(n *Node) (heads, kvHeads int64, ok bool) {
	heads, ok1 := n.Args[0].Type.Shape[1].IsConst()
	kvHeads, ok2 := n.Args[1].Type.Shape[1].IsConst()
	return heads, kvHeads, ok1 && ok2 && heads > 0 && kvHeads > 0
}

// needCache checks that operand i has a dtype that states of attention can have.
func needCache(n *Node, i int) error {
	switch n.Args[i].Type.DType {
	case dtype.F32, dtype.F16, dtype.Q8_0:
		return nil
	}
	return argErr(n, i, "must be f32, f16 or q8_0")
}

// needCacheLayout checks that operand i has a layout that states of attention can have.
func needCacheLayout(n *Node, i int) error {
	if t := n.Args[i].Type; t.Layout == dtype.Planar || t.Layout == dtype.R16 && t.DType != dtype.Q8_0 && t.DType != dtype.F16 {
		return argErr(n, i, "must be plain, or f16 or q8_0 in layout r16")
	}
	return nil
}

// needQuery checks the dtype of q against that of k.
func needQuery(n *Node) error {
	switch q, k := n.Args[0].Type, n.Args[1].Type; {
	case q.DType == dtype.F32 || q.DType == dtype.Q8A && k.DType == dtype.Q8_0:
		return needPlainArg(n, 0)
	case q.DType == dtype.Q8A:
		return argErr(n, 0, "must be f32, as k is %v", k.DType)
	}
	return argErr(n, 0, "must be f32 or q8a")
}

// attentionCost is the cost of full contexts, as no symbol has the actual lengths.
func attentionCost(n *Node) Cost {
	c := moved(n)
	c.FLOPs = attentionFLOPs(n, n.Args[1].Type.Shape[2])
	return c
}

// attentionFLOPs is the arithmetic of reading that many positions.
func attentionFLOPs(n *Node, positions Dim) Dim {
	q, v := n.Args[0].Type.Shape, n.Args[2].Type.Shape
	return product(q[0], q[1], positions).Mul(q[2].Add(v[3]).Mul(Const(2)).Add(Const(flopsFunc)))
}

// attentionAxes divides by heads first, in groups of those that share a key head.
func attentionAxes(n *Node) []Axis {
	heads, kvHeads, _ := headCounts(n)
	all, rows := Read{Kind: ReadAll}, sameRange(0)
	kv := Read{Kind: ReadRange, Axis: 1, Num: kvHeads, Den: heads}
	axes := byRows(n, []Read{rows, all, all, rows, rows, all})
	if kvHeads == 1 {
		return axes
	}
	return append([]Axis{{Axis: 1, Granule: heads / kvHeads, Reads: []Read{sameRange(1), kv, kv, all, all, all}}}, axes...)
}

func attentionCases(yield func(Case) bool) {
	t := Sym(symTokens)
	kv := func(d dtype.DType, shape ...int64) CaseArg { return operand(d, Dims(shape...)...) }
	attr := &AttentionAttr{Scale: 0.25}
	slot0 := func(n Dim) CaseArg { return zeros(dtype.I32, n) }
	full := func(n int64) CaseArg { return between(dtype.I32, float64(n), float64(n+1), Const(1)) }
	each(yield,
		Case{Name: "equal heads", Args: args(f32(3, 4, 16), kv(dtype.F32, 1, 4, 24, 16), kv(dtype.F32, 1, 4, 24, 16),
			slot0(Const(3)), positions(Const(3)), full(24)), Attr: attr},
		Case{Name: "symbolic", Args: args(f32d(t, Const(4), Const(16)), kv(dtype.F16, 1, 2, 24, 16), kv(dtype.F16, 1, 2, 24, 16),
			slot0(t), positions(t), full(24)), Attr: attr, Sizes: sizes(5)},
		Case{Name: "two sequences", Args: args(f32(4, 4, 32), kv(dtype.F16, 2, 1, 40, 32), kv(dtype.F16, 2, 1, 40, 16),
			between(dtype.I32, 0, 2, Const(4)), between(dtype.I32, 0, 40, Const(4)), between(dtype.I32, 40, 41, Const(2))), Attr: attr},
		Case{Name: "quantized", Args: args(f32(2, 4, 64), kv(dtype.Q8_0, 1, 2, 40, 64), kv(dtype.Q8_0, 1, 2, 40, 64),
			slot0(Const(2)), between(dtype.I32, 0, 40, Const(2)), full(40)), Attr: attr},
		Case{Name: "panels", Args: args(operand(dtype.Q8A, Dims(2, 4, 64)...), kv(dtype.Q8_0, 2, 2, 40, 64).layout(dtype.R16), kv(dtype.Q8_0, 2, 2, 40, 32),
			positions(Const(2)), between(dtype.I32, 0, 40, Const(2)), between(dtype.I32, 40, 41, Const(2))), Attr: attr},
		Case{Name: "f16 panels", Args: args(f32(3, 4, 20), kv(dtype.F16, 2, 2, 40, 20).layout(dtype.R16), kv(dtype.F16, 2, 2, 40, 12),
			between(dtype.I32, 0, 2, Const(3)), between(dtype.I32, 0, 40, Const(3)), between(dtype.I32, 40, 41, Const(2))), Attr: attr},
		Case{Name: "bf16", Args: args(f32(3, 4, 32), kv(dtype.F16, 2, 2, 40, 32).layout(dtype.R16), kv(dtype.F16, 2, 2, 40, 16),
			between(dtype.I32, 0, 2, Const(3)), between(dtype.I32, 0, 40, Const(3)), between(dtype.I32, 40, 41, Const(2))), Attr: &AttentionAttr{Scale: 0.25, BF16: true}},
		Case{Name: "bf16 of rows", Args: args(f32(3, 4, 16), kv(dtype.F16, 1, 2, 24, 16), kv(dtype.F16, 1, 2, 24, 16), // kernels do not round here
			slot0(Const(3)), positions(Const(3)), full(24)), Attr: &AttentionAttr{Scale: 0.25, BF16: true}},
		Case{Name: "view", Args: args(f32(3, 4, 16).view(), kv(dtype.F32, 1, 2, 24, 16), kv(dtype.F32, 1, 2, 24, 16),
			slot0(Const(3)), positions(Const(3)), full(24)), Attr: attr},
	)
}
