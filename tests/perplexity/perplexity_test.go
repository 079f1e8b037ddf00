package main

import (
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestWidenedModelComputesTheSame evaluates a model and its widened copy in float64. The weights of both are in F32.
func TestWidenedModelComputesTheSame(t *testing.T) {
	m, err := readLlama(needtest.Data(t, "aidreams260K.gguf"))
	if err != nil {
		t.Fatal(err)
	}
	wide := m.widen()
	for name, w := range wide.weights {
		if w.cols != wideRow {
			t.Errorf("%s has rows of %d", name, w.cols)
		}
	}
	got, want := evaluate(t, wide), evaluate(t, m)
	spread := slices.Max(want) - slices.Min(want)
	for i := range want {
		if !(math.Abs(got[i]-want[i]) < 1e-5*spread) {
			t.Fatalf("logit %d is %v, want %v", i, got[i], want[i])
		}
	}
}

// evaluate returns the logits after a short text.
func evaluate(t *testing.T, m *llama) []float64 {
	t.Helper()
	file := filepath.Join(t.TempDir(), "m.gguf")
	if err := m.write(file, dtype.F32); err != nil {
		t.Fatal(err)
	}
	md, err := driver.Load(t.Context(), file, driver.LoadOptions{KV: dtype.F32})
	if err != nil {
		t.Fatal(err)
	}
	defer md.Close()
	env := &eval.Env{Weights: make(map[string]eval.Tensor), States: make(map[string]eval.Tensor), Inputs: make(map[string]eval.Tensor)}
	for _, w := range md.Module.Weights {
		if env.Weights[w.Name], err = m.tensor(w); err != nil {
			t.Fatal(err)
		}
	}
	env.Inputs["tokens"], env.Inputs["pos"] = eval.Of([]float64{1, 429, 319, 461}, 4), eval.Of([]float64{0, 1, 2, 3}, 4)
	env.Inputs["slot"], env.Inputs["lengths"] = eval.New(4), eval.Of([]float64{4}, 1)
	out, err := eval.Run(t.Context(), md.Module, "prefill", env)
	if err != nil {
		t.Fatal(err)
	}
	return out[0].Flat()
}

// tensor returns a weight as the file has it: rounded to F32.
func (m *llama) tensor(w *ir.Weight) (eval.Tensor, error) {
	var shape []int
	for _, d := range w.Type.Shape {
		n, _ := d.IsConst()
		shape = append(shape, int(n))
	}
	if w.Expr.Op == ir.ExprLiteral {
		return eval.Decode(dtype.F32, w.Expr.Data, shape...)
	}
	data := slices.Clone(m.weights[w.Name].data)
	for i, x := range data {
		data[i] = float64(float32(x))
	}
	return eval.Of(data, shape...), nil
}

func TestRatiosComeFromTheDifferencesOfChunks(t *testing.T) {
	out := func(a, b string) []byte {
		return []byte(`{"chunk":1,"perplexity":` + a + "}\n" + `{"chunk":2,"perplexity":` + b + "}\n" + `{"summary":{"perplexity":` + b + `,"standard_error":0.5,"predicted":20}}` + "\n")
	}
	base, err := parse(out("4", "6"))
	if err != nil {
		t.Fatal(err)
	}
	other, err := parse(out("5", "9"))
	if err != nil {
		t.Fatal(err)
	}
	// The second chunks alone have e^(2·log 6 - log 4) = 9 and e^(2·log 9 - log 5) = 16.2.
	ratio, deviation := other.ratio(base)
	a, b := math.Log(5./4), math.Log(16.2/9)
	if want := math.Abs(a-b) / 2 * 1.5; math.Abs(ratio-1.5) > 1e-12 || math.Abs(deviation-want) > 1e-12 {
		t.Errorf("%v ± %v, want 1.5 ± %v", ratio, deviation, want)
	}
	if _, err := parse([]byte("{}\n")); err == nil {
		t.Error("output without a summary is accepted")
	}
}

func TestFormatsCanBeWritten(t *testing.T) {
	list := formats()
	if list[0] != dtype.F32 || len(list) < 16 || !slices.Contains(list, dtype.Q4_K) || !slices.Contains(list, dtype.MXFP4) {
		t.Errorf("%v", list)
	}
	if i := slices.IndexFunc(list, dtype.DType.IsExpansion); i >= 0 {
		t.Errorf("no file has %v: ggmlc makes it of other formats", list[i])
	}
}
