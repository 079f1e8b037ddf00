package check_test

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestMutatedPlanHasSegments demands that the plan of which TestHarmfulMutantsAreNoticed changes everything has
// segments that workers share, sums between them and their combination, and barriers there.
func TestMutatedPlanHasSegments(t *testing.T) {
	m := smallLlama(t, 2, dtype.F32)
	if err := planned(m, parseTargets(t, segmented), "partition.replicated"); err != nil {
		t.Fatal(err)
	}
	var cut, combined *ir.Node
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			switch n.Op {
			case ir.OpAttentionSegments:
				cut = n
			case ir.OpAttentionCombine:
				combined = n
			}
		}
	}
	if cut == nil || combined == nil {
		t.Fatalf("no attention is cut:\n%s", m)
	}
	if cut.Part.Mode != ir.PartSplit || cut.Part.N.String() != "2*((kv+1)/2)" {
		t.Errorf("segments are shared as %v", cut.Part)
	}
	if combined.Args[0] != cut.Result() || combined.Epoch <= cut.Epoch || cut.Result().Place == nil {
		t.Errorf("epoch %d makes the sums at %v, epoch %d reads them", cut.Epoch, cut.Result().Place, combined.Epoch)
	}
}
