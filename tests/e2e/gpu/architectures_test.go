package gpu

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// TestArchitecturesOnGPU: the programs of models that have all parts of descriptions compute the same on a GPU. The GPU
// runs all nodes that it has kernels for, including attention with a cap, a window, a bias by distance or sinks.
func TestArchitecturesOnGPU(t *testing.T) {
	needVulkan(t)
	dir := t.TempDir()
	reference := e2etest.ArchitectureReference(t)
	for _, model := range archtest.Models() {
		if !slices.Contains([]string{"bloom", "dots1", "gemma2", "gpt-oss", "gpt2", "phi3-long", "qwen2moe", "stablelm-12b"}, model.Name) {
			continue
		}
		t.Run(model.Name, func(t *testing.T) {
			path := filepath.Join(dir, model.Name+".gguf")
			e2etest.WriteModel(t, path, model)
			options := []string{"--kv", "f32", "--ctx", "256", "--targets", "vulkan,cpu", "--rules", "ggml-2026"}
			dump := e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "assign"}, options, []string{path})...)
			for line := range strings.Lines(string(dump)) {
				if strings.Contains(line, " = attention ") && !strings.Contains(line, "@vulkan") {
					t.Errorf("not on the GPU: %s", line)
				}
			}
			exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, options...)
			prompt := archtest.Prompts()[0]
			lines := e2etest.LogitsOf(t, exe, prompt)
			want := e2etest.ExactLogits(t, path, model, prompt)
			e2etest.CompareLogits(t, "prefill", lines[0].Logits, want, e2etest.Relative(reference[model.Name][0], want))
			longer := append(slices.Clone(prompt), *lines[0].ID)
			e2etest.CompareLogits(t, "decode", lines[1].Logits, e2etest.ExactLogits(t, path, model, longer), e2etest.Relative(reference[model.Name][0], want))
		})
	}
}
