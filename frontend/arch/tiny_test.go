package arch

import (
	"bytes"
	"io"
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

// spec is a model file made by a test: keys and tensors in order, which may be changed before they are written.
type spec struct {
	keys    []key
	tensors []tensor
}

type key struct {
	name  string
	value any
}

type tensor struct {
	name  string
	typ   gguf.TensorType
	shape []int
	data  []byte // nil: zeros
}

// tiny returns a valid llama: two layers, width 64, four heads of 16 that share two heads of keys and values.
func tiny() *spec {
	s := &spec{keys: []key{
		{"general.architecture", "llama"},
		{"general.name", "tiny"},
		{"llama.block_count", uint32(2)},
		{"llama.context_length", uint32(128)},
		{"llama.embedding_length", uint32(64)},
		{"llama.feed_forward_length", uint32(96)},
		{"llama.attention.head_count", uint32(4)},
		{"llama.attention.head_count_kv", uint32(2)},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"llama.rope.dimension_count", uint32(16)},
	}}
	s.add("token_embd.weight", gguf.TensorF16, 48, 64)
	for i := range int64(2) {
		s.layer(i)
	}
	s.add("output_norm.weight", gguf.TensorF32, 64)
	s.add("output.weight", gguf.TensorF16, 48, 64)
	return s
}

func (s *spec) layer(i int64) {
	s.add(layerName(i, "attn_norm.weight"), gguf.TensorF32, 64)
	s.add(layerName(i, "attn_q.weight"), gguf.TensorF16, 64, 64)
	s.add(layerName(i, "attn_k.weight"), gguf.TensorF16, 32, 64)
	s.add(layerName(i, "attn_v.weight"), gguf.TensorF16, 32, 64)
	s.add(layerName(i, "attn_output.weight"), gguf.TensorF16, 64, 64)
	s.add(layerName(i, "ffn_norm.weight"), gguf.TensorF32, 64)
	s.add(layerName(i, "ffn_gate.weight"), gguf.TensorF16, 96, 64)
	s.add(layerName(i, "ffn_up.weight"), gguf.TensorF16, 96, 64)
	s.add(layerName(i, "ffn_down.weight"), gguf.TensorF16, 64, 96)
}

func (s *spec) add(name string, typ gguf.TensorType, shape ...int) {
	s.tensors = append(s.tensors, tensor{name: name, typ: typ, shape: shape})
}

// set gives a key a value. Keys of the architecture have their short name.
func (s *spec) set(name string, value any) {
	for i := range s.keys {
		if s.keys[i].name == name || s.keys[i].name == "llama."+name {
			s.keys[i].value = value
			return
		}
	}
	if name != "general.architecture" {
		name = "llama." + name
	}
	s.keys = append(s.keys, key{name, value})
}

// drop removes a key or a tensor.
func (s *spec) drop(name string) {
	s.keys = slices.DeleteFunc(s.keys, func(k key) bool { return k.name == name || k.name == "llama."+name })
	s.tensors = slices.DeleteFunc(s.tensors, func(t tensor) bool { return t.name == name })
}

// tensor returns a tensor, to be changed.
func (s *spec) tensor(name string) *tensor {
	i := slices.IndexFunc(s.tensors, func(t tensor) bool { return t.name == name })
	return &s.tensors[i]
}

// bytes returns the file.
func (s *spec) bytes(t testing.TB) []byte {
	t.Helper()
	w := gguf.NewWriter()
	for _, k := range s.keys {
		w.Set(k.name, k.value)
	}
	for _, x := range s.tensors {
		w.Tensor(x.name, x.typ, x.shape, func(out io.Writer) error {
			data := x.data
			if data == nil {
				elems, bytes := x.typ.Block()
				n := 1
				for _, d := range x.shape {
					n *= d
				}
				data = make([]byte, n/elems*bytes)
			}
			_, err := out.Write(data)
			return err
		})
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// file returns the file, opened as tiny.gguf.
func (s *spec) file(t testing.TB) *gguf.File {
	t.Helper()
	b := s.bytes(t)
	f, err := gguf.Read(bytes.NewReader(b), int64(len(b)), "tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// floats returns the bytes of f32 values.
func floats(values ...float32) []byte {
	var b []byte
	for _, v := range values {
		bits := math.Float32bits(v)
		b = append(b, byte(bits), byte(bits>>8), byte(bits>>16), byte(bits>>24))
	}
	return b
}
