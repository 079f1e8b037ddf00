package e2e

import (
	"fmt"
	"testing"
)

// The machines of this file were found by tests/seams and by hand. Each made a program with wrong output or none,
// although its plan was proved.

// TestIterationsWaitForQueues runs models whose repeats begin with a backend without queues, in host memory, after a
// layer on a backend with a queue. The host has to wait before the first iteration.
func TestIterationsWaitForQueues(t *testing.T) {
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

// TestWorkersWaitForQueues has a backend without queues that waits for an event of another backend in an epoch that
// several CPU workers share. All workers have to wait, not worker 0 alone.
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

// TestPanelsAreNotCopied has panels of weights that would be copied a layer ahead. No repeat can carry them, as no
// kernel copies panels.
func TestPanelsAreNotCopied(t *testing.T) {
	m := machine{
		"find 3",
		"target d0 like=fake space=m0 queues=2\ntarget cpu like=cpu\n",
		[]string{"--pipeline", "2", "--pin", `blk\.0\.=d0`, "--pin", "attn_output.=d0"},
	}
	exe := m.mustBuildOn(t)
	executable(exe).tells(t, aidreamsReferences(t)[0])
}

// TestSmallAlignmentTellsTheSame has a CPU target whose alignment is smaller than that of workers' scratch.
func TestSmallAlignmentTellsTheSame(t *testing.T) {
	m := machine{"find 1", "target cpu like=cpu align=16\n", nil}
	executable(m.mustBuildOn(t), "--threads", "2").tells(t, aidreamsReferences(t)[0])
}
