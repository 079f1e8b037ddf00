package pack

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestQuantizedKeysAreMultipliedAtTheRateOfQuantizedProducts counts the operations of all scores of an attention: two
// for each query, head, key and element. With quantized keys they run at another rate, which counts as more or fewer
// operations.
func TestQuantizedKeysAreMultipliedAtTheRateOfQuantizedProducts(t *testing.T) {
	const tokens, heads, kvHeads, keys, size = 3, 4, 2, 40, 64
	cache := func(d dtype.DType, elements int64) ir.Type {
		return ir.Type{DType: d, Shape: ir.Dims(1, kvHeads, keys, elements)}
	}
	const scores = 2.0 * tokens * heads * keys * size
	for _, tt := range []struct {
		keys     dtype.DType
		quantOps float64
		want     float64
	}{
		{dtype.Q8_0, 2e10, scores}, // half the rate: each counts twice
		{dtype.Q8_0, 16e10, scores/4 - scores},
		{dtype.Q8_0, 0, 0}, // the rate is not known
		{dtype.F16, 2e10, 0},
	} {
		n := &ir.Node{Op: ir.OpAttention, Args: []*ir.Value{
			{Type: ir.Type{DType: dtype.F32, Shape: ir.Dims(tokens, heads, size)}}, {Type: cache(tt.keys, size)}, {Type: cache(tt.keys, size/2)},
		}}
		d := &target.Descriptor{Rates: target.Rates{FLOPs: 4e10, QuantOps: tt.quantOps}}
		if got := keyFLOPs(d, n, dtype.R16); got != tt.want {
			t.Errorf("%v keys, %g quantized operations/s: %v operations more, want %v", tt.keys, tt.quantOps, got, tt.want)
		}
	}
}

// TestPlanesAreReadFaster counts the bytes of matrices that a product on a GPU reads: plain ones count twice, and
// planes with their padding. Of four experts, two are read.
func TestPlanesAreReadFaster(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
func @f(%x: f32[3,256], %w: q4_0[10,256], %r: f32[3,10], %y: f32[3,64], %v: q4_0[10,64], %z: f32[1,1,64], %e: q4_0[4,10,64], %i: i32[1,2]) {
  %a = matmul %x, %w, %r : f32[3,10]
  %b = matmul %y, %v : f32[3,10]
  %c = matmul_swiglu %y, %v, %v : f32[3,10]
  %d = experts_matmul %z, %e, %i : f32[1,2,10]
  return
}
`)
	for i, want := range []struct{ plain, planes float64 }{{1440, 0}, {360, 120}, {720, 240}, {720, 240}} {
		n := m.Funcs[0].Nodes[i]
		if plain, planes := planeBytes(n, dtype.Plain), planeBytes(n, dtype.Planar); plain != want.plain || planes != want.planes {
			t.Errorf("%v: %v bytes more in plain, %v in planes, want %v and %v", n, plain, planes, want.plain, want.planes)
		}
	}
}
