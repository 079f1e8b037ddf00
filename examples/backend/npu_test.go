package npu

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/backend/backendtest"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
)

// TestConformance compares the kernels with the meaning of their ops.
func TestConformance(t *testing.T) { backendtest.Conformance(t, "npu") }

// sharedData is the folder of the project's real models.
const sharedData = "../../../shared/data"

// reference is what llama.cpp generated for a prompt.
type reference struct {
	Prompt string
	Greedy []int
}

// TestReferenceTokens builds ggmlc with this backend, a program with that, and compares what the program generates with
// llama.cpp's tokens.
func TestReferenceTokens(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(sharedData, "aidreams260K.greedy.json"))
	if err != nil {
		if strings.Contains(os.Getenv("GGMLC_REQUIRE"), "data") {
			t.Fatal(err)
		}
		t.Skip("skip: the shared data is not here: ", err)
	}
	var refs []reference
	if err := json.Unmarshal(data, &refs); err != nil || len(refs) == 0 {
		t.Fatalf("%d references, error %v", len(refs), err)
	}
	ggmlc, story := compiler(t, "."), filepath.Join(t.TempDir(), "story.exe")
	run(t, ggmlc, "build", filepath.Join(sharedData, "aidreams260K.gguf"), "-o", story, "--targets", "npu,cpu", "--rules", "ggml-2026", "--kv", "f32")
	plan := run(t, story, "plan")
	if n := strings.Count(plan, " on npu"); n < 20 {
		t.Errorf("only %d splits are on the device:\n%s", n, plan)
	}
	if strings.Contains(plan, "copies in") {
		t.Errorf("the plan has copies, though there is one memory:\n%s", plan)
	}
	for _, r := range refs {
		if got := generated(t, run(t, story, "--prompt", r.Prompt, "-n", fmt.Sprint(len(r.Greedy)), "--temp", "0", "--json")); !slices.Equal(got, r.Greedy) {
			t.Errorf("%q: tokens %v, want %v", r.Prompt, got, r.Greedy)
		}
	}
}

// TestCompareFindsAWrongKernel makes a copy of this module in which the last of eight lanes of swiglu is wrong. ggmlc
// compare names the first node that it computes, and none before.
func TestCompareFindsAWrongKernel(t *testing.T) {
	const right, wrong = "y[i] = float32(", "y[i] = (1 + float32(i%8/7)/64) * float32("
	dir := filepath.Join(t.TempDir(), "wrong")
	if err := os.CopyFS(dir, os.DirFS(".")); err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "npurt", "kernels.go"), right, wrong)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	edit(t, filepath.Join(dir, "go.mod"), "=> ../..", "=> "+filepath.ToSlash(root))
	text := filepath.Join(dir, "gated.ggir")
	if err := os.WriteFile(text, []byte(gated), 0o666); err != nil {
		t.Fatal(err)
	}
	args := []string{"compare", text, "--targets", "npu,cpu", "--rules", "ggml-2026", "--with", "eval", "call", "f", "x=" + filepath.Join(dir, "x.npy")}
	writeArray(t, filepath.Join(dir, "x.npy"), 3, 16)
	cmd := exec.Command(compiler(t, dir), args...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v, want status 1\n%s", err, out)
	}
	if text := string(out); !strings.Contains(text, "%gate") || !regexp.MustCompile(`(?m)^ggmlc: .*%both = swiglu`).MatchString(text) {
		t.Errorf("it does not name %%both as the first wrong node:\n%s", text)
	}

	// On a group of the processor and the device, only half of the elements are wrong.
	divided := strings.ReplaceAll(halves, "WEIGHT", strings.Repeat("0000003f000080be000040bf", 16*16/3+1)[:16*16*8])
	if err := os.WriteFile(text, []byte(divided), 0o666); err != nil {
		t.Fatal(err)
	}
	args = append([]string{"compare", text, "--targets", "npu,cpu", "--group", "tp=cpu*1,npu*1", "--shard", "up=axis0"}, args[6:]...)
	cmd = exec.Command(compiler(t, dir), args...)
	out, err = cmd.CombinedOutput()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("%v, want status 1\n%s", err, out)
	}
	if text := string(out); !regexp.MustCompile(`(?m)^ggmlc: .*%b = swiglu differs in step 0: element \[\d (8|9|1\d)\] is [^,]* on npu, and in the definition`).MatchString(text) {
		t.Errorf("it does not name %%b on npu:\n%s", text)
	}
}

// halves is a function of which two devices have 8 columns each.
const halves = `weight "up" : f32[16,16] = literal "WEIGHT"
func @f(%x: f32[3,16]) -> (y: f32[3,16]) {
  %up = weight "up" : f32[16,16]
  %a = matmul %x, %up
  %b = swiglu %a, %a
  return %b
}
`

// gated is a function whose second node is the first one that a wrong swiglu falsifies.
const gated = `func @f(%x: f32[3,16]) -> (y: f32[3,16]) {
  %gate = neg %x
  %both = swiglu %gate, %x
  %more = abs %both
  %y = swiglu %more, %x
  return %y
}
`

// writeArray writes numbers from -1 to 1 as a NumPy file.
func writeArray(t *testing.T, path string, rows, cols int) {
	t.Helper()
	a := runtime.Array{Type: dtype.F32, Shape: []int{rows, cols}}
	for i := range rows * cols {
		a.Data = binary.LittleEndian.AppendUint32(a.Data, math.Float32bits(float32(i%17)/8-1))
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(runtime.WriteNPY(f, a), f.Close()); err != nil {
		t.Fatal(err)
	}
}

// edit puts a text in the place of the only one that is equal to old.
func edit(t *testing.T, path, old, replacement string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil || strings.Count(string(data), old) != 1 {
		t.Fatalf("%s has %q %d times, error %v", path, old, strings.Count(string(data), old), err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), old, replacement, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
}

// compiler returns a ggmlc with the backend of a module's folder.
func compiler(t *testing.T, dir string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "ggmlc.exe")
	run(t, "go", "build", "-C", dir, "-o", path, "./ggmlc")
	return path
}

// generated returns the ids in the output of a program.
func generated(t *testing.T, out string) (ids []int) {
	t.Helper()
	for line := range strings.Lines(out) {
		var token struct{ ID *int }
		if err := json.Unmarshal([]byte(line), &token); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if token.ID != nil {
			ids = append(ids, *token.ID)
		}
	}
	return ids
}

// run returns what a command prints.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, problems.String())
	}
	return string(out)
}
