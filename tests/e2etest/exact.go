package e2etest

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// MaxRounding is a distance that sums of float32 in another order than llama.cpp's explain.
const MaxRounding = 2e-6

// CompareLogits fails the test if logits are farther from those in float64 than 1.5 times what llama.cpp's are, which
// is peer, and than MaxRounding.
func CompareLogits(t *testing.T, name string, got, want []float64, peer float64) {
	t.Helper()
	if d := Relative(got, want); !(d <= max(1.5*peer, MaxRounding)) {
		t.Errorf("%s: distance %.3g from exact logits, that of llama.cpp is %.3g", name, d, peer)
	} else {
		t.Logf("%s: distance %.3g from exact logits, that of llama.cpp is %.3g", name, d, peer)
	}
}

// Relative is the root of the sum of squares of differences, divided by that of want.
func Relative(got, want []float64) float64 {
	if len(got) != len(want) {
		return math.Inf(1)
	}
	var diff, norm float64
	for i, w := range want {
		diff += (got[i] - w) * (got[i] - w)
		norm += w * w
	}
	return math.Sqrt(diff / norm)
}

// WriteModel writes the file of a model.
func WriteModel(t *testing.T, path string, m archtest.Model) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := m.WriteTo(f); err != nil {
		t.Fatal(err)
	}
}

// ExactLogits evaluates the imported graph in float64.
func ExactLogits(t *testing.T, path string, model archtest.Model, prompt []int32) []float64 {
	f, err := gguf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	m, err := arch.Build(f, arch.Options{Context: archtest.Positions, KV: dtype.F32})
	if err != nil {
		t.Fatal(err)
	}
	env, err := model.Env(m, prompt)
	if err != nil {
		t.Fatal(err)
	}
	y, err := eval.Run(t.Context(), m, "prefill", env)
	if err != nil {
		t.Fatal(err)
	}
	return y[0].Flat()
}

// LogitsOf returns the lines of two generated tokens.
func LogitsOf(t *testing.T, exe string, prompt []int32) []Generated {
	out, err := exec.Command(exe, "--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(prompt), " ", ","), "[]"), "-n", "2", "--json", "--logits", "--threads", "2").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := ParseTokens(out)
	if err != nil || len(lines) < 3 {
		t.Fatalf("%d lines, error %v", len(lines), err)
	}
	return lines
}

// ArchitectureReference returns llama.cpp's logits, which belong to the tests of frontend/arch. For other models it
// returns the logits that archtest computes.
func ArchitectureReference(t *testing.T) map[string][][]float64 {
	data := ReadFile(t, filepath.Join(needtest.Root(t), "frontend", "arch", "testdata", "reference.json"))
	var r struct{ Logits map[string][][]float64 }
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	for _, m := range append(archtest.Models(), archtest.Encoders()...) {
		if r.Logits[m.Name] == nil {
			r.Logits[m.Name] = m.Results()
		}
	}
	return r.Logits
}
