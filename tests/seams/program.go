package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/codegen"
)

// Time limits: a hundred times the usual time on a machine with two cores.
const (
	compileLimit = 60 * time.Second
	linkLimit    = 300 * time.Second
	runLimit     = 30 * time.Second
)

// runLimit returns the time limit of a run. Simulated GPUs are a thousand times as slow as the processor.
func (o *options) runLimit() time.Duration {
	if o.gpus == "gpusim" {
		return 20 * runLimit
	}
	return runLimit
}

// outcome is how a process ended.
type outcome struct {
	status         int
	late           bool // it was killed after its time limit
	stdout, stderr string
}

// execute runs a command in a folder.
func execute(ctx context.Context, limit time.Duration, dir string, env []string, name string, args ...string) outcome {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = time.Second
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	o := outcome{stdout: stdout.String(), stderr: stderr.String(), late: errors.Is(ctx.Err(), context.DeadlineExceeded)}
	if err != nil {
		o.status = -1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			o.status = exit.ExitCode()
		} else {
			o.stderr += err.Error()
		}
	}
	return o
}

// broken describes what is wrong with an outcome for any input; "" means nothing.
func (o outcome) broken() string {
	switch {
	case o.late:
		return "does not end"
	case o.status < 0 || o.status > 3:
		return fmt.Sprintf("ends with status %d", o.status)
	case strings.Contains(o.stderr, "goroutine ") || strings.Contains(o.stderr, "internal error") || strings.Contains(o.stderr, "bug of ggmlc"):
		return "reports a bug"
	}
	return ""
}

// workshop is a folder in which emitted packages become one executable, since a link takes as long as all other work
// of a try.
type workshop struct {
	dir      string
	packages []string
	exe      string
}

// newWorkshop prepares a folder whose module reads the runtime's sources at sources.
func newWorkshop(dir, sources string) (*workshop, error) {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return nil, err
	}
	mod := "module program\n\ngo 1.26\n\nrequire " + codegen.ModulePath + " v0.0.0\n\nreplace " + codegen.ModulePath + " => " + sources + "\n" + codegen.DriverMod
	err := errors.Join(os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o666), os.WriteFile(filepath.Join(dir, "go.sum"), []byte(codegen.DriverSum), 0o666))
	return &workshop{dir: dir, exe: filepath.Join(dir, "program")}, err
}

// add adds the package that ggmlc has written to the folder with that name.
func (w *workshop) add(name string) error {
	w.packages = append(w.packages, name)
	text := "package " + name + "\n\nimport \"" + codegen.ModulePath + "/runtime\"\n\n" +
		"// Main is the command line of the program.\nfunc Main() { runtime.Main(&program) }\n"
	return os.WriteFile(filepath.Join(w.dir, name, "seams_main.go"), []byte(text), 0o666)
}

// remove takes a package out again.
func (w *workshop) remove(name string) {
	w.packages = slices.DeleteFunc(w.packages, func(p string) bool { return p == name })
}

// link makes the executable. Its first argument is the name of a package.
func (w *workshop) link(ctx context.Context) outcome {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n\t\"os\"\n\n")
	for _, p := range w.packages {
		fmt.Fprintf(&b, "\t%q\n", "program/"+p)
	}
	b.WriteString(")\n\nfunc main() {\n\tos.Args = os.Args[1:]\n\tswitch os.Args[0] {\n")
	for _, p := range w.packages {
		fmt.Fprintf(&b, "\tcase %q:\n\t\t%s.Main()\n", p, p)
	}
	b.WriteString("\t}\n}\n")
	if err := os.WriteFile(filepath.Join(w.dir, "main.go"), []byte(b.String()), 0o666); err != nil {
		return outcome{status: -1, stderr: err.Error()}
	}
	env := []string{"GOFLAGS=", "GOWORK=off", "GOPROXY=off", "GOTOOLCHAIN=local", "CGO_ENABLED=0"}
	return execute(ctx, linkLimit, w.dir, env, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", w.exe, ".")
}
