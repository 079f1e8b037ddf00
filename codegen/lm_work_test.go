package codegen

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

// TestWorkOfAStep: bench compares with what the products of a step need: operations for each token, operations
// that do not grow with the tokens, such as the last row's, and the weights that are read, as often as repeats run.
func TestWorkOfAStep(t *testing.T) {
	m, err := ir.Parse("m", []byte(`symbol n 1 9
weight "w" : f32.r16[16,32]
weight "v" : f32.r16[64,32]
weight "u" : f32.r16[32,32]
func @f(%x: f32[n,32], %row: f32[1,32]) -> (f32[n,16], f32[1,64]) {
  %w = weight "w" : f32.r16[16,32]
  %u = weight "u" : f32.r16[32,32]
  %x3 = repeat %x, %u {count=3, carried=1, invariant=1} : f32[n,32]
  body @loop(%c: f32[n,32], %d: f32.r16[32,32]) -> f32[n,32] {
    %e = matmul %c, %d : f32[n,32]
    return %e
  }
  %y = matmul %x3, %w : f32[n,16]
  %v = weight "v" : f32.r16[64,32]
  %z = matmul %row, %v : f32[1,64]
  return %y, %z
}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := work{opsPerToken: 2 * 32 * (16 + 3*32), opsPerStep: 2 * 32 * 64, weightBytes: 4 * 32 * (16 + 64 + 3*32), peak: "f32"}
	if got := workOf(m.Funcs[0]); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
