package partition

import (
	"testing"

	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestEveryBarrierTakesTime: a node that one worker submits takes as long with any number of workers, but all of them
// meet at the barrier before it. The barriers take the difference from the same nodes in one epoch.
func TestEveryBarrierTakesTime(t *testing.T) {
	targets, err := target.NewList(&target.Descriptor{Name: "gpu"}, &target.Descriptor{Name: "cpu", Workers: true, Rates: target.Rates{Barrier: 1}})
	if err != nil {
		t.Fatal(err)
	}
	clock := &stepClock{&pass.Context{Targets: targets}, targets.Last(), 2}
	b := newClassTest()
	for epoch, backend := range []string{"cpu", "gpu", "cpu", "gpu"} {
		n := b.node()
		n.Backend, n.Epoch = backend, epoch
	}
	f := b.f.Func()
	barriers := clock.seconds(f)[1]
	for _, n := range f.Nodes {
		n.Epoch = 0
	}
	if barriers -= clock.seconds(f)[1]; barriers != 3*2 {
		t.Errorf("three barriers of two workers take %v s, want 6", barriers)
	}
}
