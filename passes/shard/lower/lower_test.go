package lower

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

const head = "ggir 1\nmodule \"m\"\nafter import\nprops imported\nsymbol tokens 1 6\n"

// lowered returns the nodes of the function of a module, one on each line: our value, op, extents with ggml's order,
// offset of a view in bytes, and sources.
func lowered(t *testing.T, text string) []string {
	t.Helper()
	m, err := ir.Parse("m.ggir", []byte(head+text))
	if err != nil {
		t.Fatal(err)
	}
	g, err := Func(m.Funcs[0])
	if err != nil {
		return []string{err.Error()}
	}
	var lines []string
	for _, n := range g.Func.Nodes {
		a, isNode := n.Attr.(*ir.ForeignAttr)
		if !isNode || a.Leaf {
			continue
		}
		v := n.Result()
		var ne, src []string
		for i := len(v.Type.Shape) - 1; i >= 0; i-- {
			ne = append(ne, v.Type.Shape[i].String())
		}
		for _, s := range n.Sources() {
			src = append(src, s.Name())
		}
		line := fmt.Sprintf("%s %s [%s] %s", v.Name(), a.Op, strings.Join(ne, " "), strings.Join(src, " "))
		if a.Params != "" {
			line += " " + a.Params
		}
		if !v.Type.Dense() {
			line += fmt.Sprint(" strides ", v.Type.Strides)
		}
		if a.Offset > 0 {
			line += fmt.Sprint(" offset ", a.Offset)
		}
		lines = append(lines, line)
	}
	return lines
}

