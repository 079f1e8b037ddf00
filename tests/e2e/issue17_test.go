package e2e

import (
	"fmt"
	"testing"
)

// TestRoundsWaitForQueues runs models whose rounds begin with a backend without queues, in
// memory of the host, after a layer on a backend with one: the host has to wait before the
// first round. Programs did not wait, and told other stories.
func TestRoundsWaitForQueues(t *testing.T) {
	targets := "target d0 like=fake space=host queues=0 events=false\ntarget d1 like=fake space=va queues=1\ntarget cpu like=cpu\n"
	down := []string{"--pin", `blk\.1\..*ffn_down=d1`}
	for _, m := range []machine{
		{"issue17-2 ggml-2026", targets, append([]string{"--rules", "ggml-2026"}, down...)},
		{"issue17-2 cost", targets, append([]string{"--rules", "cost"}, append(down, "--pin", "blk=d0")...)},
	} {
		t.Run(m.name, func(t *testing.T) {
			exe := m.mustBuildOn(t)
			for seed, ref := range aidreamsReferences(t) {
				executable(exe, "--fake-seed", fmt.Sprint(seed)).tells(t, ref)
			}
		})
	}
}
