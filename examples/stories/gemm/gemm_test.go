package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func random(rng *rand.Rand, n int) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(rng.NormFloat64())
	}
	return s
}

// TestAddIsTheDefinitionToTheBit compares the tiled product with addGo, with
// borders of every kind, strides above the width and both forms of a.
func TestAddIsTheDefinitionToTheBit(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, d := range [][3]int{{4, 16, 1}, {1, 1, 1}, {5, 17, 9}, {8, 48, 33}, {3, 16, 7}, {4, 15, 7}, {64, 32, 128}} {
		m, n, k := d[0], d[1], d[2]
		for _, transposed := range []bool{false, true} {
			a := Rows(random(rng, m*(k+3)), k+3)
			if transposed {
				a = Transposed(random(rng, k*(m+5)), m+5)
			}
			b := random(rng, k*(n+1))
			got := random(rng, m*(n+2))
			want := slices.Clone(got)
			new(Multiplier).Add(m, n, k, a, b, n+1, got, n+2)
			addGo(0, m, 0, n, k, a, b, n+1, want, n+2)
			if !slices.Equal(got, want) {
				t.Errorf("%v, transposed %v: differs from the definition", d, transposed)
			}
		}
	}
}

func TestAddChecksBounds(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("a matrix that is too short was accepted")
		}
	}()
	s := make([]float32, 64)
	new(Multiplier).Add(4, 16, 5, Rows(s, 5), s, 16, s, 16)
}

func BenchmarkAdd(b *testing.B) {
	const m, n, k = 128, 352, 128
	rng := rand.New(rand.NewPCG(1, 2))
	x, y, z := random(rng, m*k), random(rng, k*n), make([]float32, m*n)
	var w Multiplier
	for b.Loop() {
		w.Add(m, n, k, Rows(x, k), y, n, z, n)
	}
	b.ReportMetric(2*m*n*k*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
