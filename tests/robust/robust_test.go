// Package robust tests whole programs under bad conditions: ggmlc with wrong files and folders, and its programs with
// weights that change, few processors, and signals at any moment. Every failure is an error with a message and an
// exit status. Any panic is a bug.
package robust

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Exit statuses; see "Exit statuses" in docs/reference/commands.md.
const (
	statusDone        = 0
	statusModel       = 1
	statusUsage       = 2
	statusInterrupted = 1
)

// folder holds what the tests share: the compiler and its programs.
var folder string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "ggmlc-robust-")
	if err != nil {
		panic(err)
	}
	folder = dir
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// ggmlc returns the path of the compiler, built once.
func ggmlc(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("skip: -short: whole programs are built")
	}
	path, err := compiler()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var compiler = sync.OnceValues(func() (string, error) {
	path := filepath.Join(folder, "ggmlc")
	out, err := exec.Command("go", "build", "-o", path, "github.com/ggmlc/ggmlc/cmd/ggmlc").CombinedOutput()
	if err != nil {
		return "", errors.New(string(out))
	}
	return path, nil
})

// outcome is how a program ended.
type outcome struct {
	status         int // -1 if a signal ended it
	stdout, stderr string
}

// run runs a program to its end, within the time patience.
func run(t *testing.T, path string, args ...string) outcome {
	t.Helper()
	return finish(t, exec.Command(path, args...))
}

// patience is how long a program may take, including compilations and a busy machine.
const patience = 60 * time.Second

// finish runs a command to its end.
func finish(t *testing.T, cmd *exec.Cmd) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stop := context.AfterFunc(ctx, func() { cmd.Process.Signal(syscall.SIGQUIT) })
	err := cmd.Wait()
	stop()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v: %v", cmd.Args, err)
	}
	o := outcome{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	if ctx.Err() != nil {
		t.Fatalf("%v did not end within %v:\n%s", cmd.Args, patience, tail(o.stderr))
	}
	return o
}

// want checks an outcome: the status, and words that the message must contain.
func (o outcome) want(t *testing.T, status int, words ...string) {
	t.Helper()
	for _, bad := range []string{"panic:", "goroutine ", "internal error", "SIGSEGV", "SIGBUS", "%!"} {
		if strings.Contains(o.stderr, bad) {
			t.Fatalf("%q on standard error:\n%s", bad, tail(o.stderr))
		}
	}
	if o.status != status {
		t.Fatalf("exit status %d, want %d; standard error:\n%s", o.status, status, tail(o.stderr))
	}
	for _, w := range words {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("standard error does not say %q:\n%s", w, tail(o.stderr))
		}
	}
}

// tail shortens a long text.
func tail(s string) string {
	const most = 4000
	if len(s) > most {
		return "…" + s[len(s)-most:]
	}
	return s
}
