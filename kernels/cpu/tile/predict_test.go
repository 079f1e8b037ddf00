package tile

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestDefaultTilesAreThePredictedOnes has the tiles that the cost model takes. Package cpu's tests demand that its
// kernels use them.
func TestDefaultTilesAreThePredictedOnes(t *testing.T) {
	for _, tt := range []struct {
		feature Feature
		weight  dtype.DType
		n, v    int
	}{
		{AVX2, dtype.F32, 16, 64},
		{AVX512, dtype.F32, 32, 64},
		{AVX512, dtype.F16, 32, 64},
		{AVX512BF16, dtype.BF16, 32, 64},
		{AVX512VNNI, dtype.Q8_0, 32, 64},
		{AVX512VNNI, dtype.Q4_0, 32, 64},
		{Generic, dtype.Q4_0, 16, 16},
	} {
		if got, want := Choices(tt.feature, tt.weight)[0], (Choice{tt.feature, tt.weight, tt.n, tt.v}); got != want {
			t.Errorf("the model takes %v, want %v", got, want)
		}
	}
}

// TestPredictKnowsAssemblyTiles demands a prediction for every tile in assembly, and none for others. Tiles of formats
// with a scheme have none: those of several rows leave no choice, and of one row more panels are taken first.
func TestPredictKnowsAssemblyTiles(t *testing.T) {
	for _, e := range Table {
		for _, c := range Choices(e.Feature, e.Weight) {
			p, ok := Predict(c)
			if ok != (e.Feature != Generic && e.Weight.Scheme() == nil) {
				t.Errorf("%v: is it predicted? %v", c, ok)
			}
			t.Log(p)
		}
	}
}

// TestBF16IsAsFastAsF16 demands that products of several rows of bf16 begin as many multiply-adds a cycle as those of
// f16 on AVX2, in as many instructions: a program for all processors has bf16 weights for the processors that multiply
// bf16. One row waits for memory with either format.
func TestBF16IsAsFastAsF16(t *testing.T) {
	halves, pairs := Choices(AVX2, dtype.F16)[0], Choices(AVX2, dtype.BF16)[0]
	of16, _ := Predict(halves)
	ofBF16, _ := Predict(pairs)
	if ofBF16.MultiplyAdds < of16.MultiplyAdds {
		t.Errorf("%v, %v", ofBF16, of16)
	}
	if i, j := instructions(pairs), instructions(halves); i > j {
		t.Errorf("%v: %.2f instructions for a row and a k, %v has %.2f", pairs, i, halves, j)
	}
}

// instructions returns the instructions for one row of x, one panel and one k of the largest tile that a choice uses
// for several rows.
func instructions(c Choice) float64 {
	var largest loop
	for _, l := range loops {
		if l.feature == c.Feature && l.weight == c.Weight && l.panels == c.N/rows16 && l.rows > largest.rows {
			largest = l
		}
	}
	return float64(largest.instructions) / float64(largest.rows*largest.panels*largest.depth)
}

// TestCyclesAreThoseOfTheScarcestUnit gives the model loops that need much of one thing.
func TestCyclesAreThoseOfTheScarcestUnit(t *testing.T) {
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
