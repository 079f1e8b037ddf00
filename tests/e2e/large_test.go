package e2e

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

func TestAppendedWeightsTellTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	model := e2etest.RandomModel(t)
	dir := t.TempDir()
	appended := e2etest.BuildTo(t, filepath.Join(dir, "appended"), nil, model)
	beside := e2etest.BuildTo(t, filepath.Join(dir, "beside"), nil, model, "--weights", filepath.Join(dir, "weights"))

	generate := []string{"--prompt", "Once upon a time", "-n", "8", "--json", "--logits"}
	tokens := func(args ...string) []byte {
		out := e2etest.Command{Args: append(args, generate...)}.Run(t)
		return out[:bytes.LastIndex(out, []byte(`{"summary"`))]
	}
	want := tokens(appended)
	if got := tokens(beside, "--weights", filepath.Join(dir, "weights")); !bytes.Equal(got, want) {
		t.Error("weights beside the program and appended ones give other tokens")
	}
	e2etest.Command{Args: []string{appended, "verify"}}.Run(t)

	// Cut one byte at the end, and change one in the middle.
	data := e2etest.ReadFile(t, appended)
	short := filepath.Join(dir, "short")
	writeProgram(t, short, data[:len(data)-1])
	if out, err := exec.Command(short, generate...).CombinedOutput(); err == nil {
		t.Errorf("a program that lost its last byte runs: %s", e2etest.Tail(out))
	}
	data[len(data)/2] ^= 1
	wrong := filepath.Join(dir, "wrong")
	writeProgram(t, wrong, data)
	for _, args := range [][]string{{"verify"}, append(generate, "--verify")} {
		if out, err := exec.Command(wrong, args...).CombinedOutput(); err == nil || !bytes.Contains(out, []byte("SHA-256")) {
			t.Errorf("%v does not notice a changed byte: %s", args, e2etest.Tail(out))
		}
	}
	if out, err := exec.Command(wrong, generate...).CombinedOutput(); err != nil {
		t.Errorf("weights of this size are read unasked: %v, %s", err, e2etest.Tail(out))
	}
	tokens(appended, "--verify")
}

// writeProgram writes an executable file.
func writeProgram(t *testing.T, path string, data []byte) {
	t.Helper()
	e2etest.WriteFile(t, path, data)
	e2etest.Command{Args: []string{"chmod", "755", path}}.Run(t)
}
