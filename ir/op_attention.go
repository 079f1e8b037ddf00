package ir

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// AttentionAttr has the factor of the scores, usually 1/sqrt(head size). With BF16, kernels may round
// the factors of products to bf16: queries, keys, weights of positions and values. Cap, Window, Alibi, Head, Heads and
// Around are those of Scoring, but that 0 Heads are those of the queries. Ring is that of StateWriteAttr.
type AttentionAttr struct {
	Scale  float32 `attr:"scale"`
	Cap    float32 `attr:"cap,default=0"`
	Window int64   `attr:"window,default=0"`
	Alibi  float32 `attr:"alibi,default=0"`
	Ring   int64   `attr:"ring,default=0"`
	BF16   bool    `attr:"bf16,default=false"`
	Head   int64   `attr:"head,default=0"`
	Heads  int64   `attr:"heads,default=0"`
	Around int64   `attr:"around,default=0"`
}

// Scoring is how attention makes scores of the products of queries and keys.
type Scoring struct {
	Scale  float32
	Cap    float32 // scores are Cap·tanh(score/Cap); 0: as they are
	Window int64   // a token at pos reads positions above pos-Window; 0: all
	Alibi  float32 // scores get a bias that falls with the distance (AlibiSlope); 0: none

	// Head is the number of the first head of the queries in the bias, of so many Heads: a device may have a part of
	// the heads.
	Head, Heads int64

	// Around makes tokens read later positions, too, at most so many on each side of their own; 0: none. A token's own
	// position is the number of consecutive tokens of its sequence before it, and pos the last position of its sequence.
	Around int64
}

// AlibiSlope returns the factor of p-pos in the bias of head h of so many heads (Press et al. 2022, "Train short, test
// long"). With n the largest power of two that is at most heads, it is 2^(-most·(h+1)/n) for the first n heads, and
// 2^(-most·(2(h-n)+1)/(2n)) for the others.
func AlibiSlope(most float32, h, heads int64) float64 {
	n := int64(1) << (bits.Len64(uint64(heads)) - 1)
	if h < n {
		return math.Exp2(-float64(most) * float64(h+1) / float64(n))
	}
	return math.Exp2(-float64(most) * float64(2*(h-n)+1) / float64(2*n))
}

// ScoringOf returns how an attention, or its segments, make scores.
func ScoringOf(n *Node) Scoring {
	var s Scoring
	switch a := n.Attr.(type) {
	case *AttentionSegmentsAttr:
		s = Scoring{a.Scale, a.Cap, a.Window, a.Alibi, a.Head, a.Heads, 0}
	case *AttentionAttr:
		s = Scoring{a.Scale, a.Cap, a.Window, a.Alibi, a.Head, a.Heads, a.Around}
	}
	if s.Heads == 0 {
		s.Heads, _ = n.Args[0].Type.Shape[1].IsConst()
	}
	return s
}

var attentionInfo = OpInfo{
	Name: "attention",
	Doc: "attention(q[T,H,D] f32 or q8a, k[S,KVH,C,D], v[S,KVH,C,Dv], slot[T] i32, pos[T] i32, lengths[S] i32, sinks[H] f32, optional) {scale, cap, window, alibi, ring, bf16, head, heads, around}: " +
		"token t reads the positions p in 0..pos[t] of sequence slot[t] that are below lengths[slot[t]]; with a window, p is above pos[t]-window. With ring > 0, position p is row p mod C of k and v, as in state_write. Query head h reads key head g = h/(H/KVH); " +
		"y[t,h] = Σp softmaxp(z(p)) * v[slot[t],g,p], z(p) = scale * q[t,h]·k[slot[t],g,p]. k and v are f32, f16, q8_0 or q4_0. " +
		"With a cap, z(p) becomes cap*tanh(z(p)/cap). With alibi, slope(h)*(p-pos[t]) is then added, where slope(h) is 2^(-alibi*(h+1)/n) for h < n, the largest power of two that is at most H, and 2^(-alibi*(2(h-n)+1)/(2n)) for the others. With heads > 0, slopes are those of the heads from head on, of so many instead of H. " +
		"With around > 0, the own position of token t is the number of consecutive tokens before it in the same slot: it reads only positions at most around from its own, before and after it, and alibi adds -slope(h) times that distance. " +
		"With sinks, the softmax of head h is also over a score sinks[h], without a value. " +
		"If q is q8a, the scores are products of integers and k is q8_0 or q4_0. k of another dtype than f32 may be in layout r16, with the positions of each head as the rows of a matrix. " +
		"With bf16, a kernel may round the factors of products to bf16: q, k, softmax and v. Result f32[T,H,Dv], dense.",
	Args: []Arg{
		{Name: "q", Kinds: Float | ActFmt},
		{Name: "k", Kinds: Float | Quant},
		{Name: "v", Kinds: Float | Quant},
		{Name: "slot", Kinds: Int},
		{Name: "pos", Kinds: Int},
		{Name: "lengths", Kinds: Int},
		{Name: "sinks", Kinds: Float, Optional: true},
	},
	Attr:   AttentionAttr{},
	Traits: Pure | Reduces | ReadsState,
	Infer:  inferAttention,
	Cost:   attentionCost,
	Axes:   attentionAxes,
	Ways:   attentionWays,
	Cases:  attentionCases,
	Tol:    Tolerance{NMSE: 1e-9, MaxAbs: 1e-4, Why: "f32 sums over positions of f32 exponentials; with bf16, factors also have a relative error of up to 2^-8"},
}

