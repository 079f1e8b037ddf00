package gpu

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// expertsPrograms are GPUs that compute prompts of experts: row by row where subgroups are narrow, as those of the driver
// that computes on the processor, and else in tiles, which the simulated CUDA driver multiplies.
var expertsPrograms = []struct {
	kind   string
	format dtype.DType
	flags  []string
	most   float64 // distance from exact logits
}{
	{"vulkan", dtype.F32, patient, 1e-5},
	{"gpusim", dtype.F32, []string{"--gpusim-lanes", "32"}, 1e-5},
	{"cuda", dtype.F32, patientCUDA, 1e-5},
	{"cuda", dtype.F16, patientCUDA, 3e-3},
}

// TestPromptsOfExpertsTellTheSame runs a mixture of experts with a prompt that takes three steps on GPUs, each of which
// has enough tokens for tiles but the last one. Tokens are those of the processor, logits are near the exact ones.
func TestPromptsOfExpertsTellTheSame(t *testing.T) {
	models := archtest.Models()
	plain := models[slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == "qwen2moe" })]
	prompt := make([]int32, 37)
	tokens := make([]int, len(prompt))
	for i := range prompt {
		prompt[i] = int32((7*i*i + 3*i + 5) % archtest.Vocab)
		tokens[i] = int(prompt[i])
	}
	for _, p := range expertsPrograms {
		t.Run(p.kind+"/"+p.format.String(), func(t *testing.T) {
			dir := t.TempDir()
			path, model, env := filepath.Join(dir, "moe.gguf"), plain, []string(nil)
			switch {
			case p.kind == "vulkan":
				needVulkan(t)
			case p.kind == "cuda" && !hasCUDA(t):
				env = []string{"LD_LIBRARY_PATH=" + simulatedCUDA(t)}
			}
			if p.format != dtype.F32 {
				needtest.Slow(t, "e2e")
				var err error
				if model, err = model.In(p.format); err != nil {
					t.Fatal(err)
				}
			}
			e2etest.WriteModel(t, path, model)
			common := []string{"--kv", "f32", "--ctx", "256", "--batch", "16"}
			options := slices.Concat(common, []string{"--targets", p.kind + ",cpu", "--rules", "ggml-2026"})
			expertsAreOn(t, p.kind, path, options)
			exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, options...)
			lines := e2etest.LogitsAfter(t, slices.Concat([]string{"env"}, env, []string{exe}, p.flags), tokens, 3)
			var first e2etest.Generated
			if err := json.Unmarshal([]byte(lines[0]), &first); err != nil {
				t.Fatal(err)
			}
			if d := e2etest.Relative(first.Logits, e2etest.ExactLogits(t, path, model, prompt)); !(d <= p.most) {
				t.Errorf("distance %.3g from exact logits, more than %g", d, p.most)
			} else {
				t.Logf("distance %.3g from exact logits", d)
			}
			if p.format != dtype.F32 {
				return
			}
			cpu := e2etest.BuildTo(t, filepath.Join(dir, "cpu"), nil, path, common...)
			if got, want := e2etest.IDsOf(t, lines), e2etest.IDsOf(t, e2etest.LogitsAfter(t, []string{cpu}, tokens, 3)); !slices.Equal(got, want) {
				t.Errorf("tokens %v, the processor's are %v", got, want)
			}
		})
	}
}

// expertsAreOn demands that all products with experts are on the GPU.
func expertsAreOn(t *testing.T, kind, path string, options []string) {
	t.Helper()
	n := 0
	for line := range strings.Lines(string(e2etest.GGMLC(t, slices.Concat([]string{"dump", "--after", "assign", path}, options)...))) {
		if strings.Contains(line, " = experts_matmul ") {
			n++
			if !strings.Contains(line, "@"+kind) {
				t.Errorf("not on the GPU: %s", line)
			}
		}
	}
	if n == 0 {
		t.Error("the model has no experts")
	}
}
