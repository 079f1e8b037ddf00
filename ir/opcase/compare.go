package opcase

import (
	"fmt"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// Difference is the difference between numbers and the expected ones.
type Difference struct {
	NMSE   float64 // sum of squared differences over the sum of squares of the expected numbers
	MaxAbs float64 // largest difference over the largest expected magnitude
	At     int     // index of that largest difference
}

// Measure compares slices of equal length. NaN is equal to NaN, and an infinity to the same one.
// Otherwise NaN and infinities are an infinite difference.
func Measure(got, want []float64) Difference {
	var d Difference
	var errors, squares, largest float64
	for i, w := range want {
		e := difference(got[i], w)
		errors += e * e
		if e > d.MaxAbs {
			d.MaxAbs, d.At = e, i
		}
		if !math.IsNaN(w) && !math.IsInf(w, 0) {
			squares += w * w
			largest = max(largest, math.Abs(w))
		}
	}
	d.NMSE, d.MaxAbs = ratio(errors, squares), ratio(d.MaxAbs, largest)
	return d
}

func difference(got, want float64) float64 {
	switch {
	case got == want, math.IsNaN(got) && math.IsNaN(want):
		return 0
	case math.IsNaN(got - want):
		return math.Inf(1)
	}
	return math.Abs(got - want)
}

// ratio returns a/b; 0 if both are 0, and infinity if only b is.
func ratio(a, b float64) float64 {
	if a == 0 {
		return 0
	}
	return a / b
}

// Compare returns an error if got differs from want in shape, or by more than the tolerance. The error
// names the largest difference.
func Compare(got, want eval.Tensor, tol ir.Tolerance) error {
	if !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("shape %v, want %v", got.Shape, want.Shape)
	}
	g, w := got.Flat(), want.Flat()
	d := Measure(g, w)
	switch {
	case d.NMSE > tol.NMSE:
		return fmt.Errorf("NMSE %.3g exceeds %.3g: element %d of %v is %v, want %v", d.NMSE, tol.NMSE, d.At, want.Shape, g[d.At], w[d.At])
	case tol.MaxAbs > 0 && d.MaxAbs > tol.MaxAbs:
		return fmt.Errorf("largest relative difference %.3g exceeds %.3g: element %d of %v is %v, want %v", d.MaxAbs, tol.MaxAbs, d.At, want.Shape, g[d.At], w[d.At])
	}
	return nil
}
