package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Model is what a model file holds: matrices in F16, norms in F32. Params are
// the float32 values of exactly that, in the order of weights.each.
type Model struct {
	Config Config
	Vocab  *Vocab
	Params []float32
}

// newModel rounds the matrices of params to F16, in place.
func newModel(c Config, v *Vocab, params []float32) *Model {
	c.bind(params).each(c, func(m matrix, part *[]float32) {
		if m.isNorm() {
			return
		}
		for i, x := range *part {
			(*part)[i] = dtype.F16ToF32(dtype.F32ToF16(x))
		}
	})
	return &Model{c, v, params}
}

func (m *Model) write(path string) error {
	w := gguf.NewWriter()
	m.describe(w)
	m.addTensors(w)
	return w.WriteFile(path)
}

// describe sets the metadata; the keys are those of the GGUF specification
// (docs/gguf.md in ggml-org/ggml).
func (m *Model) describe(w *gguf.Writer) {
	w.Set("general.architecture", "llama")
	w.Set("general.name", "ggmlc stories")
	w.Set("general.description", "tells tiny stories; trained by examples/stories of ggmlc on text of its own grammar")
	w.Set("general.license", "MIT")
	w.Set("general.file_type", uint32(1)) // mostly F16
	c := m.Config
	w.Set("llama.vocab_size", uint32(c.Vocab))
	w.Set("llama.context_length", uint32(c.Context))
	w.Set("llama.embedding_length", uint32(c.Dim))
	w.Set("llama.block_count", uint32(c.Layers))
	w.Set("llama.feed_forward_length", uint32(c.FF))
	w.Set("llama.attention.head_count", uint32(c.Heads))
	w.Set("llama.attention.head_count_kv", uint32(c.KVHeads))
	w.Set("llama.attention.layer_norm_rms_epsilon", c.Eps)
	w.Set("llama.rope.dimension_count", uint32(c.headDim()))
	w.Set("llama.rope.freq_base", c.RopeBase)
	m.Vocab.describe(w)
}

func (v *Vocab) describe(w *gguf.Writer) {
	w.Set("tokenizer.ggml.model", "llama")
	w.Set("tokenizer.ggml.tokens", v.Pieces)
	w.Set("tokenizer.ggml.scores", v.Scores)
	w.Set("tokenizer.ggml.token_type", v.Types)
	w.Set("tokenizer.ggml.unknown_token_id", uint32(unknownID))
	w.Set("tokenizer.ggml.bos_token_id", uint32(beginID))
	w.Set("tokenizer.ggml.eos_token_id", uint32(endID))
	w.Set("tokenizer.ggml.add_bos_token", true)
	w.Set("tokenizer.ggml.add_eos_token", false)
	w.Set("tokenizer.ggml.add_space_prefix", true)
}

func (m *Model) addTensors(w *gguf.Writer) {
	m.Config.bind(m.Params).each(m.Config, func(t matrix, part *[]float32) {
		values := t.fileOrder(*part)
		if t.isNorm() {
			w.Tensor(t.name, gguf.TensorF32, []int{t.cols}, func(out io.Writer) error {
				return binary.Write(out, binary.LittleEndian, values)
			})
			return
		}
		w.Tensor(t.name, gguf.TensorF16, t.fileShape(), func(out io.Writer) error {
			halves := make([]uint16, len(values))
			for i, x := range values {
				halves[i] = dtype.F32ToF16(x)
			}
			return binary.Write(out, binary.LittleEndian, halves)
		})
	})
}

// isEmbedding reports whether the matrix is a table of rows, which a file
// stores as it is; a linear layer is stored outputs by inputs.
func (m matrix) isEmbedding() bool { return m.name == "token_embd.weight" }

func (m matrix) fileShape() []int {
	switch {
	case m.isNorm():
		return []int{m.cols}
	case m.isEmbedding():
		return []int{m.rows, m.cols}
	}
	return []int{m.cols, m.rows}
}

func (m matrix) fileOrder(values []float32) []float32 {
	if m.isNorm() || m.isEmbedding() {
		return values
	}
	turned := make([]float32, len(values))
	transposeMatrix(turned, values, m.rows, m.cols)
	return turned
}

