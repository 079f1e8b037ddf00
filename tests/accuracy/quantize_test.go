package accuracy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
)

// TestQuantizedArchitectures converts models of all architectures, with heads as wide as blocks, to q8_0, and compares their
// logits with exact ones of the converted weights. Every second is converted to q6_k, in whose place q8_0 is where rows are no
// multiple of 256. Distances come from activations in bytes: 0.012 to 0.03, and where they change which
// experts are chosen, up to 0.21 (2026-11-30).
func TestQuantizedArchitectures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program of many models")
	}
	dir := t.TempDir()
	var set []*subject
	for i, m := range archtest.Wide() {
		to := [...]dtype.DType{dtype.Q8_0, dtype.Q6_K}[i%2]
		m.Keys = append(m.Keys, archtest.Key{Name: "tokenizer.ggml.model", Value: "none"})
		s := &subject{name: m.Name, path: filepath.Join(dir, m.Name+".gguf")}
		s.options = driver.LoadOptions{Context: archtest.Positions, KV: dtype.F32, Quantize: to}
		s.weight = func(w *ir.Weight) ([]float64, error) {
			x, err := m.Weight(w)
			if err != nil || !w.Type.DType.IsQuantized() {
				return x.Flat(), err
			}
			return requantized(w.Type.DType, x.Flat())
		}
		writeFile(t, s.path, m)
		s.draw(archtest.Vocab)
		set = append(set, s)
	}
	exe := buildSubjects(t, dir, set)
	for i, s := range set {
		t.Run(s.name, func(t *testing.T) {
			if !slices.ContainsFunc(s.imported.Weights, func(w *ir.Weight) bool { return w.Type.DType == dtype.Q8_0 }) {
				t.Error("no weight was converted")
			}
			limit := 0.05
			if slices.ContainsFunc(s.imported.Weights, func(w *ir.Weight) bool { return strings.Contains(w.Name, "_exps") }) {
				limit = 0.4
			}
			want, err := s.exact()
			if err != nil {
				t.Fatal(err)
			}
			for _, impl := range cpu.Available() {
				decode, prefill := s.distances(t, exe, i, impl, want)
				t.Logf("%s: %.3g; prompts %.3g", impl, decode, prefill)
				if most := max(decode, prefill); !(most <= limit) {
					t.Errorf("%s: distance %.3g from exact logits is above %.3g", impl, most, limit)
				}
			}
		})
	}
}
