package eval

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

func softmax(c *call) (Tensor, error) { return byRow(c.args[0].Tensor, softmaxRow), nil }

func softmaxRow(row []float64) {
	m, total := largest(row), 0.0
	for i, x := range row {
		row[i] = math.Exp(x - m)
		total += row[i]
	}
	for i := range row {
		row[i] /= total
	}
}

func rmsNorm(c *call) (Tensor, error) {
	return normRows(c, float64(attr[ir.NormAttr](c).Eps)), nil
}

// normRows returns operand 0 divided by the root of its mean square, times operand 1.
func normRows(c *call, eps float64) Tensor {
	w := c.args[1].Flat()
	return byRow(c.args[0].Tensor, func(row []float64) {
		var squares float64
		for _, x := range row {
			squares += x * x
		}
		r := 1 / math.Sqrt(squares/float64(len(row))+eps)
		for i := range row {
			row[i] *= r * w[i]
		}
	})
}

func layerNorm(c *call) (Tensor, error) {
	w, eps := c.args[1].Flat(), float64(attr[ir.NormAttr](c).Eps)
	b := make([]float64, len(w))
	if len(c.args) > 2 && c.node.Args[2] != nil {
		b = c.args[2].Flat()
	}
	return byRow(c.args[0].Tensor, func(row []float64) {
		m, variance := mean(row), 0.0
		for _, x := range row {
			variance += (x - m) * (x - m)
		}
		r := 1 / math.Sqrt(variance/float64(len(row))+eps)
		for i, x := range row {
			row[i] = (x-m)*r*w[i] + b[i]
		}
	}), nil
}
