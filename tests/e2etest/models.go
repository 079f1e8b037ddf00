package e2etest

import (
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// AIDreams is the small trained model for which tokens of llama.cpp are recorded.
func AIDreams(t testing.TB) string { return needtest.Data(t, "aidreams260K.gguf") }

// Demo returns the path of the demo model of ggmlc.
func Demo(t testing.TB) string {
	return filepath.Join(needtest.Root(t), "cmd", "ggmlc", "demo", "stories.gguf")
}

// RandomModel makes a model of more than 64 MiB, above which weights are appended. Its weights are random, its
// vocabulary is that of llama.
func RandomModel(t *testing.T) string {
	return randomModel(t, "-layers", "2", "-embd", "576", "-ff", "1536", "-heads", "9", "-kv-heads", "3")
}

// WideModel makes a small random model with the vocabulary of llama, 32000 tokens.
func WideModel(t *testing.T) string {
	return randomModel(t, "-layers", "1", "-embd", "64", "-ff", "96", "-heads", "2", "-kv-heads", "1")
}

func randomModel(t *testing.T, flags ...string) string {
	tool := filepath.Join(needtest.Root(t), "..", "shared", "tools", "mkgguf")
	vocab := needtest.Data(t, "vocab/ggml-vocab-llama-spm.gguf")
	path := filepath.Join(t.TempDir(), "random.gguf")
	args := append([]string{"go", "run", ".", "-ctx", "256", "-vocab", vocab, "-o", path}, flags...)
	Command{Dir: tool, Args: args, Env: []string{"GOFLAGS=-mod=mod", "GOWORK=off"}}.Run(t)
	return path
}
