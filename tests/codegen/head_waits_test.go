package codegen_test

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestHostWaitsAtTheHeadOfIterations: the first node of a repeat's body runs on the host and reads what a queue
// has made in the iteration before, so the host waits for the queue before each iteration. Emit reads the program
// back, so it fails if the wait is not there.
func TestHostWaitsAtTheHeadOfIterations(t *testing.T) {
	m, err := ir.Parse("m", []byte(`func @f(%x: f32[4,64], %b: f32[4,64]) -> (y: f32[4,64]) {
  %i = silu %x : f32[4,64]
  %x3 = repeat %i, %b {count=30, carried=1, invariant=1} : f32[4,64]
  body @loop(%c: f32[4,64], %d: f32[4,64]) -> f32[4,64] {
    %h = exp %c : f32[4,64]
    %g = add %h, %d : f32[4,64]
    return %g
  }
  %y = neg %x3 : f32[4,64]
  return %y
}
`))
	if err != nil {
		t.Fatal(err)
	}
	o := passes.RunOptions{}
	o.Options.Disable = []string{"inline.repeat"}
	o.Options.Pins = []pass.Pin{pinOf(t, "^g$=d1"), pinOf(t, "^[ihy]$=cpu")}
	if o.Targets, err = target.Parse("targets", "target d1 like=fake space=host queues=1 events=true\ntarget cpu like=cpu\n"); err != nil {
		t.Fatal(err)
	}
	emitWith(t, m, "p", o)
	repeat := m.Funcs[0].Nodes[1]
	if repeat.Body == nil || !repeat.Body.HeadBarrier {
		t.Fatalf("no barrier at the head of iterations in\n%v", m)
	}
	if first := repeat.Body.Nodes[0]; first.Submit == nil || len(first.Submit.Waits) == 0 {
		t.Errorf("%v does not wait in\n%v", first, m)
	}
}
