package eval

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

func matMul(c *call) (Tensor, error) {
	y := product(c.args[0].Tensor, c.args[1].Tensor)
	if len(c.args) > 2 && c.node.Args[2] != nil {
		return zip(y, c.args[2].Tensor, func(a, b float64) float64 { return a + b })
	}
	return y, nil
}

func matMulSwiGLU(c *call) (Tensor, error) {
	x := c.args[0].Tensor
	y, err := zip(product(x, c.args[1].Tensor), product(x, c.args[2].Tensor), swiglu)
	if to := attr[ir.MatMulSwiGLUAttr](c).To; err == nil && to != dtype.F32 {
		return Round(to, y)
	}
	return y, err
}

// product returns x[…,K] times w[N,K], row by row.
func product(x, w Tensor) Tensor {
	xs, ws := x.Flat(), w.Flat()
	y := New(replaceInner(x.Shape, w.Shape[0])...)
	for i := range y.rows() {
		row, out := x.row(xs, i), y.row(y.Data, i)
		for j := range out {
			out[j] = dot(row, w.row(ws, j))
		}
	}
	return y
}

func dot(a, b []float64) float64 {
	var s float64
	for i, x := range a {
		s += x * b[i]
	}
	return s
}
