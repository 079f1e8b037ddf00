package main

import "github.com/ggmlc/ggmlc/examples/stories/gemm"

// backward holds the gradients of one lane.
type backward struct {
	flat []float32 // of all parameters, summed over sequences
	grad *weights  // its parts

	x, normed, q, k, v, mixed []float32 // of activations
	gate, up, hidden          []float32
	probs                     []float32 // of one block of rows
}

func newBackward(c Config) backward {
	t, d, kv := c.Context, c.Dim, c.kvDim()
	flat := make([]float32, c.size())
	return backward{
		flat: flat, grad: c.bind(flat),
		x: make([]float32, t*d), normed: make([]float32, t*d),
		q: make([]float32, t*d), k: make([]float32, t*kv), v: make([]float32, t*kv),
		mixed: make([]float32, t*d),
		gate:  make([]float32, t*c.FF), up: make([]float32, t*c.FF), hidden: make([]float32, t*c.FF),
		probs: make([]float32, rowGranule*t),
	}
}

// backward adds the gradients of the sequence that forward and loss just had.
func (l *lane) backward(tokens []int32) {
	c, b := l.cfg, &l.back
	l.linearBack(b.normed, l.logits, l.normed, l.params.embed, nil, c.Dim, c.Vocab)
	l.embedBack(l.logits, l.normed)
	clear(b.x[:l.n*c.Dim])
	l.rmsNormBack(b.grad.norm, b.normed, l.last, l.scale, l.params.norm)
	for i := c.Layers - 1; i >= 0; i-- {
		l.ffnBack(i)
		l.attentionBlockBack(i)
	}
	for i, id := range tokens {
		row := b.grad.embed[int(id)*c.Dim : (int(id)+1)*c.Dim]
		for j, g := range b.x[i*c.Dim : (i+1)*c.Dim] {
			row[j] += g
		}
	}
}

// embedBack adds the gradient of the embedding as the matrix that makes logits.
func (l *lane) embedBack(dLogits, x []float32) {
	c := l.cfg
	l.mul.Add(c.Vocab, c.Dim, l.n, gemm.Transposed(dLogits, c.Vocab), x, c.Dim, l.back.grad.embed, c.Dim)
}

// linearBack goes back through y = x·w: it sets dx and adds to dw, if there is
// one. wT is the transpose of w, out by in.
func (l *lane) linearBack(dx, dy, x, wT, dw []float32, in, out int) {
	clear(dx[:l.n*in])
	l.addLinearBack(dx, dy, x, wT, dw, in, out)
}

// addLinearBack is linearBack that adds to dx.
func (l *lane) addLinearBack(dx, dy, x, wT, dw []float32, in, out int) {
	l.mul.Add(l.n, in, out, gemm.Rows(dy, out), wT, in, dx, in)
	if dw != nil {
		l.mul.Add(in, out, l.n, gemm.Transposed(x, in), dy, out, dw, out)
	}
}

// rmsNormBack adds to the gradient of the residual stream, and to dw.
func (l *lane) rmsNormBack(dw, dy, x, scale, w []float32) {
	d := l.cfg.Dim
	for i := range l.n {
		x, dy, dx := x[i*d:(i+1)*d], dy[i*d:(i+1)*d], l.back.x[i*d:(i+1)*d]
		s := scale[i]
		var dot float32
		for j, g := range dy {
			dw[j] += g * x[j] * s
			dot += g * w[j] * x[j]
		}
		dot *= s * s / float32(d)
		for j, g := range dy {
			dx[j] += s * (g*w[j] - x[j]*dot)
		}
	}
}

func (l *lane) ffnBack(i int) {
	c, b, a := l.cfg, &l.back, &l.layers[i]
	w, wT, dw := &l.params.layers[i], &l.trans.layers[i], &b.grad.layers[i]
	l.linearBack(b.hidden, b.x, a.hidden, wT.down, dw.down, c.FF, c.Dim)
	for j, dh := range b.hidden[:l.n*c.FF] {
		g := a.gate[j]
		s := sigmoid(g)
		b.up[j] = dh * g * s
		b.gate[j] = dh * a.up[j] * s * (1 + g*(1-s))
	}
	l.linearBack(b.normed, b.gate, a.ffnIn, wT.gate, dw.gate, c.Dim, c.FF)
	l.addLinearBack(b.normed, b.up, a.ffnIn, wT.up, dw.up, c.Dim, c.FF)
	l.rmsNormBack(dw.ffnNorm, b.normed, a.mid, a.ffnScale, w.ffnNorm)
}

func (l *lane) attentionBlockBack(i int) {
	c, b, a := l.cfg, &l.back, &l.layers[i]
	w, wT, dw := &l.params.layers[i], &l.trans.layers[i], &b.grad.layers[i]
	l.linearBack(b.mixed, b.x, a.mixed, wT.o, dw.o, c.Dim, c.Dim)
	l.attentionBack(a)
	l.rope.rotate(b.q, l.n, c.Dim, -1)
	l.rope.rotate(b.k, l.n, c.kvDim(), -1)
	l.linearBack(b.normed, b.q, a.attnIn, wT.q, dw.q, c.Dim, c.Dim)
	l.addLinearBack(b.normed, b.k, a.attnIn, wT.k, dw.k, c.Dim, c.kvDim())
	l.addLinearBack(b.normed, b.v, a.attnIn, wT.v, dw.v, c.Dim, c.kvDim())
	l.rmsNormBack(dw.attnNorm, b.normed, a.in, a.attnScale, w.attnNorm)
}

// attentionBack sets the gradients of q, k and v from that of mixed.
func (l *lane) attentionBack(a *layerActs) {
	c, b := l.cfg, &l.back
	clear(b.q[:l.n*c.Dim])
	clear(b.k[:l.n*c.kvDim()])
	clear(b.v[:l.n*c.kvDim()])
	for h := range c.Heads {
		at := l.head(a, h)
		l.transposeHead(l.vT, a.v, at.kv)
		for r := 0; r < l.n; r += rowGranule {
			l.attentionRowsBack(a, at, r)
		}
	}
}

// attentionRowsBack goes back through rows r to r+rowGranule of one head.
func (l *lane) attentionRowsBack(a *layerActs, at head, r int) {
	c, b := l.cfg, &l.back
	d, kv, hd, t, seen := c.Dim, c.kvDim(), c.headDim(), c.Context, r+rowGranule
	probs, dMixed := at.probs[r*t:], b.mixed[r*d+at.q:]
	dProbs := b.probs[:rowGranule*seen]
	clear(dProbs)
	l.mul.Add(rowGranule, seen, hd, gemm.Rows(dMixed, d), l.vT, l.n, dProbs, seen)
	l.mul.Add(seen, hd, rowGranule, gemm.Transposed(probs, t), dMixed, d, b.v[at.kv:], kv)
	for i := range rowGranule {
		softmaxBack(dProbs[i*seen:(i+1)*seen], probs[i*t:], c.scoreScale())
	}
	l.mul.Add(rowGranule, hd, seen, gemm.Rows(dProbs, seen), a.k[at.kv:], kv, b.q[r*d+at.q:], d)
	l.mul.Add(seen, hd, rowGranule, gemm.Transposed(dProbs, seen), a.q[r*d+at.q:], d, b.k[at.kv:], kv)
}

// softmaxBack turns the gradient of probabilities into that of the scores before scaling.
func softmaxBack(grad, probs []float32, scale float32) {
	var dot float32
	for i, g := range grad {
		dot += g * probs[i]
	}
	for i, g := range grad {
		grad[i] = probs[i] * (g - dot) * scale
	}
}
