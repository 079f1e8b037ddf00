package ir

import (
	"fmt"
	"strings"
	"testing"
)

// TestAxesReadTheMatchingRanges shows along which axes workers may divide a node, best first, with what they
// read of each operand: a range of an axis, all, or nothing.
func TestAxesReadTheMatchingRanges(t *testing.T) {
	tests := []struct{ params, node, want string }{
		{"%x: f32[8,64], %w: f32[48,64]", "matmul %x, %w", "1/1: all 0; 0/1: 0 all"},
		{"%x: f32[8,64], %w: f32.r16[48,64], %r: f32[8,48]", "matmul %x, %w, %r", "1/16: all 0 1; 0/1: 0 all 0"},
		{"%x: f32[8,64], %w: q4_0.planar[48,64]", "matmul %x, %w", "1/1: all 0; 0/1: 0 all"},
		{"%x: f32[8,64], %w: f32.r16[48,64]", "matmul %x, %w, _", "1/16: all 0; 0/1: 0 all"},
		{"%x: f32[1,64], %w: f32.r16[48,64]", "matmul %x, %w", "1/16: all 0"},
		{"%x: f32[64], %w: f32.r16[48,64]", "matmul_swiglu %x, %w, %w", "0/16: all 0 0"},
		{"%x: f32[1,64]", "neg %x", "1/16: 1"},
		{"%x: f32[]", "neg %x", ""},
		{"%x: f32[8,1,4], %b: f32[4]", "add %x, %b", "2/16: 2 0; 0/1: 0 all"},
		{"%x: f32[8,4], %b: f32[8,1]", "add %x, %b", "1/16: 1 all; 0/1: 0 0"},
		{"%x: f32[8,64]", "quantize %x", "1/32: 1; 0/1: 0"},
		{"%x: f32[8,512]", "quantize %x {to=q8a_k}", "1/256: 1; 0/1: 0"},
		{"%x: f32[8,64], %w: f32[64]", "rms_norm %x, %w {eps=0}", "0/1: 0 all"},
		{"%x: f32[1,64]", "softmax %x", ""},
		{"%x: f32[1,4,64]", "softmax %x", "1/1: 1"},
		{"%t: f16[8,64], %i: i32[1]", "gather %t, %i", "1/16: 1 all"},
		{"%t: q8_0[8,64], %i: i32[3]", "gather %t, %i", "1/32: 1 all; 0/1: all 0"},
		{"%x: f32[3,8]", "top_k %x {k=2}", "0/1: 0"},
		{"%x: f32[3,8], %i: i32[3,2]", "take %x, %i", "0/1: 0 0"},
		{"%x: f32[3,1,8], %w: f32[4,48,8], %i: i32[3,2]", "experts_matmul %x, %w, %i", "2/1: all 1 all; 0/1: 0 all 0"},
		{"%x: f32[1,1,8], %w: f32.r16[4,48,8], %i: i32[1,2]", "experts_matmul %x, %w, %i", "2/16: all 1 all"},
		{"%y: f32[3,2,8], %p: f32[3,2]", "experts_sum %y, %p", "1/16: 2 all; 0/1: 0 0"},
		{"%w: f32.r16[4,48,8], %i: i32[3,2]", "copy_experts %w, %i", "0/1: 0 all"},
		{"%p: i32[1], %w: f32[4]", "rope_table %p, %w", ""},
		{"%x: f32[1,1,8], %t: f32[1,4,2]", "rope %x, %t", ""},
		{"%x: f32[2,4,8], %t: f32[2,4,2]", "rope %x, %t", "1/1: 1 all; 0/1: 0 0"},
		{"%s: f16[1,1,8,4], %x: f32[1,1,4], %i: i32[1]", "state_write %s, %x, %i, %i", ""},
		{"%s: f16[1,2,8,4], %x: f32[1,2,4], %i: i32[1]", "state_write %s, %x, %i, %i", "1/1: 1 1 all all"},
		{attentionParams("4,4,16", "f16", "1,2,24,16"), "attention %q, %k, %v, %s, %p, %l {scale=1}", "1/2: 1 1*2/4 1*2/4 all all all; 0/1: 0 all all 0 0 all"},
		{attentionParams("4,4,16", "f16", "1,1,24,16"), "attention %q, %k, %v, %s, %p, %l {scale=1}", "0/1: 0 all all 0 0 all"},
		{attentionParams("4,4,16", "f16", "1,2,24,16"), "attention_segments %q, %k, %v, %s, %p, %l {scale=1, len=8, segments=3}", "0/1: all parts parts all all all"},
		{"%x: f32[6,1,2,10]", "attention_combine %x {kv_heads=2}", "1/1: parts"},
		{"%x: f32[6,3,2,10]", "attention_combine %x {kv_heads=2}", "1/1: parts; 0/1: 1"},
		{"%x: f32[8,4], %y: f32[8,4]", "concat %x, %y {axis=1}", "0/1: 0 0"},
		{"%x: f32.r16[16,4]", "copy %x", ""},
		{"%x: f32[40,4]", "pack %x {to=r16}", "0/16: 0"},
	}
	for _, tt := range tests {
		m := mustParse(t, "func @f("+tt.params+") {\n  %out = "+tt.node+"\n  return\n}\n")
		n := m.Funcs[0].Nodes[0]
		if got := axesText(n.Op.Info().Axes(n)); got != tt.want {
			t.Errorf("%s of %s: %s, want %s", tt.node, tt.params, got, tt.want)
		}
	}
}

func axesText(axes []Axis) string {
	texts := make([]string, len(axes))
	for i, a := range axes {
		texts[i] = fmt.Sprintf("%d/%d:", a.Axis, a.Granule)
		for _, r := range a.Reads {
			texts[i] += " " + readText(r)
		}
	}
	return strings.Join(texts, "; ")
}

func readText(r Read) string {
	switch {
	case r.Kind == ReadAll:
		return "all"
	case r.Kind == ReadParts:
		return "parts"
	case r.Kind == ReadNone:
		return "none"
	case r.Num == 1 && r.Den == 1:
		return fmt.Sprint(r.Axis)
	}
	return fmt.Sprintf("%d*%d/%d", r.Axis, r.Num, r.Den)
}
