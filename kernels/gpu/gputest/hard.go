package gputest

import (
	"context"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/opcase"
)

// hardRows have numbers that comparisons of bits would order in another way, and rows of nothing else.
func hardRows(rows, n int) []float64 {
	hard := []float64{math.NaN(), math.Inf(-1), math.Copysign(0, -1), 0, -1, -1, math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 1, math.Inf(1), math.MaxFloat32}
	x := make([]float64, rows*n)
	for i := range x {
		r, at := i/n, i%n
		if r < len(hard) {
			x[i] = hard[r] // all are equal
		} else {
			x[i] = hard[(r*7+at*at)%len(hard)]
		}
	}
	return x
}

// hardTopK compares the largest elements of rows that have NaN, infinities, zeros of both signs and many that are equal.
func hardTopK(ctx context.Context, on Machine) error {
	const rows, n = 24, 700
	c := ir.Case{Args: []ir.CaseArg{f32(ir.Const(rows), ir.Const(n))}, Attr: &ir.TopKAttr{K: 5}}
	call, err := opcase.Case(ir.OpTopK, c, 1)
	if err != nil {
		return err
	}
	for _, x := range call.Env.Inputs {
		copy(x.Data, hardRows(rows, n))
	}
	return Compare(ctx, call, on, 7, ir.Tolerance{})
}
