package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

func topK(c *call) (Tensor, error) {
	x, k := c.args[0].Tensor, attr[ir.TopKAttr](c).K
	flat, y := x.Flat(), New(replaceInner(x.Shape, k)...)
	order := make([]int, x.Inner())
	for r := range x.rows() {
		for i := range order {
			order[i] = i
		}
		row := x.row(flat, r)
		// cmp.Compare puts NaN below all numbers; the sort keeps equal elements in order.
		slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(row[j], row[i]) })
		for i, out := 0, y.row(y.Data, r); i < k; i++ {
			out[i] = float64(order[i])
		}
	}
	return y, nil
}

func expertsMatMul(c *call) (Tensor, error) {
	x, w, idx := c.args[0].Tensor, c.args[1].Tensor, c.args[2].Flat()
	choices := c.args[2].Shape[1]
	xs, ws := x.Flat(), w.Flat()
	y := New(x.Shape[0], choices, w.Shape[1])
	for i := range idx {
		e, err := index(idx, i, w.Shape[0], "idx")
		if err != nil {
			return Tensor{}, err
		}
		row, out := x.row(xs, i/choices*x.Shape[1]+i%choices%x.Shape[1]), y.row(y.Data, i)
		for j := range out {
			out[j] = dot(row, w.row(ws, e*w.Shape[1]+j))
		}
	}
	return y, nil
}

func expertsSum(c *call) (Tensor, error) {
	y, p := c.args[0].Tensor, c.args[1].Flat()
	ys, z := y.Flat(), New(y.Shape[0], y.Shape[2])
	for i, share := range p {
		out := z.row(z.Data, i/y.Shape[1])
		for j, v := range y.row(ys, i) {
			out[j] += share * v
		}
	}
	return z, nil
}

// copyExperts writes NaN to bytes that the op leaves undefined, so that a node that reads them shows
// it.
func copyExperts(c *call) (Tensor, error) {
	w, idx := c.args[0].Tensor, c.args[1].Flat()
	from, y := w.Flat(), New(w.Shape...)
	for i := range y.Data {
		y.Data[i] = math.NaN()
	}
	size := len(from) / max(w.Shape[0], 1)
	for i := range idx {
		e, err := index(idx, i, w.Shape[0], "idx")
		if err != nil {
			return Tensor{}, err
		}
		copy(y.Data[e*size:(e+1)*size], from[e*size:])
	}
	return y, nil
}
