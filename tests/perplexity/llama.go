package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// matrix is a weight matrix, or a vector with one row.
type matrix struct {
	rows, cols int
	data       []float64
}

func newMatrix(rows, cols int) matrix { return matrix{rows, cols, make([]float64, rows*cols)} }

func (m matrix) at(r, c int) float64     { return m.data[r*m.cols+c] }
func (m matrix) set(r, c int, x float64) { m.data[r*m.cols+c] = x }

// llama is a llama with as many heads of keys as of queries, and with weights of its own for the output.
type llama struct {
	keys    map[string]any // of the vocabulary
	weights map[string]matrix

	layers, width, ff, heads, context int
	epsilon                           float64
}

// readLlama reads a file.
func readLlama(path string) (*llama, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m := &llama{keys: make(map[string]any), weights: make(map[string]matrix)}
	for name, n := range map[string]*int{
		"block_count": &m.layers, "embedding_length": &m.width, "feed_forward_length": &m.ff,
		"attention.head_count": &m.heads, "context_length": &m.context,
	} {
		x, err := f.Int("llama." + name)
		if err != nil {
			return nil, err
		}
		*n = int(x)
	}
	if m.epsilon, err = f.Float("llama.attention.layer_norm_rms_epsilon"); err != nil {
		return nil, err
	}
	if err := m.readKeys(f); err != nil {
		return nil, err
	}
	return m, m.readWeights(f)
}

// readKeys reads the vocabulary.
func (m *llama) readKeys(f *gguf.File) error {
	const prefix = "tokenizer.ggml."
	tokens, err := f.Strings(prefix + "tokens")
	if err != nil {
		return err
	}
	scores, err := f.Float32s(prefix + "scores")
	if err != nil {
		return err
	}
	types, err := f.Int32s(prefix + "token_type")
	if err != nil {
		return err
	}
	m.keys = map[string]any{
		"model": "llama", "tokens": tokens, "scores": scores, "token_type": types,
		"unknown_token_id": uint32(0), "bos_token_id": uint32(1), "eos_token_id": uint32(2),
	}
	return nil
}

// readWeights reads tensors in F32.
func (m *llama) readWeights(f *gguf.File) error {
	for t := range f.Tensors() {
		if d, err := f.DType(t); err != nil || d != dtype.F32 || len(t.Shape) > 2 {
			return fmt.Errorf("%s: a matrix in F32 is needed: %v", t.Name, err)
		}
		data := make([]byte, t.Size)
		if err := f.ReadTensor(t, 0, data); err != nil {
			return err
		}
		w := newMatrix(t.Rows(), t.Shape[len(t.Shape)-1])
		for i := range w.data {
			w.data[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:])))
		}
		m.weights[t.Name] = w
	}
	if _, ok := m.weights["output.weight"]; !ok {
		return fmt.Errorf("%s: it has no matrix for the output", f.Name())
	}
	return nil
}

// write writes a file whose matrices have a format.
func (m *llama) write(path string, d dtype.DType) error {
	w := gguf.NewWriter()
	head := m.weights["blk.0.attn_q.weight"].rows / m.heads
	for k, v := range map[string]any{
		"general.architecture": "llama", "llama.block_count": uint32(m.layers), "llama.context_length": uint32(m.context),
		"llama.embedding_length": uint32(m.width), "llama.feed_forward_length": uint32(m.ff), "llama.attention.head_count": uint32(m.heads),
		"llama.attention.key_length": uint32(head), "llama.attention.value_length": uint32(head), "llama.rope.dimension_count": uint32(head),
		"llama.attention.layer_norm_rms_epsilon": float32(m.epsilon),
	} {
		w.Set(k, v)
	}
	for _, k := range slices.Sorted(maps.Keys(m.keys)) {
		w.Set("tokenizer.ggml."+k, m.keys[k])
	}
	for _, name := range slices.Sorted(maps.Keys(m.weights)) {
		if err := addTensor(w, name, m.weights[name], d); err != nil {
			return err
		}
	}
	return w.WriteFile(path)
}

// addTensor adds a matrix in a format, or a vector in F32.
func addTensor(w *gguf.Writer, name string, x matrix, d dtype.DType) error {
	shape := []int{x.rows, x.cols}
	if x.rows == 1 {
		d, shape = dtype.F32, shape[1:]
	}
	t, err := gguf.TypeOf(d)
	if err != nil {
		return err
	}
	single := make([]float32, len(x.data))
	for i, v := range x.data {
		single[i] = float32(v)
	}
	data := make([]byte, d.Bytes(len(single)))
	if err := dtype.Encode(d, data, single); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	w.Tensor(name, t, shape, func(out io.Writer) error {
		_, err := out.Write(data)
		return err
	})
	return nil
}
