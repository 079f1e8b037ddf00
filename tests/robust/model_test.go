package robust

import (
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/gguf"
)

// Sizes of the tiny llama.
const (
	embd, ff, vocab = 64, 96, 70
	headCount       = 4
	trained         = 4096
)

// tiny writes a llama of one layer whose matrices are F32. edit may change its keys or tensors before that.
func tiny(t testing.TB, path string, edit func(*contents)) {
	t.Helper()
	if err := tinyFile(path, edit); err != nil {
		t.Fatal(err)
	}
}

func tinyFile(path string, edit func(*contents)) error {
	c := tinyContents()
	if edit != nil {
		edit(c)
	}
	w := gguf.NewWriter()
	for _, k := range c.keys {
		w.Set(k.name, k.value)
	}
	for _, x := range c.tensors {
		w.Tensor(x.name, x.typ, x.shape, x.write)
	}
	return w.WriteFile(path)
}

// contents are the contents of a file, which a test may change before they are written.
type contents struct {
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
	at    func(i int) float32 // the element at an index; F32
	data  []byte              // other types
}

func (x tensor) write(w io.Writer) error {
	if x.data != nil {
		_, err := w.Write(x.data)
		return err
	}
	n := 1
	for _, s := range x.shape {
		n *= s
	}
	b := make([]byte, 0, 4*n)
	for i := range n {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x.at(i)))
	}
	_, err := w.Write(b)
	return err
}

func (c *contents) tensor(name string) *tensor {
	for i := range c.tensors {
		if c.tensors[i].name == name {
			return &c.tensors[i]
		}
	}
	panic("the tiny model has no tensor " + name)
}

func (c *contents) set(name string, value any) {
	for i := range c.keys {
		if c.keys[i].name == name {
			c.keys[i].value = value
			return
		}
	}
	c.keys = append(c.keys, key{name, value})
}

func tinyContents() *contents {
	c := &contents{}
	c.set("general.architecture", "llama")
	for name, v := range map[string]uint32{
		"block_count": 1, "embedding_length": embd, "feed_forward_length": ff, "context_length": trained,
		"attention.head_count": headCount, "attention.head_count_kv": headCount,
	} {
		c.set("llama."+name, v)
	}
	c.set("llama.attention.layer_norm_rms_epsilon", float32(1e-5))
	c.matrix("token_embd.weight", vocab, embd)
	for _, name := range []string{"attn_q", "attn_k", "attn_v", "attn_output"} {
		c.matrix("blk.0."+name+".weight", embd, embd)
	}
	c.matrix("blk.0.ffn_gate.weight", ff, embd)
	c.matrix("blk.0.ffn_up.weight", ff, embd)
	c.matrix("blk.0.ffn_down.weight", embd, ff)
	for _, name := range []string{"blk.0.attn_norm.weight", "blk.0.ffn_norm.weight", "output_norm.weight"} {
		c.tensors = append(c.tensors, tensor{name: name, shape: []int{embd}, at: func(int) float32 { return 1 }})
	}
	c.matrix("output.weight", vocab, embd)
	return c
}

// matrix adds a matrix of numbers without a pattern.
func (c *contents) matrix(name string, rows, cols int) {
	seed := float64(len(c.tensors) + 1)
	c.tensors = append(c.tensors, tensor{name: name, shape: []int{rows, cols}, at: func(i int) float32 {
		return float32(math.Sin(float64(i+1)*seed*12.9898) / 4)
	}})
}

// beside returns a program of the tiny model and the file next to it that contains its weights. Both are shared:
// tests copy them before they damage them.
func beside(t *testing.T) (program, weights string) {
	t.Helper()
	cc := ggmlc(t)
	besideOnce.Do(func() {
		model := filepath.Join(folder, "tiny.gguf")
		besideErr = tinyFile(model, nil)
		if besideErr == nil {
			o := run(t, cc, "build", model, "-o", filepath.Join(folder, "tiny"), "--weights", filepath.Join(folder, "tiny.weights"), "--kv", "f32")
			if o.status != 0 {
				besideErr = fmt.Errorf("ggmlc build: %s", o.stderr)
			}
		}
	})
	if besideErr != nil {
		t.Fatal(besideErr)
	}
	return filepath.Join(folder, "tiny"), filepath.Join(folder, "tiny.weights")
}

var (
	besideOnce sync.Once
	besideErr  error
)

// copyOf returns the path of a copy of a file that a test may damage.
func copyOf(t *testing.T, path string) string {
	t.Helper()
	data := bytesOf(t, path)
	to := filepath.Join(t.TempDir(), filepath.Base(path))
	if err := os.WriteFile(to, data, 0o755); err != nil {
		t.Fatal(err)
	}
	return to
}
