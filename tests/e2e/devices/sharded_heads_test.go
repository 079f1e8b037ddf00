package devices

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// shardedModels are models whose heads are divided in other ways than one for each: several devices have one head of
// keys, or scores have a bias that depends on the number of the head.
var shardedModels = []struct {
	name, targets, group string
}{
	{"llama-biases", "fake:0,fake:1,fake:2,fake:3,cpu", "fake:0,fake:1,fake:2,fake:3"}, // 4 heads, 2 of keys
	{"starcoder", "cpu:cores=0,cpu:cores=1", "cpu:0*3,cpu:1*1"},                        // one head of keys, in a fused weight
	{"refact", "fake:0,fake:1,fake:2,fake:3,cpu", "fake:0*1,fake:1*1,fake:2*1,fake:3*1"},
	{"refact", "cpu:cores=0,cpu:cores=1,cpu", "cpu:0*1,cpu:1*1"},
	{"bloom", "fake:0,fake:1,fake:2,cpu", "fake:0*1,fake:1*0,fake:2*3"},
	{"mpt", "fake:0,fake:1,cpu", "fake:0*1,fake:1*1"},
	{"deepseek2", "fake:0,fake:1,cpu", "fake:0*1,fake:1*1"}, // the cache is of short vectors
	{"minicpm3", "cpu:cores=0,cpu:cores=1,cpu", "cpu:0*1,cpu:1*1"},
}

// TestShardedHeadsComputeTheSame compares the logits of programs for groups with an evaluation of the model.
func TestShardedHeadsComputeTheSame(t *testing.T) {
	reference := e2etest.ArchitectureReference(t)
	dir := t.TempDir()
	for i, tt := range shardedModels {
		t.Run(tt.name+" on "+tt.group, func(t *testing.T) {
			if i > 1 {
				needtest.Slow(t, "e2e")
			}
			models := archtest.Models()
			model := models[slices.IndexFunc(models, func(m archtest.Model) bool { return m.Name == tt.name })]
			path := filepath.Join(dir, model.Name+".gguf")
			e2etest.WriteModel(t, path, model)
			exe := e2etest.BuildTo(t, filepath.Join(dir, "program"), nil, path, "--kv", "f32", "--ctx", "256",
				"--targets", tt.targets, "--group", "tp="+tt.group)
			for k, prompt := range archtest.Prompts() {
				lines := e2etest.LogitsOf(t, exe, prompt)
				want := e2etest.ExactLogits(t, path, model, prompt)
				peer := e2etest.Relative(reference[model.Name][k], want)
				e2etest.CompareLogits(t, "prefill", lines[0].Logits, want, peer)
				longer := append(slices.Clone(prompt), *lines[0].ID)
				e2etest.CompareLogits(t, "decode", lines[1].Logits, e2etest.ExactLogits(t, path, model, longer), peer)
			}
		})
	}
}
