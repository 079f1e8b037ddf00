package e2e

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// maxProgramBytes is the largest size of the executable of a model of 1 MB, without its weights (issue 3).
const maxProgramBytes = 6 << 20

func TestBuildTellsWhatTheReferenceTells(t *testing.T) {
	exe := e2etest.Build(t, e2etest.AIDreams(t), "--kv", "f32")
	e2etest.Executable(exe).TellsAll(t, e2etest.AIDreamsReferences(t))
	t.Run("static", func(t *testing.T) { checkStatic(t, exe) })
	t.Run("size", func(t *testing.T) { checkSize(t, exe, e2etest.AIDreams(t)) })
	t.Run("threads", func(t *testing.T) { threads(t, exe) })
	t.Run("empty root", func(t *testing.T) { emptyRoot(t, exe) })
}

func checkStatic(t *testing.T, exe string) {
	f, err := elf.Open(exe)
	if err != nil {
		t.Skip("skip: executables are no ELF files here")
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the executable wants a loader: it has %v", p.Type)
		}
	}
}

func checkSize(t *testing.T, exe, model string) {
	program, err := os.Stat(exe)
	if err != nil {
		t.Fatal(err)
	}
	weights, err := os.Stat(model)
	if err != nil {
		t.Fatal(err)
	}
	if got := program.Size() - weights.Size(); got > maxProgramBytes {
		t.Errorf("%d bytes besides the weights, want at most %d", got, maxProgramBytes)
	}
}

// threads checks that all numbers of threads, even above the number of processors, give the same bits: it compares
// the whole output, not only ids.
func threads(t *testing.T, exe string) {
	ref := e2etest.AIDreamsReferences(t)[0]
	var first []byte
	for _, n := range []string{"1", "2", "3", "7"} {
		p := e2etest.Executable(exe, "--threads", n)
		p.Env = []string{"GOMAXPROCS=7"}
		p.Tells(t, ref)
		args := []string{exe, "--prompt", ref.Prompt, "-n", "24", "--json", "--logits", "--threads", n}
		out := e2etest.Command{Args: args, Env: p.Env}.Run(t)
		out = out[:bytes.LastIndex(out, []byte(`{"summary"`))]
		if first == nil {
			first = out
		}
		if !bytes.Equal(out, first) {
			t.Errorf("%s threads give other logits than 1", n)
		}
	}
}

func TestDemoTellsWhatItsTrainerTells(t *testing.T) {
	refs := e2etest.DemoReferences(t)
	if testing.Short() {
		refs = refs[:1]
	}
	e2etest.Executable(e2etest.Build(t, e2etest.Demo(t), "--kv", "f32")).TellsAll(t, refs)
}

// TestRunCompilesOnce: run keeps the executable in the user's cache, so the second call compiles nothing.
func TestRunCompilesOnce(t *testing.T) {
	env := needtest.CacheEnv(t, t.TempDir())
	p := e2etest.Program{Words: []string{e2etest.Path(), "run", "--kv", "f32", e2etest.AIDreams(t)}, Env: env}
	refs := e2etest.AIDreamsReferences(t)
	p.Tells(t, refs[0])
	p.Env = append(env, "PATH=") // without the Go command
	p.TellsAll(t, refs[1:])
}

func TestRunWithoutModelRunsTheDemo(t *testing.T) {
	p := e2etest.Program{Words: []string{e2etest.Path(), "run", "--kv", "f32", "--"}, Env: needtest.CacheEnv(t, t.TempDir())}
	p.Tells(t, e2etest.DemoReferences(t)[0])
}

// TestBuildsAreIdentical builds the same model in two places, from two folders.
func TestBuildsAreIdentical(t *testing.T) {
	var exes [2][]byte
	for i := range exes {
		dir := t.TempDir()
		e2etest.CopyFile(t, e2etest.Demo(t), filepath.Join(dir, "stories.gguf"))
		e2etest.Command{Args: []string{e2etest.Path(), "build", "stories.gguf", "-o", "story"}, Dir: dir}.Run(t)
		exes[i] = e2etest.ReadFile(t, filepath.Join(dir, "story"))
	}
	if !bytes.Equal(exes[0], exes[1]) {
		t.Error("two builds in two folders differ")
	}
}

func TestPureGoTellsTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	e2etest.Executable(e2etest.Build(t, e2etest.AIDreams(t), "--kv", "f32", "--tags", "purego")).TellsAll(t, e2etest.AIDreamsReferences(t))
}

func TestWeightsFileBesideTellsTheSame(t *testing.T) {
	dir := t.TempDir()
	exe, weights := filepath.Join(dir, "story"), filepath.Join(dir, "story.weights")
	e2etest.BuildTo(t, exe, nil, e2etest.AIDreams(t), "--kv", "f32", "--weights", weights)
	ref := e2etest.AIDreamsReferences(t)[0]
	e2etest.Executable(exe, "--weights", weights).Tells(t, ref)

	damaged := filepath.Join(dir, "damaged")
	data := e2etest.ReadFile(t, weights)
	data[len(data)/2] ^= 1
	e2etest.WriteFile(t, damaged, data)
	for _, args := range [][]string{{"verify"}, {"--tokens", "1", "-n", "1"}} {
		if out, err := exec.Command(exe, append(args, "--weights", damaged)...).CombinedOutput(); err == nil {
			t.Errorf("%v does not notice a changed byte: %s", args, out)
		}
	}
	e2etest.Command{Args: []string{exe, "verify", "--weights", weights}}.Run(t)
}

// TestBuildIsHermetic builds without network, module cache or build cache: ggmlc contains everything.
func TestBuildIsHermetic(t *testing.T) {
	needtest.Slow(t, "e2e")
	dir := t.TempDir()
	env := []string{"GOMODCACHE=" + filepath.Join(dir, "mod"), "GOCACHE=" + filepath.Join(dir, "cache"), "GOPROXY=off", "GOFLAGS=-mod=mod"}
	c := e2etest.Command{Args: []string{e2etest.Path(), "build", e2etest.Demo(t), "-o", filepath.Join(dir, "story"), "--kv", "f32"}, Env: env, Set: withoutNetwork(t)}
	c.Run(t)
	e2etest.Executable(filepath.Join(dir, "story")).Tells(t, e2etest.DemoReferences(t)[0])
}

// TestProgramHasNoRaces runs the emitted program under Go's race detector, with kernels in Go.
func TestProgramHasNoRaces(t *testing.T) {
	needtest.Slow(t, "race")
	needtest.Tool(t, "race", "gcc")
	exe := e2etest.Build(t, e2etest.AIDreams(t), "--kv", "f32", "--race", "--tags", "purego")
	ref := e2etest.AIDreamsReferences(t)[0]
	for _, n := range []string{"1", "2", "3"} {
		p := e2etest.Executable(exe, "--threads", n)
		p.Env = []string{"GORACE=halt_on_error=1", "GOMAXPROCS=3"}
		p.Tells(t, ref)
	}
}

// TestGGMLCIsStatic: ggmlc starts without a C library, such as on Alpine.
func TestGGMLCIsStatic(t *testing.T) {
	exe := filepath.Join(t.TempDir(), "ggmlc")
	e2etest.Command{Args: []string{"go", "build", "-o", exe, "github.com/ggmlc/ggmlc/cmd/ggmlc"}, Env: []string{"CGO_ENABLED=0"}}.Run(t)
	checkStatic(t, exe)
}
