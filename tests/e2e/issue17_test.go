package e2e

import (
	"fmt"
	"testing"
)

// Machines of this file were found by tests/seams and by hand; each made a program that told
// another story, or none, while its plan was proved.

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

// TestWorkersWaitForQueues has a backend without queues wait for an event of another one, in an
// epoch that the processor's workers share: all have to wait, not worker 0 alone.
func TestWorkersWaitForQueues(t *testing.T) {
	m := machine{
		"find 4",
		"target fake:0 like=fake space=m0\ntarget d1 like=fake space=m1 queues=0\ntarget cpu like=cpu\n",
		[]string{"--rules", "ggml-2026", "--pin", `blk\.1\.=cpu`, "--pin", "token_embd=d1"},
	}
	exe := m.mustBuildOn(t)
	for seed, ref := range aidreamsReferences(t) {
		executable(exe, "--threads", "2", "--fake-seed", fmt.Sprint(seed)).tells(t, ref)
	}
}

// TestPanelsAreNotCopied has panels of weights that are copied a layer ahead, which no repeat can
// carry, as no kernel copies panels.
func TestPanelsAreNotCopied(t *testing.T) {
	m := machine{
		"find 3",
		"target d0 like=fake space=m0 queues=2\ntarget cpu like=cpu\n",
		[]string{"--pipeline", "2", "--pin", `blk\.0\.=d0`, "--pin", "attn_output.=d0"},
	}
	exe := m.mustBuildOn(t)
	executable(exe).tells(t, aidreamsReferences(t)[0])
}

// TestSmallAlignment has a processor that asks for less alignment than workers' scratch has.
func TestSmallAlignment(t *testing.T) {
	m := machine{"find 1", "target cpu like=cpu align=16\n", nil}
	executable(m.mustBuildOn(t), "--threads", "2").tells(t, aidreamsReferences(t)[0])
}
