package ir

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// withoutCases are the ops that have no sample calls of their own, with the reason.
var withoutCases = map[Op]string{
	OpWeight:   "leaf: every case with a weight has one",
	OpState:    "leaf: every case with a state has one",
	OpConstant: "leaf without operands",
	OpCall:     "means what the called function means",
	OpRepeat:   "means what its body means",
	OpForeign:  "means nothing that is known",
	OpObserve:  "has no result",
}

func TestEveryOpIsComplete(t *testing.T) {
	for op := range Ops {
		info := op.Info()
		if len(info.Doc) < 20 || !strings.Contains(info.Doc, info.Name) {
			t.Errorf("%v: Doc does not say what it is: %q", op, info.Doc)
		}
		if info.Tol.Why == "" {
			t.Errorf("%v: Tol has no reason", op)
		}
		if byName, ok := OpByName(info.Name); !ok || byName != op {
			t.Errorf("%v is not found by its name", op)
		}
		if withoutCases[op] == "" {
			checkCoverage(t, op, casesOf(op))
		}
	}
	if _, ok := OpByName("invalid"); ok {
		t.Error("invalid is an op")
	}
}

func casesOf(op Op) []Case {
	if op.Info().Cases == nil {
		return nil
	}
	return slices.Collect(func(yield func(Case) bool) { op.Info().Cases(yield) })
}

func checkCoverage(t *testing.T, op Op, cases []Case) {
	var symbolic, view bool
	names := make(map[string]bool)
	for _, c := range cases {
		if names[c.Name] || c.Name == "" {
			t.Errorf("%v: the name %q of a case is taken or empty", op, c.Name)
		}
		names[c.Name] = true
		for _, a := range c.Args {
			view = view || a.View
			for _, d := range a.Type.Shape {
				d.Symbols(func(s *Symbol) {
					symbolic = true
					if n, ok := c.Sizes[s.Name]; !ok || n < s.Min || n > s.Max {
						t.Errorf("%v %s: no size for symbol %s, or one out of bounds", op, c.Name, s.Name)
					}
				})
			}
		}
	}
	if len(cases) < 3 || !symbolic || !view {
		t.Errorf("%v: %d cases, symbolic %v, view %v: needs 3, one symbolic, one with a view", op, len(cases), symbolic, view)
	}
}

// moduleOf builds the module that is a single call of op.
func moduleOf(t *testing.T, op Op, c Case) *Module {
	t.Helper()
	b := NewBuilder("case")
	b.m.Symbols = append(b.m.Symbols, symTokens)
	f := b.Func("f")
	args := make([]*Value, len(c.Args))
	for i, a := range c.Args {
		name := fmt.Sprintf("a%d", i)
		switch {
		case a.Weight:
			b.Weight(name, a.Type, nil)
			args[i] = f.Weight(name)
		case a.State:
			b.State(name, a.Type)
			args[i] = f.State(name)
		default:
			args[i] = f.Param(name, a.Type)
		}
	}
	f.Return("y", f.Op(op, c.Attr, args...))
	m, err := b.Finish()
	if err != nil {
		t.Fatalf("%v %s: %v", op, c.Name, err)
	}
	return m
}

func TestCasesArePrintedAndHaveCostAndAxes(t *testing.T) {
	for op := range Ops {
		for _, c := range casesOf(op) {
			m := moduleOf(t, op, c)
			checkRoundTrip(t, m)
			f := m.Funcs[0]
			n := f.Nodes[len(f.Nodes)-1]
			t.Run(op.String()+"/"+strings.ReplaceAll(c.Name, " ", "_"), func(t *testing.T) {
				checkCost(t, n)
				checkAxes(t, n)
			})
		}
	}
}

