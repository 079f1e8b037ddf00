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

// TestGPUsFindTheMostProbableTokens: steps that return the most probable tokens only lead to the same text as those
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
			for _, sampling := range [][]string{{"--temp", "0"}, {"--temp", "1", "--top-k", "5", "--seed", "3"}} {
				tokens := func(flags ...string) (ids []int32) {
					t.Helper()
					args := slices.Concat([]string{exe, "--prompt", ref.Prompt, "-n", strconv.Itoa(n), "--json", "--ignore-eos"}, sampling, flags, limits)
					lines, err := e2etest.ParseTokens(e2etest.Command{Args: args, Env: env}.Run(t))
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
		})
	}
}
