package ir

import (
	"math"
	"math/big"
	"testing"
)

// TestSumsAndProductsSaturate: sums and products of bounds that no int64 holds are the nearest one that there is, so
// that a size that is too large is never mistaken for a small or negative one.
func TestSumsAndProductsSaturate(t *testing.T) {
	values := []int64{math.MinInt64, math.MinInt64 + 1, -1 << 32, -3, -2, -1, 0, 1, 2, 3, 1 << 32, math.MaxInt64 - 1, math.MaxInt64}
	nearest := func(x *big.Int) int64 {
		switch {
		case x.IsInt64():
			return x.Int64()
		case x.Sign() < 0:
			return math.MinInt64
		}
		return math.MaxInt64
	}
	for _, a := range values {
		for _, b := range values {
			x, y := big.NewInt(a), big.NewInt(b)
			if got, want := satAdd(a, b), nearest(new(big.Int).Add(x, y)); got != want {
				t.Errorf("%d + %d = %d, want %d", a, b, got, want)
			}
			if a == math.MinInt64 || b == math.MinInt64 {
				continue // no bound is as low
			}
			if got, want := satMul(a, b), nearest(new(big.Int).Mul(x, y)); got != want {
				t.Errorf("%d * %d = %d, want %d", a, b, got, want)
			}
		}
	}
}

// TestFloorDivRoundsDown: also for negative numbers.
func TestFloorDivRoundsDown(t *testing.T) {
	for a := int64(-9); a <= 9; a++ {
		for _, b := range []int64{-4, -3, -1, 1, 3, 4} {
			if got, want := floorDiv(a, b), int64(math.Floor(float64(a)/float64(b))); got != want {
				t.Errorf("floor(%d/%d) = %d, want %d", a, b, got, want)
			}
		}
	}
}