func checkCost(t *testing.T, n *Node) {
	c := n.Op.Info().Cost(n)
	lo, _ := c.FLOPs.Bounds()
	if n.Is(View) || n.Is(Leaf) {
		if !c.FLOPs.Is(0) || !c.Read.Is(0) || !c.Written.Is(0) {
			t.Errorf("a view costs %v", c)
		}
		return
	}
	if lo < 0 || c.Read.Upper() <= 0 || c.Written.Upper() <= 0 {
		t.Errorf("cost %v", c)
	}
	if c.Written.Upper() > n.Result().Type.MaxBytes() {
		t.Errorf("writes %v of %v", c.Written, n.Result().Type.Bytes())
	}
}

// checkAxes checks that the ranges read of the operands make them up whole when the
// ranges of the result do.
func checkAxes(t *testing.T, n *Node) {
	if n.Op.Info().Axes == nil {
		return
	}
	y := n.Result().Type
	for _, a := range n.Op.Info().Axes(n) {
		if a.Axis < 0 || a.Axis >= y.Rank() || a.Granule < 1 || len(a.Reads) != len(n.Args) {
			t.Fatalf("axis %+v of %v with %d operands", a, y, len(n.Args))
		}
		if a.Axis == y.Rank()-1 && a.Granule%int64(y.DType.BlockElems()) != 0 {
			t.Errorf("axis %+v cuts blocks of %v", a, y)
		}
		for i, r := range a.Reads {
			if r.Kind != ReadRange {
				continue
			}
			arg := n.Args[i].Type
			if r.Axis >= arg.Rank() || !arg.Shape[r.Axis].Mul(Const(r.Den)).Equal(y.Shape[a.Axis].Mul(Const(r.Num))) {
				t.Errorf("axis %+v: operand %d %v is not read whole", a, i, arg)
			}
			if a.Granule*r.Num%r.Den != 0 {
				t.Errorf("axis %+v: a granule is no whole range of operand %d", a, i)
			}
		}
	}
}

