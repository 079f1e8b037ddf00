package eval

import (
	"math"
)

func reduce(f func(row []float64) float64) evalFunc {
	return one(func(c *call) (Tensor, error) {
		x := c.args[0].Tensor
		flat, out := x.Flat(), New(replaceInner(x.Shape, 1)...)
		for i := range out.Data {
			out.Data[i] = f(x.row(flat, i))
		}
		return out, nil
	})
}

func sum(row []float64) float64 {
	var s float64
	for _, x := range row {
		s += x
	}
	return s
}

func mean(row []float64) float64 { return sum(row) / float64(len(row)) }

func largest(row []float64) float64 {
	m := math.Inf(-1)
	for _, x := range row {
		m = max(m, x)
	}
	return m
}
