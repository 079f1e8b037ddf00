package main

import (
	"math"

	"github.com/ggmlc/ggmlc/examples/stories/gemm"
)

// head is where one attention head finds its columns.
type head struct {
	q, kv int // first column in q and mixed, and in k and v
	probs []float32
}

func (l *lane) head(a *layerActs, h int) head {
	hd, t := l.cfg.headDim(), l.cfg.Context
	group := l.cfg.Heads / l.cfg.KVHeads
	return head{h * hd, h / group * hd, a.probs[h*t*t : (h+1)*t*t]}
}

// scoreScale is what queries times keys are multiplied with.
func (c Config) scoreScale() float32 {
	return float32(1 / math.Sqrt(float64(c.headDim())))
}

// attention sets a.mixed. Queries are taken a granule of rows at a time; such
// a block sees the positions up to its own end, and a mask does the rest.
func (l *lane) attention(a *layerActs) {
	c := l.cfg
	d, kv, hd, t := c.Dim, c.kvDim(), c.headDim(), c.Context
	clear(a.mixed[:l.n*d])
	for h := range c.Heads {
		at := l.head(a, h)
		l.transposeHead(l.kT, a.k, at.kv)
		for r := 0; r < l.n; r += rowGranule {
			seen := r + rowGranule
			probs := at.probs[r*t:]
			for i := range rowGranule {
				clear(probs[i*t : i*t+seen])
			}
			l.mul.Add(rowGranule, seen, hd, gemm.Rows(a.q[r*d+at.q:], d), l.kT, l.n, probs, t)
			for i := range rowGranule {
				causalSoftmax(probs[i*t:i*t+seen], r+i+1, c.scoreScale())
			}
			l.mul.Add(rowGranule, hd, seen, gemm.Rows(probs, t), a.v[at.kv:], kv, a.mixed[r*d+at.q:], d)
		}
	}
}

// transposeHead writes the head's columns of x (positions by kvDim) as rows.
func (l *lane) transposeHead(dst, x []float32, column int) {
	kv := l.cfg.kvDim()
	for i := range l.n {
		for j, v := range x[i*kv+column : i*kv+column+l.cfg.headDim()] {
			dst[j*l.n+i] = v
		}
	}
}

// causalSoftmax makes probabilities of the first visible scores and zeros of the rest.
func causalSoftmax(scores []float32, visible int, scale float32) {
	row := scores[:visible]
	for i := range row {
		row[i] *= scale
	}
	softmax(row)
	clear(scores[visible:])
}

// softmax replaces each x by exp(x) over the sum of all of them.
func softmax(row []float32) {
	top := row[0]
	for _, x := range row[1:] {
		top = max(top, x)
	}
	var sum float32
	for i, x := range row {
		e := exp(x - top)
		row[i] = e
		sum += e
	}
	inv := 1 / sum
	for i := range row {
		row[i] *= inv
	}
}