func inferAttention(n *Node) (Type, error) {
	if err := cmp.Or(checkAttention(n), checkSinks(n, 6, n.Args[0].Type.Shape[1])); err != nil {
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
	if err := cmp.Or(checkScoring(n), checkRing(n, 1, 0)); err != nil {
		return err
	}
	if heads, kvHeads, ok := headCounts(n); !ok || heads%kvHeads != 0 {
		return argErr(n, 0, "its heads must be a constant multiple of the %v heads of k", k[1])
	}
	return nil
}

// checkSinks checks the optional operand i, a number for each head.
func checkSinks(n *Node, i int, heads Dim) error {
	if n.Arg(i) == nil {
		return nil
	}
	if t := n.Args[i].Type; t.DType != dtype.F32 || len(t.Shape) != 1 {
		return argErr(n, i, "must be f32, a number for each head")
	}
	return cmp.Or(needPlainArg(n, i), needDim(n, i, 0, heads, "the heads"))
}

// checkScoring checks the attributes of scores.
func checkScoring(n *Node) error {
	s := ScoringOf(n)
	if s.Around < 0 || s.Around > 0 && (s.Window > 0 || RingOf(n) > 0) {
		return argErr(n, 0, "cannot be read with around=%d, window=%d, ring=%d: around is 0 or above, and the only one of them", s.Around, s.Window, RingOf(n))
	}
	if s.Window < 0 || !(s.Cap >= 0) || !(s.Alibi >= 0) || math.IsInf(float64(s.Cap), 0) || math.IsInf(float64(s.Alibi), 0) {
		return argErr(n, 0, "cannot be read with window=%d, cap=%v, alibi=%v: they are finite, 0 or above", s.Window, s.Cap, s.Alibi)
	}
	if heads, ok := n.Args[0].Type.Shape[1].IsConst(); s.Head < 0 || s.Heads < 0 || ok && s.Head > s.Heads-heads {
		return argErr(n, 0, "cannot be the heads from head=%d on of heads=%d: it has %d", s.Head, s.Heads, heads)
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
	case dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0:
		return nil
	}
	return argErr(n, i, "must be f32, f16, q8_0 or q4_0")
}

// needCacheLayout checks that operand i has a layout that states of attention can have.
func needCacheLayout(n *Node, i int) error {
	if t := n.Args[i].Type; t.Layout == dtype.Planar || t.Layout == dtype.R16 && t.DType == dtype.F32 {
		return argErr(n, i, "must be plain, or f16, q8_0 or q4_0 in layout r16")
	}
	return nil
}

// needQuery checks the dtype of q against that of k.
func needQuery(n *Node) error {
	switch q, k := n.Args[0].Type, n.Args[1].Type; {
	case q.DType == dtype.F32 || q.DType == dtype.Q8A && k.DType.IsQuantized():
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

// attentionAxes divides by heads first, in groups of heads that share a key head.
func attentionAxes(n *Node) []Axis {
	heads, kvHeads, _ := headCounts(n)
	all, rows := Read{Kind: ReadAll}, sameRange(0)
	kv := Read{Kind: ReadRange, Axis: 1, Num: kvHeads, Den: heads}
	operands := func(reads ...Read) []Read { // with the sinks, if there are any
		return append(reads, slices.Repeat([]Read{all}, len(n.Args)-len(reads))...)
	}
	slots := rows
	if ScoringOf(n).Around > 0 { // tokens before the rows are counted
		slots = all
	}
	axes := byRows(n, operands(rows, all, all, slots, rows, all))
	if kvHeads == 1 {
		return axes
	}
	return append([]Axis{{Axis: 1, Granule: heads / kvHeads, Reads: operands(sameRange(1), kv, kv, all, all, all)}}, axes...)
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
		Case{Name: "nibbles", Args: args(f32(2, 4, 64), kv(dtype.Q4_0, 1, 2, 40, 64), kv(dtype.Q4_0, 1, 2, 40, 64),
			slot0(Const(2)), between(dtype.I32, 0, 40, Const(2)), full(40)), Attr: attr},
		Case{Name: "panels of nibbles", Args: args(operand(dtype.Q8A, Dims(2, 4, 64)...), kv(dtype.Q4_0, 2, 2, 40, 64).layout(dtype.R16), kv(dtype.Q4_0, 2, 2, 40, 32),
			positions(Const(2)), between(dtype.I32, 0, 40, Const(2)), between(dtype.I32, 40, 41, Const(2))), Attr: attr},
		Case{Name: "f16 panels", Args: args(f32(3, 4, 20), kv(dtype.F16, 2, 2, 40, 20).layout(dtype.R16), kv(dtype.F16, 2, 2, 40, 12),
			between(dtype.I32, 0, 2, Const(3)), between(dtype.I32, 0, 40, Const(3)), between(dtype.I32, 40, 41, Const(2))), Attr: attr},
		Case{Name: "bf16", Args: args(f32(3, 4, 32), kv(dtype.F16, 2, 2, 40, 32).layout(dtype.R16), kv(dtype.F16, 2, 2, 40, 16),
			between(dtype.I32, 0, 2, Const(3)), between(dtype.I32, 0, 40, Const(3)), between(dtype.I32, 40, 41, Const(2))), Attr: &AttentionAttr{Scale: 0.25, BF16: true}},
		Case{Name: "bf16 of rows", Args: args(f32(3, 4, 16), kv(dtype.F16, 1, 2, 24, 16), kv(dtype.F16, 1, 2, 24, 16), // kernels do not round here
			slot0(Const(3)), positions(Const(3)), full(24)), Attr: &AttentionAttr{Scale: 0.25, BF16: true}},
		Case{Name: "view", Args: args(f32(3, 4, 16).view(), kv(dtype.F32, 1, 2, 24, 16), kv(dtype.F32, 1, 2, 24, 16),
			slot0(Const(3)), positions(Const(3)), full(24)), Attr: attr},
		Case{Name: "cap", Args: args(f32(3, 4, 16), kv(dtype.F16, 1, 2, 24, 16), kv(dtype.F16, 1, 2, 24, 16),
			slot0(Const(3)), positions(Const(3)), full(24)), Attr: &AttentionAttr{Scale: 2, Cap: 1.5}},
		Case{Name: "window", Args: args(f32d(t, Const(4), Const(16)), kv(dtype.F32, 2, 2, 150, 16), kv(dtype.F32, 2, 2, 150, 16),
			between(dtype.I32, 0, 2, t), between(dtype.I32, 0, 150, t), between(dtype.I32, 150, 151, Const(2))), Attr: &AttentionAttr{Scale: 0.25, Window: 7}, Sizes: sizes(9)},
		Case{Name: "ring", Args: args(f32d(t, Const(4), Const(16)), kv(dtype.F16, 2, 2, 128, 16).layout(dtype.R16), kv(dtype.F16, 2, 2, 128, 16),
			between(dtype.I32, 0, 2, t), between(dtype.I32, 100, 400, t), between(dtype.I32, 400, 401, Const(2))), Attr: &AttentionAttr{Scale: 0.25, Window: 7, Ring: 400}, Sizes: sizes(9)},
		Case{Name: "alibi", Args: args(f32(3, 6, 16), kv(dtype.F16, 1, 2, 40, 16), kv(dtype.F16, 1, 2, 40, 16),
			slot0(Const(3)), between(dtype.I32, 0, 40, Const(3)), full(40)), Attr: &AttentionAttr{Scale: 0.25, Alibi: 8}},
		Case{Name: "alibi of some heads", Args: args(f32(3, 4, 16), kv(dtype.F16, 1, 2, 40, 16), kv(dtype.F16, 1, 2, 40, 16),
			slot0(Const(3)), between(dtype.I32, 0, 40, Const(3)), full(40)), Attr: &AttentionAttr{Scale: 0.25, Alibi: 8, Head: 5, Heads: 11}},
		Case{Name: "around", Args: args(f32(139, 4, 16), kv(dtype.F32, 2, 2, 150, 16), kv(dtype.F32, 2, 2, 150, 16),
			slot0(Const(139)), between(dtype.I32, 138, 139, Const(139)), between(dtype.I32, 150, 151, Const(2))), Attr: &AttentionAttr{Scale: 0.25, Around: 6}},
		Case{Name: "around and alibi", Args: args(f32(20, 6, 16), kv(dtype.F32, 1, 2, 20, 16), kv(dtype.F32, 1, 2, 20, 16),
			slot0(Const(20)), between(dtype.I32, 19, 20, Const(20)), full(20)), Attr: &AttentionAttr{Scale: 0.25, Alibi: 8, Around: 12}},
		Case{Name: "sinks", Args: args(f32(3, 4, 16), kv(dtype.F16, 1, 2, 24, 16), kv(dtype.F16, 1, 2, 24, 16),
			slot0(Const(3)), positions(Const(3)), full(24), between(dtype.F32, -2, 3, Const(4))), Attr: attr},
	)
}
