package e2etest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Command is a program that a test runs.
type Command struct {
	Args []string
	Dir  string   // empty: the test's
	Env  []string // added to this process' environment
	Set  func(*exec.Cmd)
}

// CommandTime is far more than any command takes, even in an emulator.
const CommandTime = 5 * time.Minute

// Run runs the command and returns its standard output. A failure ends the test.
func (c Command) Run(t testing.TB) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), CommandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Dir, cmd.Env = c.Dir, append(os.Environ(), c.Env...)
	if c.Set != nil {
		c.Set(cmd)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", c.Args, err, Tail(errs.Bytes()))
	}
	return out.Bytes()
}

// Tail returns the end of a command's output, which contains the reason of a failure.
func Tail(b []byte) []byte { return b[max(0, len(b)-4000):] }

// GGMLC runs ggmlc and returns its standard output.
func GGMLC(t testing.TB, args ...string) []byte {
	t.Helper()
	return Command{Args: append([]string{Path()}, args...)}.Run(t)
}

// Build compiles a model to an executable in a temporary folder and returns its path.
func Build(t testing.TB, model string, flags ...string) string {
	t.Helper()
	return BuildTo(t, filepath.Join(t.TempDir(), "story"), nil, model, flags...)
}

// BuildTo compiles a model to an executable at a given path, with an environment.
func BuildTo(t testing.TB, path string, env []string, model string, flags ...string) string {
	t.Helper()
	Command{Args: append([]string{Path(), "build", model, "-o", path}, flags...), Env: env}.Run(t)
	return path
}
