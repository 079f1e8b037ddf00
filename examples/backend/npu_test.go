package npu

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/backend/backendtest"
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
	dir := t.TempDir()
	ggmlc, story := filepath.Join(dir, "ggmlc.exe"), filepath.Join(dir, "story.exe")
	run(t, "go", "build", "-o", ggmlc, "./ggmlc")
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