// TestShapeErrorsNameTheOperand has a line for every refusal of the shape rules.
func TestShapeErrorsNameTheOperand(t *testing.T) {
	tests := []struct{ params, node, want string }{
		{"%x: f32[4]", `weight "w"`, `no weight "w"`},
		{"%x: f32[4]", `state "w"`, `no state "w"`},
		{"%x: f32[4]", `constant "00"`, "needs a declared type"},
		{"%x: f32[4]", `foreign "X" %x`, "needs a declared type"},
		{"%x: f32[4]", "relu", "operand x is missing"},
		{"%x: f32[4]", "relu _", "operand x is missing"},
		{"%x: f32[4]", "relu %x, %x", "takes 1 operand, not 2"},
		{"%x: i32[4]", "relu %x", "must be of kind float"},
		{"%x: f16[4]", "relu %x", "must be f32"},
		{"%x: f32[4]", "concat {axis=0}", "at least one operand"},
		{"%x: f32[4]", "concat %x, _ {axis=0}", "operand x is missing"},
		{"%x: f32[4]", "concat %x {axis=1}", "outside rank 1"},
		{"%x: f32[4], %y: f32[4,4]", "concat %x, %y {axis=0}", "does not fit"},
		{"%x: f32[4], %y: f16[4]", "concat %x, %y {axis=0}", "does not fit"},
		{"%x: f32[16,4], %y: f32.r16[16,4]", "concat %x, %y {axis=0}", "plain layout"},

		{"%x: f32[4]", "reshape %x {shape=[5]}", "has 4 elements, the shape [5] has 5"},
		{"%x: q8_0[2,32]", "reshape %x {shape=[64,1]}", "no whole number of blocks"},
		{"%x: f32[4,4 strides 1,4]", "reshape %x {shape=[16]}", "copy it first"},
		{"%x: f32[4,4 strides 8,1]", "reshape %x {shape=[16]}", "copy it first"},
		{"%x: f32.r16[16,4]", "reshape %x {shape=[64]}", "plain layout"},
		{"%x: f32[4,4]", "permute %x {perm=[0]}", "no permutation"},
		{"%x: f32[4,4]", "permute %x {perm=[0,0]}", "no permutation"},
		{"%x: f32[4,4]", "permute %x {perm=[0,-1]}", "no permutation"},
		{"%x: q8_0[32,32]", "permute %x {perm=[1,0]}", "cut blocks"},
		{"%x: f32.r16[16,4]", "permute %x {perm=[1,0]}", "plain layout"},
		{"%x: f32[4]", "slice %x {axis=-1, start=0, len=1}", "outside rank"},
		{"%x: f32[4]", "slice %x {axis=0, start=-1, len=1}", "do not stay within"},
		{"%x: f32[4]", "slice %x {axis=0, start=0, len=-1}", "do not stay within"},
		{"%x: f32[tokens]", "slice %x {axis=0, start=1, len=tokens}", "do not stay within"},
		{"%x: q8_0[64]", "slice %x {axis=0, start=16, len=32}", "no whole blocks"},
		{"%x: f32.r16[16,4]", "slice %x {axis=0, start=0, len=1}", "plain layout"},

		{"%x: f32[4], %y: f32[3]", "add %x, %y", "cannot be repeated"},
		{"%x: f32[4], %y: f32[3]", "chain %x, %y {steps=[add(x0, x1)]}", "cannot be repeated"},
		{"%x: f32[4], %y: f32[1]", "chain %x, %y {steps=[add(x0, x1), neg(x1), add(y0, y1)]}", "the first one of step y1"},
		{"%x: f16[4]", "chain %x {steps=[neg(x0)]}", "must be f32"},
		{"%x: f32.r16[16,4]", "chain %x {steps=[neg(x0)]}", "plain layout"},
		{"%x: f32[4]", "chain %x, %x, %x, %x, %x, %x, %x, %x, %x {steps=[neg(x0)]}", "at most 8 operands, not 9"},
		{"%x: f32[4]", "chain %x {steps=[]}", "has 0 steps: it must have 1 to 16"},
		{"%x: f32[4]", "chain %x {steps=[neg(x0)" + strings.Repeat(", neg(y0)", 16) + "]}", "has 17 steps"},
		{"%x: f32[4]", "chain %x {steps=[add(x0)]}", "step y0: add takes 2 operands, not 1"},
		{"%x: f32[4]", "chain %x {steps=[neg(x1)]}", "step y0: x1 does not exist here"},
		{"%x: f32[4]", "chain %x {steps=[neg(x0), add(y1, y0)]}", "step y1: y1 does not exist here"},
		{"%x: f32[4]", "chain %x, %x {steps=[neg(x0)]}", "no step reads x1"},
		{"%x: f32[4]", "chain %x {steps=[neg(x0), exp(x0)]}", "no step reads y0"},
		{"%x: f32[4], %y: f32[2,4]", "add %x, %y", "cannot be repeated"},
		{"%x: f32[4], %y: f16[4]", "add %x, %y", "must be f32"},

		{"%x: f16[4], %w: f32[2,4]", "matmul %x, %w", "f32, bf16, q8a or q8a_k"},
		{"%x: f32[], %w: f32[2,4]", "matmul %x, %w", "rank 1 or more"},
		{"%x: f32[4], %w: f32[4]", "matmul %x, %w", "must have rank 2"},
		{"%x: f32[4], %w: f32[2,5]", "matmul %x, %w", "must have 4 elements"},
		{"%x: f32[4], %w: f32[2,4], %r: f32[3]", "matmul %x, %w, %r", "must be f32[2], as the result"},
		{"%x: f32[4], %w: f32[2,5]", "matmul_swiglu %x, %w, %w", "must have 4 elements"},
		{"%x: f32[4], %w: f32[2,4], %v: f16[2,4]", "matmul_swiglu %x, %w, %v", "as wgate"},
		{"%x: f32[4], %w: f32[2,4]", "matmul_swiglu %x, %w, %w {to=bf16}", "with weights of f32"},
		{"%x: f32[4], %w: bf16[2,4]", "matmul_swiglu %x, %w, %w {to=f16}", "cannot be f16"},

		{"%x: f32[4], %w: f32[4]", "rms_norm %x, %w", "needs the attribute eps"},
		{"%x: f32[4], %w: f32[5]", "rms_norm %x, %w {eps=0}", "must be 4, as the rows of x"},
		{"%x: f32[], %w: f32[5]", "rms_norm %x, %w {eps=0}", "rank 1 or more"},
		{"%x: f32[4], %w: f32[1,4]", "rms_norm %x, %w {eps=0}", "must have rank 1"},
		{"%x: f16[4], %w: f32[4]", "rms_norm %x, %w {eps=0}", "must be f32"},
		{"%x: f32[4], %w: f32[4]", "rms_norm_quantize %x, %w {eps=0}", "no whole number of blocks"},
		{"%x: f32[96], %w: f32[96]", "rms_norm_quantize %x, %w {eps=0, to=q8a_k}", "no whole number of blocks"},
		{"%x: f32[256], %w: f32[256]", "rms_norm_quantize %x, %w {eps=0, to=q8_0}", "only q8a, q8a_k or bf16"},
		{"%x: f32[4], %w: f32[5]", "rms_norm_quantize %x, %w {eps=0}", "as the rows of x"},
		{"%x: f32[4], %w: f32[4], %b: f32[5]", "layer_norm %x, %w, %b {eps=0}", "operand b"},
		{"%x: f32[]", "softmax %x", "rank 1 or more"},
		{"%x: f32[]", "reduce_sum %x", "rank 1 or more"},
		{"%x: f16[4]", "reduce_max %x", "must be f32"},
		{"%x: f32[3,0]", "softmax %x", "its rows may have no element: let there be at least 1"},
		{"%x: f32[3,tokens-1]", "softmax %x", "its rows may have no element"},
		{"%x: f32[3,tokens-1]", "reduce_max %x", "its rows may have no element"},
		{"%x: f32[3,tokens-1]", "reduce_mean %x", "its rows may have no element"},
		{"%x: f32[3,tokens-1], %w: f32[tokens-1]", "rms_norm %x, %w {eps=0}", "its rows may have no element"},
		{"%x: f32[3,32*tokens-32], %w: f32[32*tokens-32]", "rms_norm_quantize %x, %w {eps=0}", "its rows may have no element"},
		{"%x: f32[3,tokens-1], %w: f32[tokens-1]", "layer_norm %x, %w {eps=0}", "its rows may have no element"},

		{"%t: f32[4,4], %i: i64[2]", "gather %t, %i", "must be i32"},
		{"%t: f32[4], %i: i32[2]", "gather %t, %i", "must have rank 2"},
		{"%x: f32[4]", "top_k %x {k=0}", "no 0 largest"},
		{"%x: f32[tokens]", "top_k %x {k=2}", "no 2 largest"},
		{"%x: f32[]", "top_k %x {k=1}", "rank 1 or more"},
		{"%x: f32[3,4], %i: i64[3,2]", "take %x, %i", "must be i32"},
		{"%x: f32[3,4], %i: i32[2]", "take %x, %i", "as many rows as x"},
		{"%x: f32[3,4], %i: i32[2,2]", "take %x, %i", "as many rows as x"},
		{"%x: f32[], %i: i32[2]", "take %x, %i", "rank 1 or more"},
		{"%x: f32[3,4], %w: f32[2,5,4], %i: i32[3,2]", "experts_matmul %x, %w, %i", "must have rank 3"},
		{"%x: f32[3,1,4], %w: f32[2,5,4], %i: i64[3,2]", "experts_matmul %x, %w, %i", "must be i32"},
		{"%x: f16[3,1,4], %w: f32[2,5,4], %i: i32[3,2]", "experts_matmul %x, %w, %i", "f32, bf16, q8a or q8a_k"},
		{"%x: f32[3,1,4], %w: f32[2,5,3], %i: i32[3,2]", "experts_matmul %x, %w, %i", "must have 4 elements"},
		{"%x: f32[3,1,4], %w: f32[2,5,4], %i: i32[2,2]", "experts_matmul %x, %w, %i", "the tokens of x"},
		{"%x: f32[3,3,4], %w: f32[2,5,4], %i: i32[3,2]", "experts_matmul %x, %w, %i", "one for each choice"},
		{"%y: f32[3,2,4], %p: f32[3,1]", "experts_sum %y, %p", "must be f32[3,2]"},
		{"%y: f32[3,4], %p: f32[3,1]", "experts_sum %y, %p", "must have rank 3"},
		{"%w: f32[4], %i: i32[3]", "copy_experts %w, %i", "rank 2 or more"},
		{"%w: f32[4,4 strides 1,4], %i: i32[3]", "copy_experts %w, %i", "must be dense"},
		{"%w: f32[4,4], %i: i64[3]", "copy_experts %w, %i", "must be i32"},
		{"%p: i64[4], %w: f32[2]", "rope_table %p, %w", "must be i32"},
		{"%x: f32[4,2,8], %t: f32[3,4,2]", "rope %x, %t", "the tokens of x"},
		{"%x: f32[4,2,8], %t: f32[4,4,3]", "rope %x, %t", "cosine and sine"},
		{"%x: f32[4,2,8], %t: f32[4,5,2]", "rope %x, %t", "more than a head"},
		{"%x: f32[4,8], %t: f32[4,4,2]", "rope %x, %t", "rank 3"},

		{"%s: bf16[1,2,8,4], %x: f32[1,2,4], %i: i32[1]", "state_write %s, %x, %i, %i", "f32, f16, q8_0 or q4_0"},
		{"%s: q8_0.planar[1,2,8,32], %x: f32[1,2,32], %i: i32[1]", "state_write %s, %x, %i, %i", "q8_0 or q4_0 in layout r16"},
		{"%s: f16[1,2,8,4], %x: f32[1,2,5], %i: i32[1]", "state_write %s, %x, %i, %i", "the rows of the state"},
		{"%s: f16[1,2,8,4], %x: f32[1,3,4], %i: i32[1]", "state_write %s, %x, %i, %i", "the heads of the state"},
		{"%s: f16[1,2,8,4], %x: f32[2,2,4], %i: i32[1]", "state_write %s, %x, %i, %i", "the tokens of x"},

		{attentionParams("4,4,16", "f16", "1,2,24,16"), "attention %q, %k, %v, %s, %p, %l", "needs the attribute scale"},
		{attentionParams("4,3,16", "f16", "1,2,24,16"), "attention %q, %k, %v, %s, %p, %l {scale=1}", "constant multiple"},
		{attentionParams("4,4,8", "f16", "1,2,24,16"), "attention %q, %k, %v, %s, %p, %l {scale=1}", "the heads of q"},
		{attentionParams("5,4,16", "f16", "1,2,24,16"), "attention %q, %k, %v, %s, %p, %l {scale=1}", "the tokens of q"},
		{attentionParams("4,4,16", "bf16", "1,2,24,16"), "attention %q, %k, %v, %s, %p, %l {scale=1}", "f32, f16, q8_0 or q4_0"},

		{attentionParams("4,4,16", "f16", "1,2,24,16"), "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=0, segments=2}", "cannot be cut"},
		{attentionParams("4,4,16", "f16", "1,2,24,16"), "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=8, segments=-1}", "cannot be cut"},
		{attentionParams("4,4,8", "f16", "1,2,24,16"), "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=8, segments=3}", "the heads of q"},
		{"%x: f32[5,1,2,10]", "attention_combine %x {kv_heads=2}", "equally many segments"},
		{"%x: f32[4,1,2,10]", "attention_combine %x {kv_heads=0}", "equally many segments"},
		{"%x: f32[4,1,2,2]", "attention_combine %x {kv_heads=2}", "two numbers more"},
		{"%x: f32[4,2,10]", "attention_combine %x {kv_heads=2}", "rank 4"},

		{"%x: f32[4]", "cast %x {to=q8_0}", "only between floats"},
		{"%x: f32.r16[16,4]", "cast %x {to=f16}", "plain layout"},
		{"%x: f32[4]", "quantize %x", "no whole number of blocks"},
		{"%x: f32[96]", "quantize %x {to=q8a_k}", "no whole number of blocks"},
		{"%x: f32[256]", "quantize %x {to=q8_0}", "only to q8a or q8a_k"},
		{"%x: f32[]", "quantize %x", "rank 1 or more"},
		{"%x: f32[4,4]", "pack %x {to=plain}", "must not be plain"},
		{"%x: f32[4]", "pack %x {to=r16}", "must have rank 2"},
		{"%x: f64[4,4]", "pack %x {to=r16}", "has no layout"},

		{"%x: f32[4]", "call @g %x", "the module has no function @g before this one"},
		{"%x: f32[4]", "call %x", "%x where @ and the name of a function is expected"},
		{"%x: f32[4]", "call @g %x {to=3}", "has no attribute to"},
	}
	for _, tt := range tests {
		text := "symbol tokens 1 8\nfunc @f(" + tt.params + ") -> () {\n  %out = " + tt.node + "\n  return\n}\n"
		_, err := Parse("t", []byte(text))
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %s:\n\tgot  %v\n\twant %s", tt.node, tt.params, err, tt.want)
		}
	}
}