// readModel reads a file that write made.
func readModel(path string) (*Model, error) {
	f, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	k := keys{f: f}
	m := &Model{Config: k.config(), Vocab: k.vocab()}
	if k.err == nil {
		k.err = m.check(f.Tensors())
	}
	if k.err != nil {
		return nil, fmt.Errorf("%s: %w", path, k.err)
	}
	m.Params = make([]float32, m.Config.size())
	w := m.Config.bind(m.Params)
	w.each(m.Config, func(t matrix, part *[]float32) {
		if e := t.read(f, *part); e != nil {
			err = errors.Join(err, e)
		}
	})
	return m, err
}

// check refuses shapes that write never wrote and that the forward pass could
// not run, before it allocates memory for them.
func (m *Model) check(tensors iter.Seq[*gguf.Tensor]) error {
	c := m.Config
	for _, n := range []int{c.Dim, c.Layers, c.Heads, c.KVHeads, c.FF, c.Context} {
		if n < 1 || n > 1<<14 {
			return fmt.Errorf("a size of %d in the metadata: not a model of this tool", n)
		}
	}
	if c.Dim%(2*c.Heads) != 0 || c.Heads%c.KVHeads != 0 || c.Vocab != len(m.Vocab.Pieces) {
		return errors.New("head counts or vocabulary do not fit: not a model of this tool")
	}
	elements := 0
	for t := range tensors {
		elements += t.Elems()
	}
	if elements != c.size() {
		return fmt.Errorf("%d elements in the tensors, %d by the metadata: not a model of this tool", elements, c.size())
	}
	return nil
}

// keys reads metadata and keeps the first error.
type keys struct {
	f   *gguf.File
	err error
}

func (k *keys) int(name string) int {
	n, err := k.f.Int(name)
	k.keep(err)
	return int(n)
}

func (k *keys) float(name string) float32 {
	x, err := k.f.Float(name)
	k.keep(err)
	return float32(x)
}

func (k *keys) keep(err error) {
	if k.err == nil {
		k.err = err
	}
}

func (k *keys) config() Config {
	return Config{
		Vocab:    k.int("llama.vocab_size"),
		Dim:      k.int("llama.embedding_length"),
		Layers:   k.int("llama.block_count"),
		Heads:    k.int("llama.attention.head_count"),
		KVHeads:  k.int("llama.attention.head_count_kv"),
		FF:       k.int("llama.feed_forward_length"),
		Context:  k.int("llama.context_length"),
		Eps:      k.float("llama.attention.layer_norm_rms_epsilon"),
		RopeBase: k.float("llama.rope.freq_base"),
	}
}

func (k *keys) vocab() *Vocab {
	pieces, err := k.f.Strings("tokenizer.ggml.tokens")
	k.keep(err)
	if k.err == nil && len(pieces) < firstPiece {
		k.err = k.f.KeyError("tokenizer.ggml.tokens", "%d tokens: not a vocabulary of this tool", len(pieces))
	}
	if k.err != nil {
		return nil
	}
	return newVocab(pieces[firstPiece:])
}

// read fills values, in the order of training, from the file's tensor.
func (m matrix) read(f *gguf.File, values []float32) error {
	t, ok := f.Tensor(m.name)
	if !ok || t.Elems() != len(values) {
		return f.TensorError(m.name, "absent or not of %d elements: not a model of this tool", len(values))
	}
	data := make([]byte, t.Size)
	if err := f.ReadTensor(t, 0, data); err != nil {
		return err
	}
	stored := values
	if !m.isNorm() && !m.isEmbedding() {
		stored = make([]float32, len(values))
	}
	switch t.Type {
	case gguf.TensorF32:
		if _, err := binary.Decode(data, binary.LittleEndian, stored); err != nil {
			return fmt.Errorf("tensor %q: %w", m.name, err)
		}
	case gguf.TensorF16:
		for i := range stored {
			stored[i] = dtype.F16ToF32(binary.LittleEndian.Uint16(data[2*i:]))
		}
	default:
		return f.TensorError(m.name, "neither F32 nor F16: not a model of this tool")
	}
	if &stored[0] != &values[0] {
		transposeMatrix(values, stored, m.cols, m.rows)
	}
	return nil
}
