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

// attention is zero where a token may look at no position at all.
func attention(c *call) (Tensor, error) {
	q, k, v := c.args[0].Tensor, c.args[1].Tensor, c.args[2].Tensor
	slots, positions, lengths := c.args[3].Flat(), c.args[4].Flat(), c.args[5].Flat()
	scale, group := float64(attr[ir.AttentionAttr](c).Scale), q.Shape[1]/k.Shape[1]
	queries, keys, values := q.Flat(), k.Flat(), v.Flat()

	y := New(q.Shape[0], q.Shape[1], v.Shape[3])
	for t := range q.Shape[0] {
		slot, err := index(slots, t, k.Shape[0], "slot")
		if err != nil {
			return Tensor{}, err
		}
		pos, err := index(positions, t, k.Shape[2], "pos")
		if err != nil {
			return Tensor{}, err
		}
		seen := max(0, min(pos+1, int(lengths[slot])))
		for h := range q.Shape[1] {
			// Rows of the caches are positions of one head of one slot, one after another.
			first := (slot*k.Shape[1] + h/group) * k.Shape[2]
			head := t*q.Shape[1] + h
			attend(y.row(y.Data, head), q.row(queries, head), scale, seen,
				func(p int) (key, value []float64) { return k.row(keys, first+p), v.row(values, first+p) })
		}
	}
	return y, nil
}

// attend adds the values of the seen positions to out, weighted by the softmax of the
// scaled products of their keys with q.
func attend(out, q []float64, scale float64, seen int, at func(p int) (key, value []float64)) {
	weights := make([]float64, seen)
	for p := range weights {
		key, _ := at(p)
		weights[p] = scale * dot(q, key)
	}
	softmaxRow(weights)
	for p, w := range weights {
		_, value := at(p)
		for i, x := range value {
			out[i] += w * x
		}
	}
}