// attentionParams are the parameters of a function for attention with 4 tokens.
func attentionParams(q, d, cache string) string {
	return "%q: f32[" + q + "], %k: " + d + "[" + cache + "], %v: " + d + "[" + cache + "], %s: i32[4], %p: i32[4], %l: i32[1]"
}

func TestTypesAreInferred(t *testing.T) {
	tests := []struct{ params, node, want string }{
		{attentionParams("4,4,16", "f16", "1,2,24,16"), "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=8, segments=tokens/8}", "f32[2*(tokens/8),4,2,18]"},
		{"%x: f32[6*tokens,4,2,18]", "attention_combine %x {kv_heads=3}", "f32[4,6,16]"},
		{"%x: f32[4,6] @host", "permute %x {perm=[1,0]}", "f32[6,4 strides 1,6] @host"},
		{"%x: f32[6,4 strides 1,6]", "permute %x {perm=[1,0]}", "f32[4,6]"},
		{"%x: f32[4,6]", "slice %x {axis=1, start=2, len=3}", "f32[4,3 strides 6,1]"},
		{"%x: f32[4,6]", "slice %x {axis=0, start=1, len=2}", "f32[2,6]"},
		{"%x: f32[tokens,6]", "slice %x {axis=0, start=tokens-1, len=1}", "f32[1,6]"},
		{"%x: f32[4,6 strides 12,1]", "reshape %x {shape=[4,2,3]}", "f32[4,2,3 strides 12,3,1]"},
		{"%x: f32[4,2,3 strides 12,3,1]", "reshape %x {shape=[4,6]}", "f32[4,6 strides 12,1]"},
		{"%x: f32[4,6 strides 1,4]", "reshape %x {shape=[4,1,6]}", "f32[4,1,6 strides 1,6,4]"},
		{"%x: f32[tokens,4,8 strides 8,8*tokens,1]", "reshape %x {shape=[tokens,4,2,4]}", "f32[tokens,4,2,4 strides 8,8*tokens,4,1]"},
		{"%x: f32[tokens,4]", "reshape %x {shape=[4*tokens]}", "f32[4*tokens]"},
		{"%x: f32[4,6 strides 1,4] @host", "copy %x", "f32[4,6]"},
		{"%x: f32[tokens,3], %y: f32[2,3]", "concat %x, %y {axis=0}", "f32[tokens+2,3]"},
		{"%x: f32[tokens,3]", "reduce_mean %x", "f32[tokens,1]"},
		{"%x: f32[40,64]", "pack %x {to=r16}", "f32.r16[40,64]"},
	}
	for _, tt := range tests {
		text := "symbol tokens 1 8\nfunc @f(" + tt.params + ") -> () {\n  %out = " + tt.node + "\n  return\n}\n"
		m := mustParse(t, text)
		if got := m.Funcs[0].Nodes[0].Results[0].Type.String(); got != tt.want {
			t.Errorf("%s of %s is %s, want %s", tt.node, tt.params, got, tt.want)
		}
	}
}

