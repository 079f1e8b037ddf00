package main

import (
	"math"
	"testing"
)

func TestExp(t *testing.T) {
	for x := float32(-86.9); x < 87.9; x += 0.0137 {
		want := math.Exp(float64(x))
		if got := float64(exp(x)); math.Abs(got-want) > 2e-7*want {
			t.Errorf("exp(%g) = %g, not %g", x, got, want)
		}
	}
	if exp(-100) != 0 || !math.IsInf(float64(exp(100)), 1) || exp(0) != 1 {
		t.Error("exp is wrong at 0 or beyond its range")
	}
}

func TestRotateBackwards(t *testing.T) {
	r := newRopeTable(Config{Dim: 16, Heads: 2, Context: 9, RopeBase: 100})
	x := make([]float32, 9*16)
	for i := range x {
		x[i] = float32(i%7) - 3
	}
	y := append([]float32(nil), x...)
	r.rotate(y, 9, 16, 1)
	if y[16] == x[16] || y[0] != x[0] {
		t.Error("position 0 must not turn, position 1 must")
	}
	r.rotate(y, 9, 16, -1)
	for i := range x {
		if math.Abs(float64(x[i]-y[i])) > 1e-5 {
			t.Fatalf("element %d: %g came back as %g", i, x[i], y[i])
		}
	}
}

func TestLearningRate(t *testing.T) {
	rates := []float32{
		learningRate(0, 100, 10, 1), learningRate(9, 100, 10, 1),
		learningRate(55, 100, 10, 1), learningRate(100, 100, 10, 1),
	}
	for i, want := range []float32{0.1, 1, 0.525, 0.05} {
		if math.Abs(float64(rates[i]-want)) > 1e-6 {
			t.Errorf("rate %d is %g, not %g", i, rates[i], want)
		}
	}
}
