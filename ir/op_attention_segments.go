package ir

import (
	"cmp"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Attention in two steps, so that several workers can share a long context when there are few queries:
//
//	%parts = attention_segments %q, %k, %v, %slot, %pos, %lengths {…}
//	%y     = attention_combine %parts {kv_heads=…}
//
// is attention. The context is cut into segments of consecutive positions. For each head and segment
// the first step computes a partial softmax: the values weighted by 2^(z-m), the largest score m, and
// the sum of the weights. The second step scales the parts of the segments to a common m and adds them.
// Flash decoding calls a segment a split (https://pytorch.org/blog/flash-decoding/).

// AttentionSegmentsAttr has Scale, Cap, Window, Alibi, Ring, BF16, Head and Heads as in AttentionAttr. Segment s is the
// positions [s*Len, (s+1)*Len), for s in 0..Segments-1.
type AttentionSegmentsAttr struct {
	Scale    float32 `attr:"scale"`
	Cap      float32 `attr:"cap,default=0"`
	Window   int64   `attr:"window,default=0"`
	Alibi    float32 `attr:"alibi,default=0"`
	Len      int64   `attr:"len"`
	Segments Dim     `attr:"segments"`
	Ring     int64   `attr:"ring,default=0"`
	BF16     bool    `attr:"bf16,default=false"`
	Head     int64   `attr:"head,default=0"`
	Heads    int64   `attr:"heads,default=0"`
}

// segmentTail is the number of elements after the weighted values in a row of sums: the largest score
// and the sum of weights.
const segmentTail = 2

var attentionSegmentsInfo = OpInfo{
	Name: "attention_segments",
	Doc: "attention_segments(q[T,H,D] f32 or q8a, k[S,KVH,C,D], v[S,KVH,C,Dv], slot[T] i32, pos[T] i32, lengths[S] i32) {scale, cap, window, alibi, len, segments, ring, bf16, head, heads}: " +
		"the sums of attention over the positions of each segment, for each key head g: row y[g*segments+s,t,i] is of query head h = g*(H/KVH)+i, with score z(p) = log2(e) times that of attention, which scale, cap, window, alibi, head and heads give. " +
		"Over the positions p in [s*len, (s+1)*len) that token t reads, it has Σp 2^(z(p)-m) * v[slot[t],g,p], then m, then Σp 2^(z(p)-m), where m is near the largest z(p); " +
		"without such positions it has zeros and m = -Inf. len > 0. ring and bf16 are those of attention. Result f32[KVH*segments,T,H/KVH,Dv+2], dense.",
	Args:   attentionInfo.Args[:6],
	Attr:   AttentionSegmentsAttr{},
	Traits: Pure | Reduces | ReadsState,
	Infer:  inferAttentionSegments,
	Cost:   attentionSegmentsCost,

	Undivided: "attention is cut into segments after values are divided",

	Axes: func(n *Node) []Axis {
		all, parts := Read{Kind: ReadAll}, Read{Kind: ReadParts}
		return []Axis{{Axis: 0, Granule: 1, Reads: []Read{all, parts, parts, all, all, all}}}
	},
	Cases: attentionSegmentsCases,
	Tol:   attentionInfo.Tol,
}

func inferAttentionSegments(n *Node) (Type, error) {
	if err := checkAttention(n); err != nil {
		return Type{}, err
	}
	a := attrOf[AttentionSegmentsAttr](n)
	if lo, _ := a.Segments.Bounds(); a.Len < 1 || lo < 0 {
		return Type{}, argErr(n, 1, "cannot be cut into %v segments of %d positions", a.Segments, a.Len)
	}
	heads, kvHeads, _ := headCounts(n)
	q, v := n.Args[0].Type.Shape, n.Args[2].Type.Shape
	return denseF32([]Dim{Const(kvHeads).Mul(a.Segments), q[0], Const(heads / kvHeads), v[3].Add(Const(segmentTail))}), nil
}

// attentionSegmentsCost is the cost of all segments.
func attentionSegmentsCost(n *Node) Cost {
	a := attrOf[AttentionSegmentsAttr](n)
	q, k, v := n.Args[0].Type, n.Args[1].Type, n.Args[2].Type
	positions := k.Shape[2].Min(a.Segments.Mul(Const(a.Len))) // of a ring, its rows
	c := Cost{Read: q.Bytes(), Written: n.Result().Type.Bytes()}
	for _, t := range []Type{k, v} {
		c.Read = c.Read.Add(t.Bytes().Mul(positions).FloorDiv(t.Shape[2]))
	}
	c.FLOPs = attentionFLOPs(n, positions)
	return c
}

// attentionSegmentsCases use the segment length of the CPU kernels, which find the largest score in 128
// positions before they sum.
func attentionSegmentsCases(yield func(Case) bool) {
	t := Sym(symTokens)
	attr := func(segments Dim) *AttentionSegmentsAttr {
		return &AttentionSegmentsAttr{Scale: 0.25, Len: 512, Segments: segments}
	}
	kv := func(d dtype.DType, shape ...int64) CaseArg { return operand(d, Dims(shape...)...) }
	full := between(dtype.I32, 24, 25, Const(1))
	each(yield,
		Case{Name: "equal heads", Args: args(f32(2, 4, 16), kv(dtype.F32, 1, 4, 24, 16), kv(dtype.F32, 1, 4, 24, 16),
			zeros(dtype.I32, Const(2)), between(dtype.I32, 0, 24, Const(2)), full), Attr: attr(Const(1))},
		Case{Name: "symbolic", Args: args(f32d(t, Const(4), Const(16)), kv(dtype.F16, 1, 2, 24, 16), kv(dtype.F16, 1, 2, 24, 16),
			zeros(dtype.I32, t), positions(t), full), Attr: attr(Const(1)), Sizes: sizes(11)},
		Case{Name: "quantized", Args: args(f32(1, 4, 64), kv(dtype.Q8_0, 1, 2, 24, 64), kv(dtype.Q8_0, 1, 2, 24, 32),
			zeros(dtype.I32, Const(1)), between(dtype.I32, 16, 24, Const(1)), full), Attr: attr(Const(1))},
		Case{Name: "panels", Args: args(operand(dtype.Q8A, Dims(1, 4, 64)...), kv(dtype.Q8_0, 1, 2, 24, 64).layout(dtype.R16), kv(dtype.Q8_0, 1, 2, 24, 32),
			zeros(dtype.I32, Const(1)), between(dtype.I32, 16, 24, Const(1)), full), Attr: attr(Const(1))},
		Case{Name: "nibbles", Args: args(f32(1, 4, 64), kv(dtype.Q4_0, 1, 2, 24, 64), kv(dtype.Q4_0, 1, 2, 24, 32),
			zeros(dtype.I32, Const(1)), between(dtype.I32, 16, 24, Const(1)), full), Attr: attr(Const(1))},
		Case{Name: "panels of nibbles", Args: args(operand(dtype.Q8A, Dims(1, 4, 64)...), kv(dtype.Q4_0, 1, 2, 24, 64).layout(dtype.R16), kv(dtype.Q4_0, 1, 2, 24, 32),
			zeros(dtype.I32, Const(1)), between(dtype.I32, 16, 24, Const(1)), full), Attr: attr(Const(1))},
		Case{Name: "f16 panels", Args: args(f32(1, 4, 20), kv(dtype.F16, 1, 2, 24, 20).layout(dtype.R16), kv(dtype.F16, 1, 2, 24, 12),
			zeros(dtype.I32, Const(1)), between(dtype.I32, 16, 24, Const(1)), full), Attr: attr(Const(1))},
		Case{Name: "view", Args: args(f32(1, 4, 16).view(), kv(dtype.F32, 1, 2, 24, 16), kv(dtype.F32, 1, 2, 24, 16),
			zeros(dtype.I32, Const(1)), between(dtype.I32, 0, 24, Const(1)), full), Attr: attr(Const(1))},
		Case{Name: "cap, window and alibi", Args: args(f32(2, 4, 16), kv(dtype.F16, 1, 2, 600, 16), kv(dtype.F16, 1, 2, 600, 16),
			zeros(dtype.I32, Const(2)), between(dtype.I32, 500, 540, Const(2)), between(dtype.I32, 600, 601, Const(1))),
			Attr: &AttentionSegmentsAttr{Scale: 1, Cap: 1.5, Window: 40, Alibi: 8, Len: 512, Segments: Const(2)}},
		Case{Name: "alibi of some heads", Args: args(f32(2, 4, 16), kv(dtype.F16, 1, 2, 600, 16), kv(dtype.F16, 1, 2, 600, 16),
			zeros(dtype.I32, Const(2)), between(dtype.I32, 500, 540, Const(2)), between(dtype.I32, 600, 601, Const(1))),
			Attr: &AttentionSegmentsAttr{Scale: 1, Window: 40, Alibi: 8, Len: 512, Segments: Const(2), Head: 6, Heads: 11}},
		Case{Name: "ring", Args: args(f32(2, 4, 16), kv(dtype.F16, 1, 2, 128, 16).layout(dtype.R16), kv(dtype.F16, 1, 2, 128, 16),
			zeros(dtype.I32, Const(2)), between(dtype.I32, 500, 540, Const(2)), between(dtype.I32, 600, 601, Const(1))),
			Attr: &AttentionSegmentsAttr{Scale: 1, Window: 40, Ring: 600, Len: 512, Segments: Const(2)}},
	)
}

// AttentionCombineAttr is the number of key heads whose segments are added.
type AttentionCombineAttr struct {
	KVHeads int64 `attr:"kv_heads"`
}

var attentionCombineInfo = OpInfo{
	Name: "attention_combine",
	Doc: "attention_combine(x[KVH*segments,T,G,Dv+2] f32, sinks[KVH*G] f32, optional) {kv_heads}: adds the sums of attention_segments over the segments: " +
		"y[t,g*G+i] = Σs 2^(m(s)-M) * a(s) / Σs 2^(m(s)-M) * b(s), where x[g*segments+s,t,i] is a(s), Dv elements, then m(s) and b(s), and M is the largest m(s). " +
		"With sinks, the divisor is larger by 2^(log2(e)*sinks[g*G+i]-M). The result is zero if all b(s) are 0. Result f32[T,KVH*G,Dv], dense.",
	Args:   []Arg{{Name: "x", Kinds: Float}, {Name: "sinks", Kinds: Float, Optional: true}},
	Attr:   AttentionCombineAttr{},
	Traits: Pure | Reduces,
	Infer:  inferAttentionCombine,
	Cost: func(n *Node) Cost {
		c := moved(n)
		c.FLOPs = n.Args[0].Type.Elems().Mul(Const(2))
		return c
	},
	Axes:  attentionCombineAxes,
	Cases: attentionCombineCases,
	Tol:   attentionInfo.Tol,
}

func inferAttentionCombine(n *Node) (Type, error) {
	if err := cmp.Or(needDType(n, dtype.F32), needRank(n, 4), needPlain(n, 0)); err != nil {
		return Type{}, err
	}
	x, kvHeads := n.Args[0].Type.Shape, attrOf[AttentionCombineAttr](n).KVHeads
	if kvHeads < 1 || !x[0].DivisibleBy(kvHeads) {
		return Type{}, argErr(n, 0, "must have equally many segments of each of the %d key heads", kvHeads)
	}
	values := x[3].Sub(Const(segmentTail))
	if lo, _ := values.Bounds(); lo < 1 {
		return Type{}, argErr(n, 0, "must have rows of values and two numbers more")
	}
	heads := Const(kvHeads).Mul(x[2])
	return denseF32([]Dim{x[1], heads, values}), checkSinks(n, 1, heads)
}

// attentionCombineAxes divides by heads first. The sums of a head are scattered over x.
func attentionCombineAxes(n *Node) []Axis {
	y := n.Result().Type.Shape
	operands := func(x Read) []Read { // with the sinks, if there are any
		return []Read{x, {Kind: ReadAll}}[:len(n.Args)]
	}
	axes := []Axis{{Axis: 1, Granule: 1, Reads: operands(Read{Kind: ReadParts})}}
	if !y[0].Is(1) {
		axes = append(axes, Axis{Axis: 0, Granule: 1, Reads: operands(sameRange(1))})
	}
	return axes
}

func attentionCombineCases(yield func(Case) bool) {
	t := Sym(symTokens)
	// Sums of weights are positive.
	sums := func(shape ...Dim) CaseArg { return between(dtype.F32, 0.5, 3, shape...) }
	each(yield,
		Case{Name: "one segment", Args: args(sums(Dims(2, 1, 3, 18)...)), Attr: &AttentionCombineAttr{KVHeads: 2}},
		Case{Name: "segments", Args: args(sums(Dims(15, 2, 2, 34)...)), Attr: &AttentionCombineAttr{KVHeads: 3}},
		Case{Name: "symbolic", Args: args(sums(t.Mul(Const(2)), Const(1), Const(4), Const(18))), Attr: &AttentionCombineAttr{KVHeads: 2}, Sizes: sizes(9)},
		Case{Name: "view", Args: args(sums(Dims(4, 1, 1, 15)...).view()), Attr: &AttentionCombineAttr{KVHeads: 1}},
		Case{Name: "sinks", Args: args(sums(Dims(6, 2, 2, 18)...), between(dtype.F32, -2, 3, Const(6))), Attr: &AttentionCombineAttr{KVHeads: 3}},
	)
}
