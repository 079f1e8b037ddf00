package tile

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestDefaultsArePredicted checks that the cost model takes the defaults of the table, for weights
// in a cache or in memory, so that kernels that change and the table do not part.
func TestDefaultsArePredicted(t *testing.T) {
	for _, e := range Table {
		c := Choices(e.Feature, e.Weight)[0]
		cached, streamed := Best(e.Feature, e.Weight, true), Best(e.Feature, e.Weight, false)
		if c != cached && c != streamed {
			t.Errorf("the default is %v, the model takes %v in a cache and %v from memory", c, cached, streamed)
		}
		p, ok := Predict(c)
		if ok != (e.Feature != Generic) {
			t.Errorf("%v: has it loops? %v", c, ok)
		}
		t.Log(p)
	}
}

// TestBest has what was measured on Zen 5 (docs/kernels.md).
func TestBest(t *testing.T) {
	for _, tt := range []struct {
		feature Feature
		weight  dtype.DType
		cached  bool
		n, v    int
	}{
		{AVX512, dtype.F32, true, 32, 64},
		{AVX512, dtype.F32, false, 32, 64},
		{AVX512, dtype.F16, true, 32, 64},
		{AVX512, dtype.F16, false, 32, 64},
		{AVX512BF16, dtype.BF16, false, 32, 64},
		{AVX512VNNI, dtype.Q8_0, true, 32, 32},
		{AVX512VNNI, dtype.Q8_0, false, 32, 32},
		{AVX512VNNI, dtype.Q4_0, true, 32, 32},
		{AVX512VNNI, dtype.Q4_0, false, 32, 32},
		{Generic, dtype.Q4_0, false, 16, 16},
	} {
		if got, want := Best(tt.feature, tt.weight, tt.cached), (Choice{tt.feature, tt.weight, tt.n, tt.v}); got != want {
			t.Errorf("in a cache: %v: the model takes %v, want %v", tt.cached, got, want)
		}
	}
}

// TestCycles gives the model loops that need much of one thing.
func TestCycles(t *testing.T) {
	for _, tt := range []struct {
		what string
		loop loop
		want float64 // the mean of both cores
	}{
		{"products", loop{feature: AVX512, dots: 16, vectors: 16}, 8},
		{"sums that wait", loop{feature: AVX512, dots: 16, chain: 40}, 40},
		{"loads", loop{feature: AVX512, loads: 30}, 15},
		{"loads of 256 bits", loop{feature: AVX2, loads: 30}, 12.5},
		{"other arithmetic", loop{feature: AVX512VNNI, dots: 4, vectors: 32}, 12},
		{"instructions", loop{feature: AVX2, instructions: 40}, 6.5},
	} {
		if got := tt.loop.cycles(); got != tt.want {
			t.Errorf("%s: %v cycles, want %v", tt.what, got, tt.want)
		}
	}
}
