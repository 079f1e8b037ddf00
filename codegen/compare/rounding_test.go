package compare

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// FORMAT is that of the file, ACT how the program rounds activations.
const (
	productsText = `ggir 1
source m "f.gguf" 1 0000000000000000000000000000000000000000000000000000000000000000
weight "w1" : FORMAT[256,256] = m["w1"]
weight "w2" : FORMAT[256,256] = m["w2"]
weight "g" : FORMAT[4,256] = m["g"]
func @f(%x: f32[3,256]) -> f32[3,256] {
  %w1 = weight "w1" : FORMAT[256,256]
  %w2 = weight "w2" : FORMAT[256,256]
  %g = weight "g" : FORMAT[4,256]
  %a = matmul %x, %w1
  %s = silu %a
  %b = matmul %s, %w2
  %y = add %b, %x
  %z = matmul %y, %g
  return %y
}
`
	roundedText = `ggir 1
source m "f.gguf" 1 0000000000000000000000000000000000000000000000000000000000000000
weight "w1" : FORMAT[256,256] = m["w1"]
weight "w2" : FORMAT[256,256] = m["w2"]
weight "g" : FORMAT[4,256] = m["g"]
func @f(%x: f32[3,256]) -> f32[3,256] {
  %w1 = weight "w1" : FORMAT[256,256]
  %w2 = weight "w2" : FORMAT[256,256]
  %g = weight "g" : FORMAT[4,256]
  %xq = ACT %x
  %a = matmul %xq, %w1
  %s = silu %a
  %sq = ACT %s
  %b = matmul %sq, %w2
  %y = add %b, %x
  %yq = ACT %y
  %z = matmul %yq, %g
  return %y
}
`
)

// matrices are the tensors of a file.
type matrices map[string]matrix

type matrix struct {
	d    dtype.DType
	rows int64
	data []byte
}

func (m matrices) Tensor(_, name string) (codegen.Rows, error) { return m[name], nil }

func (m matrix) DType() dtype.DType          { return m.d }
func (m matrix) Shape() (rows, cols int64)   { return m.rows, 256 }
func (m matrix) rowBytes() int64             { return int64(m.d.RowBytes(256)) }
func (m matrix) bytes(first, n int64) []byte { return m.data[first*m.rowBytes():][:n*m.rowBytes()] }
func (m matrix) blockBytes() int64           { return int64(m.d.BlockBytes()) }

// falsify replaces a block by that of the row before: 32 elements or more.
func (m matrix) falsify(row, block int64) {
	n := max(1, 32/int64(m.d.BlockElems())) * m.blockBytes()
	copy(m.bytes(row, 1)[block*n:][:n], m.bytes(row-1, 1)[block*n:])
}

func (m matrix) ReadRows(_ context.Context, dst []byte, first, n int64) error {
	copy(dst, m.bytes(first, n))
	return nil
}

// tensors returns random matrices in a format.
func tensors(t *testing.T, d dtype.DType) matrices {
	r := rand.New(rand.NewPCG(uint64(d), 5))
	list := make(matrices)
	for _, m := range []struct {
		name string
		rows int
	}{{"w1", 256}, {"w2", 256}, {"g", 4}} {
		values := make([]float32, m.rows*256)
		for i := range values {
			values[i] = float32(r.NormFloat64()) / 16
		}
		data := make([]byte, d.Bytes(len(values)))
		if err := dtype.Encode(d, data, values); err != nil {
			t.Fatal(err)
		}
		list[m.name] = matrix{d, int64(m.rows), data}
	}
	return list
}

// computed returns a step of a program: what its module means, in f32.
func computed(t *testing.T, m *ir.Module, tensors matrices) []*Step {
	t.Helper()
	d, err := newDefinition(t.Context(), m, tensors)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	x := eval.New(3, 256)
	for i := range x.Data {
		x.Data[i] = float64(float32(r.NormFloat64()))
	}
	arrays := map[string]array{"x": narrow(x)}
	d.env.Inputs = map[string]eval.Tensor{"x": x}
	d.env.Observe = func(n *ir.Node, results []eval.Tensor) {
		if !n.Is(ir.Leaf) {
			arrays[n.Result().Name()] = narrow(results[0])
		}
	}
	if _, err := eval.Run(t.Context(), m, "f", &d.env); err != nil {
		t.Fatal(err)
	}
	return written(t, arrays)
}

func narrow(t eval.Tensor) array {
	var list []float32
	for _, v := range t.Flat() {
		list = append(list, float32(v))
	}
	return array{list, t.Shape}
}

// TestRoundingOfActivationsIsAllowed: a program whose plan rounds activations is right, and one with a wrong block of a
// weight or a wrong operand is wrong at that node.
func TestRoundingOfActivationsIsAllowed(t *testing.T) {
	for _, format := range []struct {
		d         dtype.DType
		act, attr string
	}{
		{dtype.Q8_0, "quantize", ""}, {dtype.Q4_K, "quantize", ""}, {dtype.Q4_K, "quantize", "{to=q8a_k}"}, {dtype.MXFP4, "quantize", ""},
		{dtype.BF16, "cast", "{to=bf16}"},
	} {
		replace := func(text string, others ...string) string {
			act := strings.NewReplacer("ACT %x", format.act+" %x ATTR", "ACT %s", format.act+" %s ATTR", "ACT %y", format.act+" %y ATTR")
			text = strings.NewReplacer("ATTR", format.attr, "FORMAT", format.d.String()).Replace(act.Replace(text))
			return strings.NewReplacer(others...).Replace(text)
		}
		for _, tt := range []struct {
			name, node string
			swap       []string
			falsify    func(matrices)
		}{
			{name: "right"},
			{name: "a wrong block", node: "b", falsify: func(m matrices) { m["w2"].falsify(77, 0) }},
			{name: "a wrong block of few rows", node: "z", falsify: func(m matrices) { m["g"].falsify(1, 0) }},
			{name: "another weight", node: "b", swap: []string{"matmul %sq, %w2", "matmul %sq, %w1"}},
			{name: "another operand", node: "b", swap: []string{"matmul %sq, %w2", "matmul %xq, %w2"}},
			{name: "another summand", node: "y", swap: []string{"add %b, %x", "add %b, %a"}},
		} {
			t.Run(format.d.String()+format.attr+"/"+tt.name, func(t *testing.T) {
				right := tensors(t, format.d)
				own := make(matrices)
				for name, m := range right {
					own[name] = matrix{m.d, m.rows, slices.Clone(m.data)}
				}
				if tt.falsify != nil {
					tt.falsify(own)
				}
				p := parse(t, replace(roundedText, tt.swap...))
				a := &Program{Name: "a", Module: p, Steps: computed(t, p, own)}
				m := parse(t, replace(productsText))
				o := Options{Nodes: m, Wanted: func(*ir.Node) bool { return true }, Tolerance: -1}
				rows, err := WithDefinition(t.Context(), a, Definition{m, right}, o)
				if err != nil {
					t.Fatal(err)
				}
				r := First(rows)
				switch {
				case r == nil && tt.node != "":
					t.Errorf("nothing differs, want %s", tt.node)
				case r != nil && r.Node.Result().Name() != tt.node:
					t.Errorf("%v differs: NMSE %v, allowed is %v; want %q", r.Node, r.NMSE, r.Tolerance, tt.node)
				}
			})
		}
	}
}
