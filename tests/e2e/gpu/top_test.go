package gpu

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestGPUsFindTheMostProbableTokens: steps that return only the most probable tokens lead to the same text as steps
// that return all logits, which --logits demands, and sampling with penalties.
func TestGPUsFindTheMostProbableTokens(t *testing.T) {
	ref := e2etest.AIDreamsReferences(t)[0]
	for _, kind := range []string{"gpusim", "vulkan", "cuda"} {
		t.Run(kind, func(t *testing.T) {
			var env, limits []string
			n := len(ref.Greedy)
			switch {
			case kind == "vulkan":
				needVulkan(t)
				limits = patient
			case kind == "gpusim":
				n = gpuSimTokens
			case !hasCUDA(t):
				needtest.Slow(t, "e2e")
				limits = patientCUDA
				env, n = []string{"LD_LIBRARY_PATH=" + simulatedCUDA(t)}, 4
			}
			exe := filepath.Join(t.TempDir(), "program")
			e2etest.BuildTo(t, exe, nil, e2etest.AIDreams(t), "--targets", kind+",cpu", "--deny", "cpu", "--kv", "f32", "--device-top-k", "5")
			if plan := string(e2etest.Command{Args: []string{exe, "plan"}}.Run(t)); !strings.Contains(plan, "\nfunction decode_top: ") {
				t.Fatalf("no step returns the most probable tokens only:\n%s", plan)
			}
			sameTokens(t, e2etest.Command{Args: slices.Concat([]string{exe, "--prompt", ref.Prompt, "-n", strconv.Itoa(n)}, limits), Env: env}, n)
		})
	}
}

// TestGPUsFindTheMostProbableTokensOfParts has a vocabulary in which several workgroups look for them.
func TestGPUsFindTheMostProbableTokensOfParts(t *testing.T) {
	needVulkan(t)
	exe := e2etest.Build(t, e2etest.WideModel(t), "--targets", "vulkan,cpu", "--deny", "cpu", "--device-top-k", "5")
	if plan := string(e2etest.GGMLC(t, "dump", e2etest.WideModel(t), "--device-top-k", "5", "--after", "import", "--func", "decode_top")); !strings.Contains(plan, "-> (ids: i32[10,5], ") {
		t.Errorf("not in parts:\n%s", plan)
	}
	const n = 12
	sameTokens(t, e2etest.Command{Args: slices.Concat([]string{exe, "--tokens", "1,400,31000", "-n", strconv.Itoa(n)}, patient)}, n)
}

// sameTokens runs a program, greedy and drawing, with all logits and without, and compares n tokens.
func sameTokens(t *testing.T, c e2etest.Command, n int) {
	t.Helper()
	for _, sampling := range [][]string{{"--temp", "0"}, {"--temp", "1", "--top-k", "5", "--seed", "3"}} {
		tokens := func(flags ...string) (ids []int32) {
			t.Helper()
			with := c
			with.Args = slices.Concat(c.Args, []string{"--json", "--ignore-eos"}, sampling, flags)
			lines, err := e2etest.ParseTokens(with.Run(t))
			if err != nil {
				t.Fatal(err)
			}
			for _, line := range lines[:len(lines)-1] {
				ids = append(ids, *line.ID)
			}
			return ids
		}
		few, all := tokens(), tokens("--logits")
		if len(few) != n || !slices.Equal(few, all) {
			t.Errorf("%v: %v, with all logits %v", sampling, few, all)
		}
	}
}
