package ir

import (
	"testing"
)

// costOf returns the cost of the node in a function with the parameters.
func costOf(t *testing.T, params, node string) Cost {
	t.Helper()
	m := mustParse(t, "func @f("+params+") -> () {\n  %out = "+node+"\n  return\n}\n")
	n := m.Funcs[0].Nodes[0]
	return n.Op.Info().Cost(n)
}

// TestCostCountsWhatIsTouched: times are predicted from bytes and operations. An op that picks rows, experts or
// positions counts only the picked ones, and a view counts nothing.
func TestCostCountsWhatIsTouched(t *testing.T) {
	const caches = "%q: f32[4,4,16], %k: f16[1,2,24,16], %v: f16[1,2,24,16], %s: i32[4], %p: i32[4], %l: i32[1]"
	for _, c := range []struct {
		params, node string
		read, written,
		flops int64 // -1: an estimate
	}{
		{"%x: f32[3,32], %w: q8_0[16,32]", "matmul %x, %w", 3*32*4 + 16*34, 3 * 16 * 4, 2 * 3 * 16 * 32},
		{"%x: f32[3,32], %w: q8_0[16,32], %r: f32[3,16]", "matmul %x, %w, %r", 3*32*4 + 16*34 + 3*16*4, 3 * 16 * 4, 2 * 3 * 16 * 32},
		{"%t: f16[100,8], %i: i32[3]", "gather %t, %i", 3*8*2 + 3*4, 3 * 8 * 4, -1},
		{"%s: f16[1,2,8,4], %x: f32[3,2,4], %i: i32[3]", "state_write %s, %x, %i, %i", 3*2*4*4 + 2*3*4, 3 * 2 * 4 * 2, -1},
		{"%x: f32[3,1,4], %w: f32[2,5,4], %i: i32[3,2]", "experts_matmul %x, %w, %i", 3*4*4 + 6*4 + 2*5*4*4, 3 * 2 * 5 * 4, 2 * 3 * 2 * 5 * 4},
		{"%x: f32[1,1,4], %w: f32[8,5,4], %i: i32[1,2]", "experts_matmul %x, %w, %i", 4*4 + 2*4 + 2*5*4*4, 2 * 5 * 4, 2 * 2 * 5 * 4},
		{caches, "attention %q, %k, %v, %s, %p, %l {scale=1}", 4*4*16*4 + 2*2*24*16*2 + 9*4, 4 * 4 * 16 * 4, -1},
		{caches, "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=8, segments=2}", 4*4*16*4 + 2*2*16*16*2, 2 * 2 * 4 * 2 * 18 * 4, -1},
		{"%x: f32[4,8]", "slice %x {axis=0, start=1, len=2}", 0, 0, 0},
		{"%x: f32[4,8]", "copy %x", 4 * 8 * 4, 4 * 8 * 4, 0},
	} {
		got := costOf(t, c.params, c.node)
		if !got.Read.Is(c.read) || !got.Written.Is(c.written) || c.flops >= 0 && !got.FLOPs.Is(c.flops) || c.flops < 0 && got.FLOPs.Upper() <= 0 {
			t.Errorf("%s of %s: reads %v, writes %v, %v operations; want %d, %d, %d", c.node, c.params, got.Read, got.Written, got.FLOPs, c.read, c.written, c.flops)
		}
	}

	// An attention in segments computes what the attention over their positions computes.
	whole := costOf(t, caches, "attention %q, %k, %v, %s, %p, %l {scale=1}").FLOPs
	for segments, share := range map[string]int64{"1": 3, "3": 1, "4": 1} {
		part := costOf(t, caches, "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=8, segments="+segments+"}").FLOPs
		if !part.Mul(Const(share)).Equal(whole) {
			t.Errorf("%s segments of 8 of 24 positions: %v operations, all of them: %v", segments, part, whole)
		}
	}
}

// TestCostOfElementsGrowsWithThem: an elementwise op takes some operations for each element.
func TestCostOfElementsGrowsWithThem(t *testing.T) {
	for _, op := range []string{"neg", "exp", "silu", "relu", "softmax"} {
		small, large := costOf(t, "%x: f32[2,8]", op+" %x").FLOPs, costOf(t, "%x: f32[6,8]", op+" %x").FLOPs
		if small.Upper() <= 0 || !small.Mul(Const(3)).Equal(large) {
			t.Errorf("%s: %v operations for 16 elements, %v for 48", op, small, large)
		}
	}
}

// TestAttentionCountsKeysAndValues: rows of keys and of values may differ in size, and each number of them is
// multiplied and added once for each head, token and position.
func TestAttentionCountsKeysAndValues(t *testing.T) {
	operations := func(keys, values string) Dim {
		return costOf(t, "%q: f32[4,4,"+keys+"], %k: f16[1,2,24,"+keys+"], %v: f16[1,2,24,"+values+"], %s: i32[4], %p: i32[4], %l: i32[1]",
			"attention %q, %k, %v, %s, %p, %l {scale=1}").FLOPs
	}
	const tokens, heads, positions = 4, 4, 24
	more := Const(2 * 16 * tokens * heads * positions)
	if both := operations("16", "16"); !operations("32", "16").Equal(both.Add(more)) || !operations("16", "32").Equal(both.Add(more)) {
		t.Errorf("%v operations; %v with 16 more numbers in keys, %v in values; want %v more", both, operations("32", "16"), operations("16", "32"), more)
	}
}
