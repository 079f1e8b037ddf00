package e2e

import (
	"bytes"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

// maxProgramBytes is the largest size of the executable of a model of 1 MB, without its weights (issue 3).
const maxProgramBytes = 6 << 20

func TestBuildTellsWhatTheReferenceTells(t *testing.T) {
	exe := build(t, aidreams(t), "--kv", "f32")
	executable(exe).tellsAll(t, aidreamsReferences(t))
	t.Run("static", func(t *testing.T) { checkStatic(t, exe) })
	t.Run("size", func(t *testing.T) { checkSize(t, exe, aidreams(t)) })
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
	ref := aidreamsReferences(t)[0]
	var first []byte
	for _, n := range []string{"1", "2", "3", "7"} {
		p := executable(exe, "--threads", n)
		p.env = []string{"GOMAXPROCS=7"}
		p.tells(t, ref)
		args := []string{exe, "--prompt", ref.Prompt, "-n", "24", "--json", "--logits", "--threads", n}
		out := command{args: args, env: p.env}.run(t)
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
	refs := demoReferences(t)
	if testing.Short() {
		refs = refs[:1]
	}
	executable(build(t, demo(t), "--kv", "f32")).tellsAll(t, refs)
}

// TestRunCompilesOnce: run keeps the executable in the user's cache, so the second call compiles nothing.
func TestRunCompilesOnce(t *testing.T) {
	env := needtest.CacheEnv(t, t.TempDir())
	p := program{words: []string{ggmlcPath, "run", "--kv", "f32", aidreams(t)}, env: env}
	refs := aidreamsReferences(t)
	p.tells(t, refs[0])
	p.env = append(env, "PATH=") // without the Go command
	p.tellsAll(t, refs[1:])
}

func TestRunWithoutModelRunsTheDemo(t *testing.T) {
	p := program{words: []string{ggmlcPath, "run", "--kv", "f32", "--"}, env: needtest.CacheEnv(t, t.TempDir())}
	p.tells(t, demoReferences(t)[0])
}

// TestBuildsAreIdentical builds the same model in two places, from two folders.
func TestBuildsAreIdentical(t *testing.T) {
	var exes [2][]byte
	for i := range exes {
		dir := t.TempDir()
		copyFile(t, demo(t), filepath.Join(dir, "stories.gguf"))
		command{args: []string{ggmlcPath, "build", "stories.gguf", "-o", "story"}, dir: dir}.run(t)
		exes[i] = readFile(t, filepath.Join(dir, "story"))
	}
	if !bytes.Equal(exes[0], exes[1]) {
		t.Error("two builds in two folders differ")
	}
}

func TestPureGoTellsTheSame(t *testing.T) {
	needtest.Slow(t, "e2e")
	executable(build(t, aidreams(t), "--kv", "f32", "--tags", "purego")).tellsAll(t, aidreamsReferences(t))
}

func TestWeightsFileBesideTellsTheSame(t *testing.T) {
	dir := t.TempDir()
	exe, weights := filepath.Join(dir, "story"), filepath.Join(dir, "story.weights")
	buildTo(t, exe, nil, aidreams(t), "--kv", "f32", "--weights", weights)
	ref := aidreamsReferences(t)[0]
	executable(exe, "--weights", weights).tells(t, ref)

	damaged := filepath.Join(dir, "damaged")
	data := readFile(t, weights)
	data[len(data)/2] ^= 1
	writeFile(t, damaged, data)
	for _, args := range [][]string{{"verify"}, {"--tokens", "1", "-n", "1"}} {
		if out, err := exec.Command(exe, append(args, "--weights", damaged)...).CombinedOutput(); err == nil {
			t.Errorf("%v does not notice a changed byte: %s", args, out)
		}
	}
	command{args: []string{exe, "verify", "--weights", weights}}.run(t)
}

// TestBuildIsHermetic builds without network, module cache or build cache: ggmlc contains everything.
func TestBuildIsHermetic(t *testing.T) {
	needtest.Slow(t, "e2e")
	dir := t.TempDir()
	env := []string{"GOMODCACHE=" + filepath.Join(dir, "mod"), "GOCACHE=" + filepath.Join(dir, "cache"), "GOPROXY=off", "GOFLAGS=-mod=mod"}
	c := command{args: []string{ggmlcPath, "build", demo(t), "-o", filepath.Join(dir, "story"), "--kv", "f32"}, env: env, set: withoutNetwork(t)}
	c.run(t)
	executable(filepath.Join(dir, "story")).tells(t, demoReferences(t)[0])
}

// TestProgramHasNoRaces runs the emitted program under Go's race detector, with kernels in Go.
func TestProgramHasNoRaces(t *testing.T) {
	needtest.Slow(t, "race")
	needtest.Tool(t, "race", "gcc")
	exe := build(t, aidreams(t), "--kv", "f32", "--race", "--tags", "purego")
	ref := aidreamsReferences(t)[0]
	for _, n := range []string{"1", "2", "3"} {
		p := executable(exe, "--threads", n)
		p.env = []string{"GORACE=halt_on_error=1", "GOMAXPROCS=3"}
		p.tells(t, ref)
	}
}

func copyFile(t testing.TB, from, to string) { writeFile(t, to, readFile(t, from)) }

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func writeFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
