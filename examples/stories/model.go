package main

import (
	"math"

	"github.com/ggmlc/ggmlc/examples/stories/gemm"
)

// rowGranule is the multiple of positions to which a sequence is padded, so
// that every product is made of whole tiles.
const rowGranule = 16

// lane computes losses and gradients of one sequence after the other. Lanes
// share the parameters and run at the same time.
type lane struct {
	cfg    Config
	params *weights // rows: inputs
	trans  *weights // the same matrices transposed
	rope   ropeTable
	mul    gemm.Multiplier

	n      int // positions of the present sequence, padded
	layers []layerActs
	last   []float32 // residual stream after the last layer
	normed []float32 // the same, normalized
	scale  []float32 // what each row was multiplied with for that
	logits []float32

	kT, vT []float32 // keys or values of one head, transposed
	back   backward
}

// layerActs is what the backward pass needs of a layer. Matrices have a row per position.
type layerActs struct {
	in, attnIn, q, k, v, probs, mixed []float32 // probs: heads by positions by positions
	mid, ffnIn, gate, up, hidden      []float32
	attnScale, ffnScale               []float32
}

func newLane(c Config, params, trans []float32) *lane {
	t, d, kv := c.Context, c.Dim, c.kvDim()
	l := &lane{
		cfg: c, params: c.bind(params), trans: c.bind(trans), rope: newRopeTable(c),
		layers: make([]layerActs, c.Layers),
		last:   make([]float32, t*d), normed: make([]float32, t*d), scale: make([]float32, t),
		logits: make([]float32, t*c.Vocab),
		kT:     make([]float32, t*c.headDim()), vT: make([]float32, t*c.headDim()),
		back: newBackward(c),
	}
	for i := range l.layers {
		l.layers[i] = layerActs{
			in: make([]float32, t*d), attnIn: make([]float32, t*d), q: make([]float32, t*d),
			k: make([]float32, t*kv), v: make([]float32, t*kv),
			probs: make([]float32, c.Heads*t*t), mixed: make([]float32, t*d),
			mid: make([]float32, t*d), ffnIn: make([]float32, t*d),
			gate: make([]float32, t*c.FF), up: make([]float32, t*c.FF), hidden: make([]float32, t*c.FF),
			attnScale: make([]float32, t), ffnScale: make([]float32, t),
		}
	}
	return l
}

// forward computes the logits of every position of tokens, at most Context many.
func (l *lane) forward(tokens []int32) {
	c := l.cfg
	l.n = (len(tokens) + rowGranule - 1) / rowGranule * rowGranule
	x := l.residual(0)
	for i := range l.n {
		id := int32(unknownID) // padding; nothing before it can see it
		if i < len(tokens) {
			id = tokens[i]
		}
		copy(x[i*c.Dim:(i+1)*c.Dim], l.params.embed[int(id)*c.Dim:])
	}
	for i := range l.layers {
		l.forwardLayer(i)
	}
	l.rmsNorm(l.normed, l.scale, l.last, l.params.norm)
	l.linear(l.logits, l.normed, l.trans.embed, c.Dim, c.Vocab)
}

// residual is the residual stream before layer i.
func (l *lane) residual(i int) []float32 {
	if i == l.cfg.Layers {
		return l.last
	}
	return l.layers[i].in
}

func (l *lane) forwardLayer(i int) {
	c, a, w := l.cfg, &l.layers[i], &l.params.layers[i]
	l.rmsNorm(a.attnIn, a.attnScale, a.in, w.attnNorm)
	l.linear(a.q, a.attnIn, w.q, c.Dim, c.Dim)
	l.linear(a.k, a.attnIn, w.k, c.Dim, c.kvDim())
	l.linear(a.v, a.attnIn, w.v, c.Dim, c.kvDim())
	l.rope.rotate(a.q, l.n, c.Dim, 1)
	l.rope.rotate(a.k, l.n, c.kvDim(), 1)
	l.attention(a)
	copy(a.mid, a.in[:l.n*c.Dim])
	l.addLinear(a.mid, a.mixed, w.o, c.Dim, c.Dim)

	l.rmsNorm(a.ffnIn, a.ffnScale, a.mid, w.ffnNorm)
	l.linear(a.gate, a.ffnIn, w.gate, c.Dim, c.FF)
	l.linear(a.up, a.ffnIn, w.up, c.Dim, c.FF)
	for j, g := range a.gate[:l.n*c.FF] {
		a.hidden[j] = g * sigmoid(g) * a.up[j]
	}
	out := l.residual(i + 1)
	copy(out, a.mid[:l.n*c.Dim])
	l.addLinear(out, a.hidden, w.down, c.FF, c.Dim)
}

// linear sets y to x·w for all positions; w is in by out.
func (l *lane) linear(y, x, w []float32, in, out int) {
	clear(y[:l.n*out])
	l.addLinear(y, x, w, in, out)
}

func (l *lane) addLinear(y, x, w []float32, in, out int) {
	l.mul.Add(l.n, out, in, gemm.Rows(x, in), w, out, y, out)
}

// rmsNorm sets y to x / sqrt(mean(x²)+eps) * w, row by row, and keeps the factors in scale.
func (l *lane) rmsNorm(y, scale, x, w []float32) {
	d := l.cfg.Dim
	for i := range l.n {
		row := x[i*d : (i+1)*d]
		var sum float32
		for _, v := range row {
			sum += v * v
		}
		s := 1 / float32(math.Sqrt(float64(sum/float32(d)+l.cfg.Eps)))
		scale[i] = s
		for j, v := range row {
			y[i*d+j] = v * s * w[j]
		}
	}
}

// loss returns the sum of the cross entropies in nats of targets, one for each
// token that forward got, and turns the logits into weight times its gradient.
func (l *lane) loss(targets []int32, weight float32) float64 {
	var sum float64
	v := l.cfg.Vocab
	clear(l.logits[len(targets)*v : l.n*v]) // padding has no gradient
	for i, target := range targets {
		row := l.logits[i*v : (i+1)*v]
		softmax(row)
		sum -= math.Log(max(float64(row[target]), 1e-30))
		row[target]--
		for j := range row {
			row[j] *= weight
		}
	}
	return sum
}
