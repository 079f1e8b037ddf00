package eval

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

func ropeTable(c *call) (Tensor, error) {
	pos, freqs := c.args[0].Flat(), c.args[1].Flat()
	scale := float64(attr[ir.RopeTableAttr](c).Scale)
	y := New(len(pos), len(freqs), 2)
	for t, p := range pos {
		for i, f := range freqs {
			sin, cos := math.Sincos(p * f)
			at := (t*len(freqs) + i) * 2
			y.Data[at], y.Data[at+1] = scale*cos, scale*sin
		}
	}
	return y, nil
}

func rope(c *call) (Tensor, error) {
	x, table := c.args[0].Tensor, c.args[1].Tensor
	heads, half, angles := x.Shape[1], table.Shape[1], table.Flat()
	neox := attr[ir.RopeAttr](c).NeoX
	t := 0 // head by head, as rows come
	return byRow(x, func(head []float64) {
		turns := angles[t/heads*half*2:]
		t++
		for i := range half {
			a, b := 2*i, 2*i+1
			if neox {
				a, b = i, i+half
			}
			cos, sin := turns[2*i], turns[2*i+1]
			head[a], head[b] = head[a]*cos-head[b]*sin, head[a]*sin+head[b]*cos
		}
	}), nil
}