// TestOpsAreWrittenAsGGMLWrites compares nodes with the nodes that llama.cpp makes for the same computation. The traces
// have examples of these.
func TestOpsAreWrittenAsGGMLWrites(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"a norm is two nodes", `weight "w" : f32[8]
func @f(%x: f32[tokens,8]) -> (y: f32[tokens,8]) {
  %w = weight "w" : f32[8]
  %y = rms_norm %x, %w {eps=1e-05} : f32[tokens,8]
  return %y
}`, `
y.rms_norm RMS_NORM [8 6 1 1] x
y MUL [8 6 1 1] y.rms_norm w`},
		{"heads, a cache and attention", `weight "q" : f32[32,16]
weight "k" : f32[16,16]
weight "freqs" : f32[4]
state "keys" : f16[1,2,10,8]
func @f(%x: f32[tokens,16], %pos: i32[tokens], %slot: i32[tokens], %lengths: i32[1]) -> (y: f32[tokens,4,8]) {
  %q = weight "q" : f32[32,16]
  %k = weight "k" : f32[16,16]
  %freqs = weight "freqs" : f32[4]
  %t = rope_table %pos, %freqs : f32[tokens,4,2]
  %a = matmul %x, %q : f32[tokens,32]
  %b = reshape %a {shape=[tokens,4,8]} : f32[tokens,4,8]
  %c = rope %b, %t : f32[tokens,4,8]
  %d = matmul %x, %k : f32[tokens,16]
  %e = reshape %d {shape=[tokens,2,8]} : f32[tokens,2,8]
  %keys = state "keys" : f16[1,2,10,8]
  %now = state_write %keys, %e, %slot, %pos : f16[1,2,10,8]
  %y = attention %c, %now, %now, %slot, %pos, %lengths {scale=1, alibi=8} : f32[tokens,4,8]
  return %y
}`, `
a MUL_MAT [32 6 1 1] q x
b RESHAPE [8 4 6 1] a
c ROPE [8 4 6 1] b pos freqs
d MUL_MAT [16 6 1 1] k x
e RESHAPE [8 2 6 1] d
now.reshape RESHAPE [16 6 1 1] e
now SET_ROWS [16 10 1 1] now.reshape pos keys
y.permute PERMUTE [8 6 4 1] c to=0,2,1,3 strides [192 8 32 1]
y.view VIEW [8 2 10 1] keys
y.permute.1 PERMUTE [8 10 2 1] y.view to=0,2,1,3 strides [160 8 16 1]
y.view.1 VIEW [8 2 10 1] keys
y.permute.2 PERMUTE [8 10 2 1] y.view.1 to=0,2,1,3 strides [160 8 16 1]
y FLASH_ATTN_EXT [8 4 6 1] y.permute y.permute.1 y.permute.2 y.mask max_bias=8`},
		{"pieces of a fused product", `weight "w" : f32[48,16]
func @f(%x: f32[tokens,16]) -> (y: f32[tokens,16]) {
  %w = weight "w" : f32[48,16]
  %a = matmul %x, %w : f32[tokens,48]
  %b = slice %a {axis=1, start=32, len=16} : f32[tokens,16 strides 48,1]
  %c = reshape %b {shape=[tokens,2,8]} : f32[tokens,2,8 strides 48,8,1]
  %y = relu %b : f32[tokens,16]
  %z = relu %c : f32[tokens,2,8]
  return %y
}`, `
a MUL_MAT [48 6 1 1] w x
b VIEW [16 6 1 1] a strides [288 288 48 1] offset 128
c VIEW [8 2 6 1] b strides [288 48 8 1] offset 128
y UNARY [16 6 1 1] b
z UNARY [8 2 6 1] c`},
		{"experts with biases", `weight "up" : f32[4,8,16]
weight "bias" : f32[4,8]
func @f(%x: f32[tokens,1,16], %scores: f32[tokens,4]) -> (y: f32[tokens,8]) {
  %up = weight "up" : f32[4,8,16]
  %bias = weight "bias" : f32[4,8]
  %ids = top_k %scores {k=2} : i32[tokens,2]
  %p = take %scores, %ids : f32[tokens,2]
  %a = experts_matmul %x, %up, %ids : f32[tokens,2,8]
  %flat = reshape %ids {shape=[2*tokens]} : i32[2*tokens]
  %rows = gather %bias, %flat : f32[2*tokens,8]
  %b = reshape %rows {shape=[tokens,2,8]} : f32[tokens,2,8]
  %c = add %b, %a : f32[tokens,2,8]
  %y = experts_sum %c, %p : f32[tokens,8]
  return %y
}`, `
ids.argsort ARGSORT [4 6 1 1] scores
ids VIEW [2 6 1 1] ids.argsort strides [24 24 4 1]
p.reshape RESHAPE [1 4 6 1] scores
p.get_rows GET_ROWS [1 2 6 1] p.reshape ids
p RESHAPE [2 6 1 1] p.get_rows
a MUL_MAT_ID [8 2 6 1] up x ids
flat VIEW [12 1 1 1] ids
c ADD_ID [8 2 6 1] a bias ids
y.reshape RESHAPE [1 2 6 1] p
y.mul MUL [8 2 6 1] c y.reshape
y.view VIEW [8 6 1 1] y.mul strides [96 96 16 1]
y.view.1 VIEW [8 6 1 1] y.mul strides [96 96 16 1] offset 32
y ADD [8 6 1 1] y.view y.view.1`},
		{"dimensions in another order", `func @f(%x: f32[2,3,4], %z: f32[1,3,4]) -> (y: f32[4,3,3 strides 1,12,4]) {
  %a = concat %x, %z {axis=0} : f32[3,3,4]
  %y = permute %a {perm=[2,0,1]} : f32[4,3,3 strides 1,12,4]
  return %y
}`, `
a CONCAT [4 3 3 1] x z dim=2
y PERMUTE [3 3 4 1] a to=2,0,1,3 strides [36 1 12 4]`},
		{"the last token, and an op that ggml has not", `func @f(%x: f32[tokens,8]) -> (y: f32[1,1]) {
  %a = slice %x {axis=0, start=tokens-1, len=1} : f32[1,8]
  %b = scale %a {scale=2, bias=1} : f32[1,8]
  %y = reduce_max %b : f32[1,1]
  return %y
}`, `
a VIEW [8 1 1 1] x strides [48 48 8 1] offset 160
b SCALE [8 1 1 1] a scale=2 bias=1
y REDUCE_MAX [1 1 1 1] b`},
		{"a table that is not one of positions", `func @f(%q: f32[1,2,8], %table: f32[1,4,2]) -> (y: f32[1,2,8]) {
  %y = rope %q, %table : f32[1,2,8]
  return %y
}`, `
@f %y: it reads %table, which is no rope_table: ggml's ROPE has positions`},
	} {
		if got := strings.Join(lowered(t, tt.text), "\n"); got != strings.TrimSpace(tt.want) {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}
