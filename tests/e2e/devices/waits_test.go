package devices

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/tests/e2etest"
)

// The machines of this file were found by tests/seams and by hand. Each made a program with wrong output or none,
// although its plan was proved.

// TestIterationsWaitForQueues runs models whose repeats begin with a backend without queues, in host memory, after a
// layer on a backend with a queue. The host has to wait before the first iteration.
func TestIterationsWaitForQueues(t *testing.T) {
	targets := "target d0 like=fake space=host queues=0 events=false\ntarget d1 like=fake space=va queues=1\ntarget cpu like=cpu\n"
	down := []string{"--pin", `blk\.1\..*ffn_down=d1`}
	for _, m := range []e2etest.Machine{
		{Name: "ggml-2026", Targets: targets, Flags: append([]string{"--rules", "ggml-2026"}, down...)},
		{Name: "cost", Targets: targets, Flags: append([]string{"--rules", "cost"}, append(down, "--pin", "blk=d0")...)},
	} {
		t.Run(m.Name, func(t *testing.T) {
			exe := m.MustBuildOn(t)
			for seed, ref := range e2etest.AIDreamsReferences(t) {
				e2etest.Executable(exe, "--fake-seed", fmt.Sprint(seed)).Tells(t, ref)
			}
		})
	}
}

// TestWorkersWaitForQueues has a backend without queues that waits for an event of another backend in an epoch that
// several CPU workers share. All workers have to wait, not worker 0 alone.
func TestWorkersWaitForQueues(t *testing.T) {
	m := e2etest.Machine{
		Name:    "an epoch of several workers",
		Targets: "target fake:0 like=fake space=m0\ntarget d1 like=fake space=m1 queues=0\ntarget cpu like=cpu\n",
		Flags:   []string{"--rules", "ggml-2026", "--pin", `blk\.1\.=cpu`, "--pin", "token_embd=d1"},
	}
	exe := m.MustBuildOn(t)
	for seed, ref := range e2etest.AIDreamsReferences(t) {
		e2etest.Executable(exe, "--threads", "2", "--fake-seed", fmt.Sprint(seed)).Tells(t, ref)
	}
}

// TestPanelsAreNotCopied has panels of weights that would be copied a layer ahead. No repeat can carry them, as no
// kernel copies panels.
func TestPanelsAreNotCopied(t *testing.T) {
	m := e2etest.Machine{
		Name:    "find 3",
		Targets: "target d0 like=fake space=m0 queues=2\ntarget cpu like=cpu\n",
		Flags:   []string{"--pipeline", "2", "--pin", `blk\.0\.=d0`, "--pin", "attn_output.=d0"},
	}
	exe := m.MustBuildOn(t)
	e2etest.Executable(exe).Tells(t, e2etest.AIDreamsReferences(t)[0])
}

// TestSmallAlignmentTellsTheSame has a CPU target whose alignment is smaller than that of workers' scratch.
func TestSmallAlignmentTellsTheSame(t *testing.T) {
	m := e2etest.Machine{Name: "find 1", Targets: "target cpu like=cpu align=16\n"}
	e2etest.Executable(m.MustBuildOn(t), "--threads", "2").Tells(t, e2etest.AIDreamsReferences(t)[0])
}
