package gpu_test

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
)

// TestHardValuesAreOrderedAsEvalDoes runs the check of the conformance suite on several machines.
func TestHardValuesAreOrderedAsEvalDoes(t *testing.T) {
	for _, c := range gputest.Suite(gputest.Counts{})[0].Checks {
		if !strings.HasSuffix(c.Name, "/hard values") {
			continue
		}
		for seed := range uint64(4) {
			if err := c.Run(t.Context(), simulate(seed)); err != nil {
				t.Errorf("%s, machine %d: %v", c.Name, seed, err)
			}
		}
		return
	}
	t.Error("the suite has no hard values")
}
