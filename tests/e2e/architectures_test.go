package e2e

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
)

// TestProgramsOfArchitectures builds a program of each model of archtest. Its logits after the prompts, and after one
// more token, which decode reads, are no farther from those of an evaluation in float64 than 1.5 times what
// llama.cpp's are, or than maxRounding.
func TestProgramsOfArchitectures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program for each of many models")
	}
	dir := t.TempDir()
	reference := architectureReference(t)
	for _, model := range archtest.Models() {
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			writeModel(t, path, model)
			exe := buildTo(t, filepath.Join(dir, "program"), nil, path, "--kv", "f32", "--ctx", "256")
			for i, prompt := range archtest.Prompts() {
				lines := logitsOf(t, exe, prompt)
				want := exactLogits(t, path, model, prompt)
				compareLogits(t, "prefill", lines[0].Logits, want, relative(reference[model.Name][i], want))
				longer := append(slices.Clone(prompt), *lines[0].ID)
				compareLogits(t, "decode", lines[1].Logits, exactLogits(t, path, model, longer), relative(reference[model.Name][i], want))
			}
		})
	}
}

// maxRounding is a distance that sums of float32 in another order than llama.cpp's explain.
const maxRounding = 2e-6

func compareLogits(t *testing.T, name string, got, want []float64, peer float64) {
	t.Helper()
	if d := relative(got, want); !(d <= max(1.5*peer, maxRounding)) {
		t.Errorf("%s: distance %.3g from exact logits, that of llama.cpp is %.3g", name, d, peer)
	} else {
		t.Logf("%s: distance %.3g from exact logits, that of llama.cpp is %.3g", name, d, peer)
	}
}

// relative is the root of the sum of squares of differences, divided by that of want.
func relative(got, want []float64) float64 {
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

func writeModel(t *testing.T, path string, m archtest.Model) {
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := m.WriteTo(f); err != nil {
		t.Fatal(err)
	}
}

// exactLogits evaluates the imported graph in float64.
func exactLogits(t *testing.T, path string, model archtest.Model, prompt []int32) []float64 {
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

// logitsOf returns the lines of two generated tokens.
func logitsOf(t *testing.T, exe string, prompt []int32) []generated {
	out, err := exec.Command(exe, "--tokens", strings.Trim(strings.ReplaceAll(fmt.Sprint(prompt), " ", ","), "[]"), "-n", "2", "--json", "--logits", "--threads", "2").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines, err := parseTokens(out)
	if err != nil || len(lines) < 3 {
		t.Fatalf("%d lines, error %v", len(lines), err)
	}
	return lines
}

// architectureReference returns llama.cpp's logits, which belong to the tests of frontend/arch.
func architectureReference(t *testing.T) map[string][][]float64 {
	data := readFile(t, filepath.Join("..", "..", "frontend", "arch", "testdata", "reference.json"))
	var r struct{ Logits map[string][][]float64 }
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r.Logits
}

// TestLayersOfArchitecturesRoll: the number of nodes after roll does not grow with the number of layers, and explain's
// names of layers are those of the file.
func TestLayersOfArchitecturesRoll(t *testing.T) {
	dir := t.TempDir()
	few, many := archtest.Deep(3), archtest.Deep(4)
	for i := range few {
		t.Run(few[i].Name, func(t *testing.T) {
			path := filepath.Join(dir, few[i].Name+".gguf")
			writeModel(t, path, few[i])
			less := nodeLines(t, path)
			writeModel(t, path, many[i])
			more := nodeLines(t, path)
			if len(more) != len(less) {
				t.Errorf("%d nodes for 4 times the layers, %d for 3 times", len(more), len(less))
			}
			text := strings.Join(less, "\n")
			for _, pos := range []string{`pos="blk.0.attn"`, `pos="blk.0.ffn"`, `pos="output"`} {
				if !strings.Contains(text, pos) {
					t.Errorf("no node has %s", pos)
				}
			}
		})
	}
}

// nodeLines returns the lines of a rolled dump that compute something.
func nodeLines(t *testing.T, path string) []string {
	var lines []string
	for line := range strings.Lines(string(ggmlc(t, "dump", "--after", "roll", "--kv", "f32", path))) {
		if nodeLine.MatchString(line) && !leafLine.MatchString(line) {
			lines = append(lines, strings.TrimRight(line, "\n"))
		}
	}
	return lines
}

var (
	nodeLine = regexp.MustCompile(`^ +%\S+ = `)
	leafLine = regexp.MustCompile(`^ +%\S+ = (weight|state) `)
)

// TestProductsOfArchitecturesMerge: on a target that asks for it, queries, keys and values are one product, also where
// biases or norms follow. The logits stay.
func TestProductsOfArchitecturesMerge(t *testing.T) {
	dir := t.TempDir()
	targets := filepath.Join(dir, "merge.targets")
	writeFile(t, targets, []byte("target cpu like=cpu merge=true\n"))
	reference := architectureReference(t)
	for _, model := range archtest.Models() {
		if !slices.Contains([]string{"gemma", "olmo2", "qwen2", "qwen3", "stablelm-12b"}, model.Name) {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			writeModel(t, path, model)
			dump := filepath.Join(dir, model.Name+".ggir")
			ggmlc(t, "dump", "--after", "check", "-o", dump, "--kv", "f32", "--ctx", "256", "--target-file", targets, path)
			if !strings.Contains(string(readFile(t, dump)), "fuse/fuse.qkv") {
				t.Error("no products are merged")
			}
			exe := buildTo(t, filepath.Join(dir, "program"), nil, dump)
			prompt := archtest.Prompts()[0]
			want := exactLogits(t, path, model, prompt)
			compareLogits(t, "prefill", logitsOf(t, exe, prompt)[0].Logits, want, relative(reference[model.Name][0], want))
		})
	}
}

// TestArchitecturesOnGPU: the programs of models that have all parts of descriptions compute the same on a GPU, which runs all
// that it has kernels for. Attention with a window is not among that.
func TestArchitecturesOnGPU(t *testing.T) {
	needVulkan(t)
	dir := t.TempDir()
	reference := architectureReference(t)
	for _, model := range archtest.Models() {
		if !slices.Contains([]string{"dots1", "gemma3", "gpt2", "phi3-long", "qwen2moe", "stablelm-12b"}, model.Name) {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			writeModel(t, path, model)
			exe := buildTo(t, filepath.Join(dir, "program"), nil, path, "--kv", "f32", "--ctx", "256", "--targets", "vulkan,cpu", "--rules", "ggml-2026")
			prompt := archtest.Prompts()[0]
			lines := logitsOf(t, exe, prompt)
			want := exactLogits(t, path, model, prompt)
			compareLogits(t, "prefill", lines[0].Logits, want, relative(reference[model.Name][0], want))
			longer := append(slices.Clone(prompt), *lines[0].ID)
			compareLogits(t, "decode", lines[1].Logits, exactLogits(t, path, model, longer), relative(reference[model.Name][0], want))
		})
	}
}