func TestCallsAndRepeatsCheckTheirBodies(t *testing.T) {
	const head = "func @g(%a: f32[4]) -> f32[4] {\n  return %a\n}\nfunc @f(%x: f32[4], %y: f32[5]) -> () {\n"
	const body = "  body @b(%a: f32[4], %b: f32[5]) -> f32[4] {\n    return %a\n  }\n"
	tests := []struct{ node, want string }{
		{"%z = call @g %x", ""},
		{"%z = call \"g\" %x", ""},
		{"%z = call @g %y", "parameter %a of @g is f32[4], not f32[5]"},
		{"%z = call @g _", "takes 1 operand"},
		{"%z = call @g %x, %x", "takes 1 operand, not 2"},
		{"%z = repeat %x, %y, %y {count=2, carried=1, invariant=0}\n" + body, ""},
		{"%z = repeat %x, %y {count=2, carried=1, invariant=1}\n" + body, ""},
		{"%z = repeat %x, %y {count=2, carried=1, invariant=0}\n" + body, "do not fit 2 operands"},
		{"%z = repeat %x, %y {count=0, carried=1, invariant=0}\n" + body, "do not fit 2 operands"},
		{"%z = repeat %x {count=2, carried=1, invariant=0}\n" + body, "must have 1 parameter, not 2"},
		{"%z, %u = repeat %x, %y {count=2, carried=2, invariant=0}\n" + body, "must have 2 results"},
		{"%z = repeat %x, %x {count=2, carried=1, invariant=1}\n" + body, "operand 1 is f32[4]"},
		{"%z = repeat %y, %x {count=2, carried=1, invariant=1}\n" + strings.Replace(body, "%a: f32[4], %b: f32[5]", "%b: f32[5], %a: f32[4]", 1), "keeps its type"},
		{"%z = repeat %x, %y {count=2, carried=1, invariant=1}\n", "body of the node before is expected"},
	}
	for _, tt := range tests {
		_, err := Parse("t", []byte(head+"  "+tt.node+"\n  return\n}\n"))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s\n\tgot  %v\n\twant %s", tt.node, err, tt.want)
		}
	}
}

func TestCostOfBodiesCountsIterations(t *testing.T) {
	m := mustParse(t, `func @g(%a: f32[4]) -> f32[4] {
  %n = neg %a
  return %n
}
func @f(%x: f32[4]) -> f32[4] {
  %r = repeat %x {count=3, carried=1, invariant=0}
  body @b(%a: f32[4]) -> f32[4] {
    %c = call @g %a
    return %c
  }
  return %r
}
`)
	n := m.Func("f").Nodes[0]
	if c := OpRepeat.Info().Cost(n); !c.FLOPs.Is(12) || !c.Read.Is(48) || !c.Written.Is(48) {
		t.Errorf("cost %+v", c)
	}
	g := m.Func("g")
	g.Append(g.NewNode(OpCall, &CallAttr{Func: "g"}, g.Params, ""))
	if c := OpRepeat.Info().Cost(n); c.FLOPs.Upper() <= 0 {
		t.Errorf("cost of a recursion %+v", c)
	}
}
