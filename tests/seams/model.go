package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// shape is the size of a random llama.
type shape struct {
	embd, ff, vocab, layers int
	heads, kvHeads, head    int
	rotated                 int // elements of a head that rope rotates
	context                 int
	tied, factors           bool
	stored                  dtype.DType
}

// randomShape draws sizes, some of which are multiples of blocks and tiles.
func randomShape(d draw) shape {
	s := shape{layers: pick(d, 1, 2, 2, 3, 3), vocab: pick(d, 17, 35, 64, 130, 257), context: pick(d, 64, 70, 100, 600),
		tied: d.oneIn(3), factors: d.oneIn(4), kvHeads: pick(d, 1, 1, 2, 3)}
	s.heads = s.kvHeads * pick(d, 1, 2, 3)
	s.stored = pick(d, storedTypes()...)
	s.embd, s.ff, s.head = pick(d, 24, 40, 72), pick(d, 37, 51, 100), pick(d, 8, 10, 24)
	if s.stored.BlockElems() > 1 || d.oneIn(2) {
		s.embd, s.ff, s.head = pick(d, 32, 64, 96), pick(d, 64, 96, 160), pick(d, 32, 32, 64)
	}
	if s.stored.BlockElems() > 32 {
		s.embd, s.ff = 256, pick(d, 256, 256, 512)
	}
	s.rotated = s.head
	if d.oneIn(4) {
		s.rotated = s.head / 4 * 2
	}
	return s
}

// storedTypes returns the formats of matrices: each format of floats twice, and the formats in blocks, including
// expanded ones.
func storedTypes() []dtype.DType {
	types := slices.Repeat([]dtype.DType{dtype.F32, dtype.F16, dtype.BF16}, 2)
	for t := range dtype.NumDTypes {
		if t.Valid() && t.IsQuantized() && !t.IsExpansion() && !t.IsActivation() {
			types = append(types, t)
		}
	}
	return types
}

// randomModel writes the n-th random llama to a file.
func randomModel(n uint64, path string) (*subject, error) {
	d := newDraw(n, 77)
	m := modelWriter{shape: randomShape(d), d: d, w: gguf.NewWriter()}
	m.keys()
	m.matrix("token_embd.weight", m.vocab, m.embd, 1)
	if m.factors {
		m.vector("rope_freqs.weight", m.rotated/2, 1.5)
	}
	for i := range m.layers {
		m.layer(fmt.Sprintf("blk.%d.", i))
	}
	m.vector("output_norm.weight", m.embd, 1)
	if !m.tied {
		m.matrix("output.weight", m.vocab, m.embd, 0)
	}
	if m.err != nil {
		return nil, m.err
	}
	s := &subject{name: fmt.Sprintf("random%d", n), path: path, layers: m.layers, kvs: []string{"f16", "f32"}, calls: prompts(m.vocab, m.context)}
	if m.head%32 == 0 {
		s.kvs = append(s.kvs, "q8_0", "q4_0")
	}
	s.oddHeads = m.head%16 != 0
	s.rounds = m.stored != dtype.F32 && m.stored != dtype.F16
	s.quantizes = m.embd%32 == 0 && m.stored.BlockElems() == 1
	return s, m.w.WriteFile(path)
}

// modelWriter collects keys and tensors.
type modelWriter struct {
	shape
	d   draw
	w   *gguf.Writer
	err error
}

func (m *modelWriter) keys() {
	m.w.Set("general.architecture", "llama")
	for _, k := range []struct {
		name  string
		value int
	}{
		{"block_count", m.layers}, {"embedding_length", m.embd}, {"feed_forward_length", m.ff}, {"context_length", m.context},
		{"attention.head_count", m.heads}, {"attention.head_count_kv", m.kvHeads}, {"attention.key_length", m.head},
		{"attention.value_length", m.head}, {"rope.dimension_count", m.rotated},
	} {
		m.w.Set("llama."+k.name, uint32(k.value))
	}
	m.w.Set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
}

func (m *modelWriter) layer(prefix string) {
	m.vector(prefix+"attn_norm.weight", m.embd, 1)
	m.matrix(prefix+"attn_q.weight", m.heads*m.head, m.embd, 0)
	m.matrix(prefix+"attn_k.weight", m.kvHeads*m.head, m.embd, 0)
	m.matrix(prefix+"attn_v.weight", m.kvHeads*m.head, m.embd, 0)
	m.matrix(prefix+"attn_output.weight", m.embd, m.heads*m.head, 0)
	m.vector(prefix+"ffn_norm.weight", m.embd, 1)
	m.matrix(prefix+"ffn_gate.weight", m.ff, m.embd, 0)
	m.matrix(prefix+"ffn_up.weight", m.ff, m.embd, 0)
	m.matrix(prefix+"ffn_down.weight", m.embd, m.ff, 0)
}

// matrix adds random numbers of a scale. A scale of 0 is chosen so that products keep the size of their operand.
func (m *modelWriter) matrix(name string, rows, cols int, scale float64) {
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(cols))
	}
	stored := m.stored
	if cols%stored.BlockElems() != 0 {
		stored = dtype.F16
	}
	if stored.Expansion().Valid() {
		m.add(name, stored, []int{rows, cols}, m.blocks(stored, rows*cols, scale))
		return
	}
	m.tensor(name, stored, []int{rows, cols}, func() float64 { return m.d.NormFloat64() * scale })
}

// vector adds positive numbers around a mean.
func (m *modelWriter) vector(name string, n int, mean float64) {
	m.tensor(name, dtype.F32, []int{n}, func() float64 { return mean * (0.75 + m.d.Float64()/2) })
}

func (m *modelWriter) tensor(name string, t dtype.DType, shape []int, number func() float64) {
	n := 1
	for _, s := range shape {
		n *= s
	}
	values := make([]float32, n)
	for i := range values {
		values[i] = float32(number())
	}
	data, err := encode(t, values)
	if err != nil {
		m.err = err
		return
	}
	m.add(name, t, shape, data)
}

// blocks returns n elements of a format that nothing is encoded to: random bits, with scales of about a scale. That of
// IQ1_M is in the upper halves of the last four bytes with odd offsets.
func (m *modelWriter) blocks(t dtype.DType, n int, scale float64) []byte {
	data := make([]byte, t.Bytes(n))
	for i := range data {
		data[i] = byte(m.d.Uint32())
	}
	for at := 0; at < len(data); at += t.BlockBytes() {
		block, h := data[at:][:t.BlockBytes()], dtype.F32ToF16(float32(scale*(0.01+0.1*m.d.Float64())))
		for _, offset := range t.ScaleOffsets() {
			binary.LittleEndian.PutUint16(block[offset:], h)
		}
		if t == dtype.IQ1_M {
			for i := range 4 {
				b := &block[49+2*i]
				*b = *b&15 | byte(h>>(4*i)&15)<<4
			}
		}
	}
	return data
}

// add adds a tensor of the given bytes.
func (m *modelWriter) add(name string, t dtype.DType, shape []int, data []byte) {
	typ, err := gguf.TypeOf(t)
	if err != nil {
		m.err = err
		return
	}
	m.w.Tensor(name, typ, shape, func(out io.Writer) error { _, err := out.Write(data); return err })
}

// encode returns the bytes of numbers.
func encode(t dtype.DType, values []float32) ([]byte, error) {
	data := make([]byte, t.Bytes(len(values)))
	return data, dtype.Encode(t, data, values)
}
