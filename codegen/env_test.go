package codegen

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// probe is a program whose bytes change with the tags, the processor and the experiments that
// it is built for.
var probe = &Package{Files: []SourceFile{{"main.go", []byte(`package main

import "` + ModulePath + `/kernels/cpu"

func main() { println(cpu.Active()) }
`)}}}

// TestBuildIsHermetic builds one program in this environment and in those of users who have
// changed how their Go builds; the executables must be equal.
func TestBuildIsHermetic(t *testing.T) {
	if testing.Short() {
		t.Skip("go build takes seconds")
	}
	if runtime.GOOS == "windows" {
		t.Skip("the tool of this test is a shell script")
	}
	dir := t.TempDir()
	want := buildProbe(t, filepath.Join(dir, "plain"))
	touched := filepath.Join(dir, "touched")
	tool := filepath.Join(dir, "tool")
	if err := os.WriteFile(tool, []byte("#!/bin/sh\ntouch "+touched+"\nexec \"$@\"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
	settings := []string{"GOFLAGS=-tags=purego -toolexec=" + tool, "GOEXPERIMENT=nogreenteagc", "GOAMD64=v3", "GOARM64=v9.0", "GOFIPS140=latest",
		"GOCACHEPROG=" + tool, "GOWORK=" + filepath.Join(dir, "go.work"), "GOPROXY=https://localhost:1", "GOTOOLCHAIN=go1.99.0", "GO111MODULE=off", "CGO_ENABLED=1", "CC=" + tool}
	t.Run("go env -w", func(t *testing.T) {
		home := t.TempDir()
		goCache(t)
		t.Setenv("HOME", home)
		t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
		for _, s := range settings {
			writeGoEnv(t, s)
		}
		if got := buildProbe(t, filepath.Join(dir, "written")); !bytes.Equal(got, want) {
			t.Error("the executable is another one")
		}
	})
	t.Run("variables", func(t *testing.T) {
		goCache(t)
		for _, s := range append(settings, "GOROOT=/nonexistent", "GOTOOLDIR=/nonexistent", "GODEBUG=http2client=0", "GOENV="+filepath.Join(dir, "env"), "CGO_CFLAGS=-O0", "GCCGO="+tool) {
			name, value, _ := strings.Cut(s, "=")
			t.Setenv(name, value)
		}
		if got := buildProbe(t, filepath.Join(dir, "set")); !bytes.Equal(got, want) {
			t.Error("the executable is another one")
		}
	})
	t.Run("files above the temporary folder", func(t *testing.T) {
		above := t.TempDir()
		for name, text := range map[string]string{"go.mod": "module above\n\ngo 1.99\n", "go.work": "go 1.99\n\nuse ./nothing\n", "vendor/modules.txt": "# x v1\n"} {
			path := filepath.Join(above, name)
			if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("TMPDIR", above)
		if got := buildProbe(t, filepath.Join(dir, "below")); !bytes.Equal(got, want) {
			t.Error("the executable is another one")
		}
	})
	if _, err := os.Stat(touched); err == nil {
		t.Error("a build has run a program of the user's settings")
	}
}

// buildProbe builds the probe and returns the executable.
func buildProbe(t *testing.T, out string) []byte {
	t.Helper()
	if err := Build(context.Background(), probe, BuildOptions{Out: out}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// goCache keeps the build cache in its place while the test sets other variables.
func goCache(t *testing.T) {
	t.Helper()
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOCACHE", strings.TrimSpace(string(out)))
}

// writeGoEnv adds a setting to the file of go env -w. The command itself would refuse to run
// after some of them.
func writeGoEnv(t *testing.T, setting string) {
	t.Helper()
	path, err := os.UserConfigDir()
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(path, "go", "env")
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(setting + "\n"); err != nil {
		t.Fatal(err)
	}
}

func TestBuildEnvHidesGoSettings(t *testing.T) {
	for name, value := range map[string]string{"GOFLAGS": "", "GOEXPERIMENT": "x", "gocacheprog": "x", "CC": "x", "CGO_LDFLAGS": "x", "GOCACHE": "/kept", "GOOS": "plan9", "LANG": "kept"} {
		t.Setenv(name, value)
	}
	env := buildEnv(BuildOptions{GOOS: "linux", GOARCH: "arm64"}, "/x")
	for _, want := range []string{"GOENV=off", "GOFLAGS=-trimpath", "CGO_ENABLED=0", "GOCACHE=/kept", "LANG=kept", "GOARCH=arm64"} {
		if !slices.Contains(env, want) {
			t.Errorf("%s is missing", want)
		}
	}
	for _, no := range []string{"GOEXPERIMENT=x", "gocacheprog=x", "CC=x", "CGO_LDFLAGS=x", "GOFLAGS="} {
		if slices.Contains(env, no) {
			t.Errorf("%s is passed on", no)
		}
	}
	systems := slices.DeleteFunc(slices.Clone(env), func(kv string) bool { return !strings.HasPrefix(kv, "GOOS=") })
	if systems[len(systems)-1] != "GOOS=linux" { // of several the last counts
		t.Errorf("the system is %q", systems)
	}
	if race := buildEnv(BuildOptions{Race: true}, "/x"); !slices.Contains(race, "CC=x") || !slices.Contains(race, "CGO_ENABLED=1") {
		t.Error("the race detector is built without the caller's C compiler")
	}
}
