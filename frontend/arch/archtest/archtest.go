// Package archtest makes small random models of every architecture, with all features of each on. Their contents
// depend on their names alone, so that results of other programs can be kept as data.
package archtest

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Sizes of all models, but for those of Wide.
const (
	Width     = 64
	Vocab     = 48
	Positions = 256

	headCount, kvHeads, headSize = 4, 2, 16
	inner                        = 96 // of feed-forward parts
	expertCount, expertsUsed     = 4, 2
	window                       = 5 // positions, where layers have one
)

// sizes are those of a model that may differ.
type sizes struct{ width, headSize, inner int }

var (
	small = sizes{Width, headSize, inner}
	wide  = sizes{2 * Width, 2 * headSize, 2 * inner}
)

// Model is a model file.
type Model struct {
	Name    string
	Keys    []Key
	Tensors []Tensor
}

// Key is a key with its value.
type Key struct {
	Name  string
	Value any
}

// Tensor is a tensor, its outermost dimension first.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32

	Type   dtype.DType // of stored; Invalid: the file has Data as f32
	stored []byte      // what the file has instead, see Model.In
}

// Models returns the models of all architectures.
func Models() []Model { return Deep(1) }

// Deep returns the models of all architectures with that many times as many layers.
func Deep(times int) []Model { return models(times, small) }

// Wide returns the models of all architectures with states, heads and feed-forward parts of twice the width. Heads have 32
// elements then, as blocks of formats do.
func Wide() []Model { return models(1, wide) }

func models(times int, size sizes) []Model {
	var models []Model
	for _, s := range specs {
		models = append(models, s(times, size))
	}
	return models
}

// Prompts returns token ids to be evaluated, each from an empty cache.
func Prompts() [][]int32 {
	long := make([]int32, 12)
	for i := range long {
		long[i] = int32((7*i*i + 3*i + 5) % Vocab)
	}
	return [][]int32{long, {17}}
}

// Arch returns the architecture of a model.
func (m Model) Arch() string {
	i := slices.IndexFunc(m.Keys, func(k Key) bool { return k.Name == "general.architecture" })
	return m.Keys[i].Value.(string)
}

// WriteTo writes the file.
func (m Model) WriteTo(out io.Writer) (int64, error) {
	w := gguf.NewWriter()
	for _, k := range m.Keys {
		w.Set(k.Name, k.Value)
	}
	for _, t := range m.Tensors {
		if err := t.addTo(w); err != nil {
			return 0, err
		}
	}
	return w.WriteTo(out)
}

// addTo adds the tensor to a file.
func (t Tensor) addTo(w *gguf.Writer) error {
	if t.Type == dtype.Invalid {
		w.Tensor(t.Name, gguf.TensorF32, t.Shape, func(out io.Writer) error { return binary.Write(out, binary.LittleEndian, t.Data) })
		return nil
	}
	kind, err := gguf.TypeOf(t.Type)
	w.Tensor(t.Name, kind, t.Shape, func(out io.Writer) error { _, err := out.Write(t.stored); return err })
	return err
}

// spec makes a model with some times as many layers.
type spec func(times int, size sizes) Model

// maker makes a model.
type maker struct {
	Model
	sizes
	arch string
}

// start begins a model with the keys that all have.
func start(name, arch string, layers int, size sizes) *maker {
	m := &maker{Model{Name: name}, size, arch}
	m.Keys = append(m.Keys, Key{"general.architecture", arch}, Key{"general.name", name})
	m.set("vocab_size", uint32(Vocab))
	m.set("block_count", uint32(layers))
	m.set("context_length", uint32(Positions))
	m.set("embedding_length", uint32(m.width))
	m.set("attention.head_count", uint32(headCount))
	return m
}

// set sets a key of the architecture.
func (m *maker) set(name string, value any) {
	for i := range m.Keys {
		if m.Keys[i].Name == m.arch+"."+name {
			m.Keys[i].Value = value
			return
		}
	}
	m.Keys = append(m.Keys, Key{m.arch + "." + name, value})
}

// add appends a tensor with values in mean-spread to mean+spread.
func (m *maker) add(name string, mean, spread float64, shape ...int) {
	n := 1
	for _, d := range shape {
		n *= d
	}
	h := fnv.New64a()
	io.WriteString(h, m.Name+"/"+name)
	random := rand.New(rand.NewPCG(h.Sum64(), 20))
	data := make([]float32, n)
	for i := range data {
		data[i] = float32(mean + spread*(2*random.Float64()-1))
	}
	m.Tensors = append(m.Tensors, Tensor{Name: name, Shape: shape, Data: data})
}

// matrix appends matrices whose products have about the variance of their operand.
func (m *maker) matrix(name string, shape ...int) {
	m.add(name+".weight", 0, 1.2*math.Sqrt(3/float64(shape[len(shape)-1])), shape...)
}

// norm appends factors around 1.
func (m *maker) norm(name string, shape ...int) { m.add(name+".weight", 1, 0.4, shape...) }

// bias appends terms around 0.
func (m *maker) bias(name string, n int) { m.add(name+".bias", 0, 0.3, n) }

// layers calls add with the prefix of each layer.
func (m *maker) layers(n int, add func(prefix string)) {
	for i := range n {
		add(layerPrefix(i))
	}
}

// layerPrefix begins the names of a layer's tensors.
func layerPrefix(layer int) string { return fmt.Sprintf("blk.%d.", layer) }
