package main

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Config is the shape of a model of the llama architecture.
type Config struct {
	Vocab, Dim, Layers, Heads, KVHeads, FF, Context int

	Eps, RopeBase float32
}

func (c Config) headDim() int { return c.Dim / c.Heads }
func (c Config) kvDim() int   { return c.KVHeads * c.headDim() }

// matrix describes one parameter. Linear layers have rows inputs and cols
// outputs while training; GGUF stores them transposed. A norm has one row.
type matrix struct {
	name       string // GGUF's
	rows, cols int
	std        float64 // of its first values; 0: all ones
}

func (m matrix) isNorm() bool { return m.std == 0 }

// weights names the parts of one flat slice: the parameters, their gradient,
// or the parameters with every matrix transposed.
type weights struct {
	embed, norm []float32 // the embedding also makes the logits
	layers      []layerWeights
}

type layerWeights struct {
	attnNorm, q, k, v, o    []float32
	ffnNorm, gate, up, down []float32
}

// each calls f for every parameter, in the order of memory and file.
func (w *weights) each(c Config, f func(m matrix, part *[]float32)) {
	d, kv := c.Dim, c.kvDim()
	in := 1 / math.Sqrt(float64(d))
	out := in / math.Sqrt(float64(2*c.Layers)) // what is added to the residual stays small
	f(matrix{"token_embd.weight", c.Vocab, d, 0.05}, &w.embed)
	for i := range w.layers {
		l, name := &w.layers[i], fmt.Sprintf("blk.%d.", i)
		f(matrix{name + "attn_norm.weight", 1, d, 0}, &l.attnNorm)
		f(matrix{name + "attn_q.weight", d, d, in}, &l.q)
		f(matrix{name + "attn_k.weight", d, kv, in}, &l.k)
		f(matrix{name + "attn_v.weight", d, kv, in}, &l.v)
		f(matrix{name + "attn_output.weight", d, d, out}, &l.o)
		f(matrix{name + "ffn_norm.weight", 1, d, 0}, &l.ffnNorm)
		f(matrix{name + "ffn_gate.weight", d, c.FF, in}, &l.gate)
		f(matrix{name + "ffn_up.weight", d, c.FF, in}, &l.up)
		f(matrix{name + "ffn_down.weight", c.FF, d, out}, &l.down)
	}
	f(matrix{"output_norm.weight", 1, d, 0}, &w.norm)
}

// size is the number of parameters.
func (c Config) size() (n int) {
	w := weights{layers: make([]layerWeights, c.Layers)}
	w.each(c, func(m matrix, _ *[]float32) { n += m.rows * m.cols })
	return n
}

// bind returns the named parts of data, which holds size() elements.
func (c Config) bind(data []float32) *weights {
	w := &weights{layers: make([]layerWeights, c.Layers)}
	w.each(c, func(m matrix, part *[]float32) {
		n := m.rows * m.cols
		*part, data = data[:n:n], data[n:]
	})
	return w
}

// initialize fills the parameters with the random values that seed names.
func (c Config) initialize(w *weights, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0x706172616d73)) // "params"
	w.each(c, func(m matrix, part *[]float32) {
		for i := range *part {
			(*part)[i] = 1
			if !m.isNorm() {
				(*part)[i] = float32(rng.NormFloat64() * m.std)
			}
		}
	})
}

// transpose writes the transpose of every matrix of the flat src to dst.
func (c Config) transpose(dst, src []float32) {
	w := c.bind(src)
	w.each(c, func(m matrix, part *[]float32) {
		transposeMatrix(dst, *part, m.rows, m.cols)
		dst = dst[len(*part):]
	})
}

// transposeMatrix writes the transpose of src (rows by cols) to dst.
func transposeMatrix(dst, src []float32, rows, cols int) {
	for i := range rows {
		for j, x := range src[i*cols : (i+1)*cols] {
			dst[j*rows+i] = x
		}
	}
}
