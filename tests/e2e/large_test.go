package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// randomModel makes a model of more than 64 MiB, above which weights are appended. Its weights are random, its
// vocabulary is that of llama.
func randomModel(t *testing.T) string {
	tool := filepath.Join(needtest.Root(t), "..", "shared", "tools", "mkgguf")
	vocab := needtest.Data(t, "vocab/ggml-vocab-llama-spm.gguf")
	path := filepath.Join(t.TempDir(), "random.gguf")
	command{dir: tool, args: []string{"go", "run", ".", "-layers", "2", "-embd", "576", "-ff", "1536", "-heads", "9", "-kv-heads", "3",
		"-ctx", "256", "-vocab", vocab, "-o", path}, env: []string{"GOFLAGS=-mod=mod", "GOWORK=off"}}.run(t)
	return path
}

func TestAppendedWeightsTellTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	model := randomModel(t)
	dir := t.TempDir()
	appended := buildTo(t, filepath.Join(dir, "appended"), nil, model)
	beside := buildTo(t, filepath.Join(dir, "beside"), nil, model, "--weights", filepath.Join(dir, "weights"))

	generate := []string{"--prompt", "Once upon a time", "-n", "8", "--json", "--logits"}
	tokens := func(args ...string) []byte {
		out := command{args: append(args, generate...)}.run(t)
		return out[:bytes.LastIndex(out, []byte(`{"summary"`))]
	}
	want := tokens(appended)
	if got := tokens(beside, "--weights", filepath.Join(dir, "weights")); !bytes.Equal(got, want) {
		t.Error("weights beside the program and appended ones give other tokens")
	}
	command{args: []string{appended, "verify"}}.run(t)

	// Cut one byte at the end, and change one in the middle.
	data := readFile(t, appended)
	short := filepath.Join(dir, "short")
	writeProgram(t, short, data[:len(data)-1])
	if out, err := exec.Command(short, generate...).CombinedOutput(); err == nil {
		t.Errorf("a program that lost its last byte runs: %s", tail(out))
	}
	data[len(data)/2] ^= 1
	wrong := filepath.Join(dir, "wrong")
	writeProgram(t, wrong, data)
	for _, args := range [][]string{{"verify"}, append(generate, "--verify")} {
		if out, err := exec.Command(wrong, args...).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("SHA-256")) {
			t.Errorf("%v does not notice a changed byte: %s", args, tail(out))
		}
	}
	if out, err := exec.Command(wrong, generate...).CombinedOutput(); err != nil {
		t.Errorf("weights of this size are read unasked: %v, %s", err, tail(out))
	}
	tokens(appended, "--verify")
}

// writeProgram writes an executable file.
func writeProgram(t *testing.T, path string, data []byte) {
	t.Helper()
	writeFile(t, path, data)
	command{args: []string{"chmod", "755", path}}.run(t)
}
