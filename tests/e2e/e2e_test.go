// Package e2e holds tests from a model file to the tokens that a program prints. Tests that take more than a few
// seconds run if GGMLC_REQUIRE names e2e; see package needtest.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// ggmlcPath is the ggmlc that all tests run. TestMain builds it.
var ggmlcPath string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ggmlc-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ggmlcPath = filepath.Join(dir, "ggmlc")
	code := 1
	if out, err := exec.Command("go", "build", "-o", ggmlcPath, "../../cmd/ggmlc").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "go build ggmlc: %v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// command is a program that a test runs.
type command struct {
	args []string
	dir  string   // empty: the test's
	env  []string // added to this process' environment
	set  func(*exec.Cmd)
}

// commandTime is far more than any command takes, even in an emulator.
const commandTime = 5 * time.Minute

// run runs the command and returns its standard output. A failure ends the test.
func (c command) run(t testing.TB) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.args[0], c.args[1:]...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), c.env...)
	if c.set != nil {
		c.set(cmd)
	}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %v\n%s", c.args, err, tail(errs.Bytes()))
	}
	return out.Bytes()
}

// tail returns the end of a command's output, which contains the reason of a failure.
func tail(b []byte) []byte { return b[max(0, len(b)-4000):] }

// ggmlc runs ggmlc and returns its standard output.
func ggmlc(t testing.TB, args ...string) []byte {
	t.Helper()
	return command{args: append([]string{ggmlcPath}, args...)}.run(t)
}

// build compiles a model to an executable in a temporary folder and returns its path.
func build(t testing.TB, model string, flags ...string) string {
	t.Helper()
	return buildTo(t, filepath.Join(t.TempDir(), "story"), nil, model, flags...)
}

// buildTo compiles a model to an executable at a given path, with an environment.
func buildTo(t testing.TB, path string, env []string, model string, flags ...string) string {
	t.Helper()
	command{args: append([]string{ggmlcPath, "build", model, "-o", path}, flags...), env: env}.run(t)
	return path
}

// aidreams is the small trained model for which tokens of llama.cpp are recorded.
func aidreams(t testing.TB) string { return needtest.Data(t, "aidreams260K.gguf") }

// demo returns the path of the demo model of ggmlc.
func demo(t testing.TB) string {
	return filepath.Join(needtest.Root(t), "cmd", "ggmlc", "demo", "stories.gguf")
}
