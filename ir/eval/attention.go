package eval

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// attention is zero for a token that reads no position.
func attention(c *call) (Tensor, error) {
	q, v := c.args[0].Tensor, c.args[2].Tensor
	sinks := floatsOf(c, 6)
	y := New(q.Shape[0], q.Shape[1], v.Shape[3])
	err := eachQuery(c, func(t, h int, x query) {
		var sink []float64
		if sinks != nil {
			sink = sinks[h : h+1]
		}
		attend(y.row(y.Data, t*q.Shape[1]+h), x, sink)
	})
	return y, err
}

// positionsOf returns how many positions the sequences of a state have.
func positionsOf(n *ir.Node, state Tensor) int {
	if ring := ir.RingOf(n); ring > 0 {
		return int(ring)
	}
	return state.Shape[2]
}

// floatsOf returns the elements of operand i; nil if it is absent.
func floatsOf(c *call, i int) []float64 {
	if i >= len(c.args) {
		return nil
	}
	return c.args[i].Flat()
}

// query is a head of a token with the positions that it reads: those in first..seen-1.
type query struct {
	q           []float64
	first, seen int
	pos         int // its own
	at          func(p int) (key, value []float64)
	scoring     ir.Scoring
	slope       float64 // of the bias by distance
}

// score returns the score of a position.
func (x query) score(p int) float64 {
	key, _ := x.at(p)
	z := float64(x.scoring.Scale) * dot(x.q, key)
	if most := float64(x.scoring.Cap); most > 0 {
		z = most * math.Tanh(z/most)
	}
	return z - x.slope*math.Abs(float64(p-x.pos))
}

// eachQuery calls visit for each token and head of the operands of an attention.
func eachQuery(c *call, visit func(t, h int, x query)) error {
	q, k, v := c.args[0].Tensor, c.args[1].Tensor, c.args[2].Tensor
	slots, positions, lengths := c.args[3].Flat(), c.args[4].Flat(), c.args[5].Flat()
	group, scoring := q.Shape[1]/k.Shape[1], ir.ScoringOf(c.node)
	queries, keys, values := q.Flat(), k.Flat(), v.Flat()
	for t := range q.Shape[0] {
		slot, err := index(slots, t, k.Shape[0], "slot")
		if err != nil {
			return err
		}
		pos, err := index(positions, t, positionsOf(c.node, k), "pos")
		if err != nil {
			return err
		}
		x := query{seen: max(0, min(pos+1, int(lengths[slot]))), pos: pos, scoring: scoring}
		if scoring.Window > 0 {
			x.first = max(0, pos+1-int(scoring.Window))
		}
		if around := int(scoring.Around); around > 0 {
			x.pos = sameBefore(slots, t)
			x.first, x.seen = max(0, x.pos-around), min(x.seen, x.pos+around+1)
		}
		for h := range q.Shape[1] {
			// The rows of a cache are the positions of each head of each slot, in this order.
			first := (slot*k.Shape[1] + h/group) * k.Shape[2]
			x.q = q.row(queries, t*q.Shape[1]+h)
			x.at = func(p int) (key, value []float64) {
				return k.row(keys, first+p%k.Shape[2]), v.row(values, first+p%k.Shape[2])
			}
			if scoring.Alibi > 0 {
				x.slope = ir.AlibiSlope(scoring.Alibi, scoring.Head+int64(h), scoring.Heads)
			}
			visit(t, h, x)
		}
	}
	return nil
}

// sameBefore returns how many tokens directly before token t have its slot.
func sameBefore(slots []float64, t int) int {
	n := 0
	for n < t && slots[t-1-n] == slots[t] {
		n++
	}
	return n
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
			part := x
			part.first, part.seen = max(x.first, s*int(a.Len)), min(x.seen, (s+1)*int(a.Len))
			row := ((h/group*segments+s)*shape[1]+t)*group + h%group
			sumSegment(y.row(y.Data, row), part)
		}
	})
	return y, err
}

// sumSegment writes the row of sums over the positions of x.
func sumSegment(row []float64, x query) {
	out, tail := row[:len(row)-2], row[len(row)-2:]
	scores, largest := make([]float64, max(0, x.seen-x.first)), math.Inf(-1)
	for i := range scores {
		scores[i] = math.Log2E * x.score(x.first+i)
		largest = max(largest, scores[i])
	}
	tail[0] = largest
	for i, z := range scores {
		w := math.Exp2(z - largest)
		tail[1] += w
		_, value := x.at(x.first + i)
		for i, v := range value {
			out[i] += w * v
		}
	}
}

func attentionCombine(c *call) (Tensor, error) {
	x, kvHeads := c.args[0].Tensor, int(attr[ir.AttentionCombineAttr](c).KVHeads)
	segments, tokens, group := x.Shape[0]/kvHeads, x.Shape[1], x.Shape[2]
	flat, y, sinks := x.Flat(), New(tokens, kvHeads*group, x.Inner()-2), floatsOf(c, 1)
	for t := range tokens {
		for h := range kvHeads * group {
			rows := make([][]float64, segments)
			for s := range rows {
				rows[s] = x.row(flat, ((h/group*segments+s)*tokens+t)*group+h%group)
			}
			if sinks != nil { // a row without values
				rows = append(rows, append(make([]float64, x.Inner()-2), math.Log2E*sinks[h], 1))
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

// attend adds to out the values of the positions that x reads, weighted by the softmax of their scores and of the sink,
// if there is one.
func attend(out []float64, x query, sink []float64) {
	n := max(0, x.seen-x.first)
	weights := make([]float64, n, n+1)
	for i := range weights {
		weights[i] = x.score(x.first + i)
	}
	weights = append(weights, sink...)
	softmaxRow(weights)
	for i, w := range weights[:n] {
		_, value := x.at(x.first + i)
		for i, v := range value {
			out[i] += w * v
		}
	}
}
