package arch

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestProgramsOfArchitectures builds a program of each model of archtest. Its logits after the prompts, and after one
// more token, which decode reads, are no farther from those of an evaluation in float64 than 1.5 times what
// llama.cpp's are, or than e2etest.MaxRounding.
func TestProgramsOfArchitectures(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program for each of many models")
	}
	dir := t.TempDir()
	reference := e2etest.ArchitectureReference(t)
	for _, model := range archtest.Models() {
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			e2etest.WriteModel(t, path, model)
			exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, "--kv", "f32", "--ctx", "256")
			for i, prompt := range archtest.Prompts() {
				lines := e2etest.LogitsOf(t, exe, prompt)
				want := e2etest.ExactLogits(t, path, model, prompt)
				e2etest.CompareLogits(t, "prefill", lines[0].Logits, want, e2etest.Relative(reference[model.Name][i], want))
				longer := append(slices.Clone(prompt), *lines[0].ID)
				e2etest.CompareLogits(t, "decode", lines[1].Logits, e2etest.ExactLogits(t, path, model, longer), e2etest.Relative(reference[model.Name][i], want))
			}
		})
	}
}

// TestLayersOfArchitecturesRoll: the number of nodes after roll does not grow with the number of layers, and explain's
// names of layers are those of the file.
func TestLayersOfArchitecturesRoll(t *testing.T) {
	dir := t.TempDir()
	few, many := archtest.Deep(3), archtest.Deep(4)
	for i := range few {
		t.Run(few[i].Name, func(t *testing.T) {
			path := filepath.Join(dir, few[i].Name+".gguf")
			e2etest.WriteModel(t, path, few[i])
			less := nodeLines(t, path)
			e2etest.WriteModel(t, path, many[i])
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
	for line := range strings.Lines(string(e2etest.GGMLC(t, "dump", "--after", "roll", "--kv", "f32", path))) {
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
	e2etest.WriteFile(t, targets, []byte("target cpu like=cpu merge=true\n"))
	reference := e2etest.ArchitectureReference(t)
	for _, model := range archtest.Models() {
		if !slices.Contains([]string{"gemma", "olmo2", "qwen2", "qwen3", "stablelm-12b"}, model.Name) {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			e2etest.WriteModel(t, path, model)
			dump := filepath.Join(dir, model.Name+".ggir")
			e2etest.GGMLC(t, "dump", "--after", "check", "-o", dump, "--kv", "f32", "--ctx", "256", "--target-file", targets, path)
			if !strings.Contains(string(e2etest.ReadFile(t, dump)), "fuse/fuse.qkv") {
				t.Error("no products are merged")
			}
			exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, dump)
			prompt := archtest.Prompts()[0]
			want := e2etest.ExactLogits(t, path, model, prompt)
			e2etest.CompareLogits(t, "prefill", e2etest.LogitsOf(t, exe, prompt)[0].Logits, want, e2etest.Relative(reference[model.Name][0], want))
		})
	}
}

// TestWindowsKeepTheirBits: programs whose windows keep the last positions have the logits, bit for bit, of programs
// that keep all, after prompts in several steps that are longer than what is kept, with one thread and with several.
func TestWindowsKeepTheirBits(t *testing.T) {
	if testing.Short() {
		t.Skip("builds programs")
	}
	dir := t.TempDir()
	prompt := make([]int32, 400)
	for i := range prompt {
		prompt[i] = int32((7*i*i + 3*i + 5) % archtest.Vocab)
	}
	for _, model := range archtest.Models() {
		if !slices.Contains([]string{"gemma3", "gemma4", "gpt-oss"}, model.Name) {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			e2etest.WriteModel(t, path, model)
			var lines [2][]e2etest.Generated
			for i, flags := range [][]string{nil, {"--whole-cache"}} {
				exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, append(flags, "--ctx", "2048", "--batch", "64")...)
				lines[i] = e2etest.LogitsOf(t, exe, prompt)
				plan, err := exec.Command(exe, "plan").Output()
				if err != nil || strings.Contains(string(plan), "keep the last 128 of 2048 positions") == (i == 1) {
					t.Errorf("%v: plan %s, error %v", flags, plan, err)
				}
			}
			for i, l := range lines[0] {
				if !slices.Equal(l.Logits, lines[1][i].Logits) {
					t.Errorf("token %d: distance %.3g from a cache of all positions", i, e2etest.Relative(l.Logits, lines[1][i].Logits))
				}
			}
		})
	}
}
