package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/ggmlc/ggmlc/cmd/ggmlc/demo"
	"github.com/ggmlc/ggmlc/frontend/arch/archtest"
	"github.com/ggmlc/ggmlc/frontend/gguf"
)

var update = flag.Bool("update", false, "rewrite what scripts expect")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"ggmlc": main})
}

// TestScripts runs testdata/script. In addition to testscript's own commands there are
//
//	status N ggmlc ARGS…   run and expect the exit status N
//	tree DIR               print the names below a folder to stdout, for cmp
//	gguf FILE KIND         write a small model: see ggufKinds
//	share NAME             name the executable of stories.gguf, built once for all scripts
//	tmpfs DIR OPTIONS      mount a file system on DIR (condition root)
//	wait-for FILE          until it exists
//
// and in each folder stories.gguf, the demo model. Comparisons of scripts are exact; -update rewrites them.
func TestScripts(t *testing.T) {
	shared := &sharedProgram{dir: t.TempDir()}
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		Setup:               setUp,
		Condition:           condition,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status":   status,
			"tree":     tree,
			"gguf":     writeGGUF,
			"share":    shared.share,
			"tmpfs":    tmpfs,
			"wait-for": waitFor,
		},
	})
}

// setUp gives a script its own folders, but the build cache of the user: without it each script would compile the
// standard library.
func setUp(env *testscript.Env) error {
	goCache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return err
	}
	env.Setenv("GOCACHE", strings.TrimSpace(string(goCache)))
	env.Setenv("HOME", filepath.Join(env.WorkDir, "home"))
	env.Setenv("XDG_CACHE_HOME", filepath.Join(env.WorkDir, "cache"))
	env.Setenv("BIN", filepath.SplitList(env.Getenv("PATH"))[0]) // contains ggmlc only
	env.Setenv("GOOS", "")
	env.Setenv("GOARCH", "")
	return os.WriteFile(filepath.Join(env.WorkDir, demo.Name), demo.Model(), 0o666)
}

func condition(cond string) (bool, error) {
	if cond == "root" {
		return runtime.GOOS == "linux" && os.Getuid() == 0 && mountable(), nil
	}
	return false, errors.New("unknown condition " + cond)
}

// mountable reports whether this process may mount file systems. Containers often forbid it.
var mountable = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "mountable")
	if err != nil {
		return false
	}
	defer os.Remove(dir)
	if exec.Command("mount", "-t", "tmpfs", "tmpfs", dir).Run() != nil {
		return false
	}
	return exec.Command("umount", dir).Run() == nil
})

// status runs a command and compares its exit status.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N command…")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	var exit *exec.ExitError
	got := 0
	if err := ts.Exec(args[1], args[2:]...); errors.As(err, &exit) {
		got = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// tree prints the names in a folder, including hidden files.
func tree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: tree DIR")
	}
	root := ts.MkAbs(args[0])
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || path == root {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			rel += "/"
		}
		_, err = io.WriteString(ts.Stdout(), filepath.ToSlash(rel)+"\n")
		return err
	})
	ts.Check(err)
}

// ggufKinds are small files for scripts.
var ggufKinds = map[string]func(*gguf.Writer){
	"unsupported-type": func(w *gguf.Writer) {
		w.Set("general.architecture", "llama")
		w.Set("general.name", "four weights of two bits")
		w.Set("llama.block_count", uint32(1))
		w.Tensor("blk.0.ffn_up.weight", gguf.TensorIQ2_XS, []int{2, 256}, zeros(148))
	},
	"expanded": func(w *gguf.Writer) {
		w.Tensor("a", gguf.TensorIQ2_XS, []int{32, 256}, zeros(32*74))
		w.Tensor("b", gguf.TensorIQ2_XS, []int{16, 256}, zeros(16*74))
		w.Tensor("c", gguf.TensorTQ2_0, []int{16, 256}, zeros(16*66))
	},
	"other-architecture": func(w *gguf.Writer) { w.Set("general.architecture", "parrot") },
	"mlp":                writeMLP,
	"limited": func(w *gguf.Writer) { // to 5 positions
		writeLlama(w)
		w.Set("llama.attention.sliding_window", uint32(5))
	},
	"large": func(w *gguf.Writer) { // more than gen embeds
		w.Tensor("w", gguf.TensorF32, []int{4224, 4096}, zeros(4*4224*4096))
	},
}

func zeros(n int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(make([]byte, n))
		return err
	}
}

// writeLlama adds a llama with random weights.
func writeLlama(w *gguf.Writer) {
	models := archtest.Models()
	m := models[slices.IndexFunc(models, func(m archtest.Model) bool { return m.Arch() == "llama" })]
	for _, k := range m.Keys {
		w.Set(k.Name, k.Value)
	}
	for _, t := range m.Tensors {
		w.Tensor(t.Name, gguf.TensorF32, t.Shape, func(out io.Writer) error { return binary.Write(out, binary.LittleEndian, t.Data) })
	}
}

// writeMLP adds the weights of the scripts' MLP: w1 [8,4], w2 [3,8].
func writeMLP(w *gguf.Writer) {
	for _, m := range []struct {
		name       string
		rows, cols int
	}{{"w1", 8, 4}, {"w2", 3, 8}} {
		w.Tensor(m.name, gguf.TensorF32, []int{m.rows, m.cols}, zeros(4*m.rows*m.cols))
	}
}

func writeGGUF(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 || ggufKinds[args[1]] == nil {
		ts.Fatalf("usage: gguf FILE KIND")
	}
	w := gguf.NewWriter()
	ggufKinds[args[1]](w)
	var b bytes.Buffer
	_, err := w.WriteTo(&b)
	ts.Check(err)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), b.Bytes(), 0o666))
}

// sharedProgram is the executable of the demo model, built by the first script that needs it.
type sharedProgram struct {
	dir  string
	once sync.Once
	err  error
}

func (s *sharedProgram) share(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: share NAME")
	}
	path := filepath.Join(s.dir, "story")
	s.once.Do(func() { s.err = ts.Exec("ggmlc", "build", "--kv", "f32", "stories.gguf", "-o", path) })
	ts.Check(s.err)
	ts.Setenv(args[0], path)
}

// tmpfs mounts a file system, which is unmounted at the end of the script.
func tmpfs(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: tmpfs DIR OPTIONS")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(exec.Command("mount", "-t", "tmpfs", "-o", args[1], "tmpfs", dir).Run())
	ts.Defer(func() { ts.Check(exec.Command("umount", dir).Run()) })
}

// waitFor waits until a file exists.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	path := ts.MkAbs(args[0])
	for range 1000 {
		if _, err := os.Stat(path); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear within 10 s", args[0])
}
