package eval

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// attention is zero for a token that reads no position.
func attention(c *call) (Tensor, error) {
	q, v := c.args[0].Tensor, c.args[2].Tensor
	scale := float64(attr[ir.AttentionAttr](c).Scale)
	y := New(q.Shape[0], q.Shape[1], v.Shape[3])
	err := eachQuery(c, func(t, h int, x query) {
		attend(y.row(y.Data, t*q.Shape[1]+h), x.q, scale, x.seen, x.at)
	})
	return y, err
}

// query is a head of a token with the positions that it reads.
type query struct {
	q    []float64
	seen int
	at   func(p int) (key, value []float64)
}

// eachQuery calls visit for each token and head of the operands of an attention.
func eachQuery(c *call, visit func(t, h int, x query)) error {
	q, k, v := c.args[0].Tensor, c.args[1].Tensor, c.args[2].Tensor
	slots, positions, lengths := c.args[3].Flat(), c.args[4].Flat(), c.args[5].Flat()
	group := q.Shape[1] / k.Shape[1]
	queries, keys, values := q.Flat(), k.Flat(), v.Flat()
	for t := range q.Shape[0] {
		slot, err := index(slots, t, k.Shape[0], "slot")
		if err != nil {
			return err
		}
		pos, err := index(positions, t, k.Shape[2], "pos")
		if err != nil {
			return err
		}
		seen := max(0, min(pos+1, int(lengths[slot])))
		for h := range q.Shape[1] {
			// The rows of a cache are the positions of each head of each slot, in this order.
			first := (slot*k.Shape[1] + h/group) * k.Shape[2]
			visit(t, h, query{q.row(queries, t*q.Shape[1]+h), seen,
				func(p int) (key, value []float64) { return k.row(keys, first+p), v.row(values, first+p) }})
		}
	}
	return nil
}

// attentionSegments computes the sums of each segment relative to its largest score.
func attentionSegments(c *call) (Tensor, error) {
	a := attr[ir.AttentionSegmentsAttr](c)
	shape, err := c.dims(c.node.Result().Type.Shape)
	if err != nil {
		return Tensor{}, err
	}
	y, kvHeads := New(shape...), c.args[1].Shape[1]
	segments, group := shape[0]/kvHeads, shape[2]
	err = eachQuery(c, func(t, h int, x query) {
		for s := range segments {
			first := s * int(a.Len)
			seen := max(0, min(x.seen-first, int(a.Len)))
			row := ((h/group*segments+s)*shape[1]+t)*group + h%group
			sumSegment(y.row(y.Data, row), x, float64(a.Scale)*math.Log2E, first, seen)
		}
	})
	return y, err
}

// sumSegment writes the row of sums over the seen positions from first on.
func sumSegment(row []float64, x query, scale float64, first, seen int) {
	out, tail := row[:len(row)-2], row[len(row)-2:]
	scores, largest := make([]float64, seen), math.Inf(-1)
	for p := range scores {
		key, _ := x.at(first + p)
		scores[p] = scale * dot(x.q, key)
		largest = max(largest, scores[p])
	}
	tail[0] = largest
	for p, z := range scores {
		w := math.Exp2(z - largest)
		tail[1] += w
		_, value := x.at(first + p)
		for i, v := range value {
			out[i] += w * v
		}
	}
}

func attentionCombine(c *call) (Tensor, error) {
	x, kvHeads := c.args[0].Tensor, int(attr[ir.AttentionCombineAttr](c).KVHeads)
	segments, tokens, group := x.Shape[0]/kvHeads, x.Shape[1], x.Shape[2]
	flat, y := x.Flat(), New(tokens, kvHeads*group, x.Inner()-2)
	for t := range tokens {
		for h := range kvHeads * group {
			rows := make([][]float64, segments)
			for s := range rows {
				rows[s] = x.row(flat, ((h/group*segments+s)*tokens+t)*group+h%group)
			}
			combineRows(y.row(y.Data, t*kvHeads*group+h), rows)
		}
	}
	return y, nil
}

// combineRows adds the rows of sums and divides by the sum of weights.
func combineRows(out []float64, rows [][]float64) {
	d, largest, sum := len(out), math.Inf(-1), 0.0
	for _, r := range rows {
		largest = max(largest, r[d])
	}
	for _, r := range rows {
		if r[d+1] == 0 {
			continue
		}
		w := math.Exp2(r[d] - largest)
		sum += w * r[d+1]
		for i := range out {
			out[i] += w * r[i]
		}
	}
	for i := range out {
		if sum != 0 {
			out[i] /= sum
		}
	}
}

// attend adds to out the values of the seen positions, weighted by the softmax of the scaled products
// of their keys with q.
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
