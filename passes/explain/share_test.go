package explain_test

import (
	"math"
	"testing"

	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/passtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestSharesAreOfTheEntryPointsTime: the time of a decision in a summary is a share of the time of its entry point,
// which holds the nodes of all backends and the barriers.
func TestSharesAreOfTheEntryPointsTime(t *testing.T) {
	targets, err := target.Parse("targets", "target gpu space=dev ops=*,-softmax flops=1e12 bandwidth=1e11 workerbw=1e11 launch=1e-6 link=1e10 linkdelay=1e-6\n"+
		"target cpu like=cpu\n")
	if err != nil {
		t.Fatal(err)
	}
	m, err := passtest.Transformer{Layers: 2, Heads: 4, KVHeads: 2, Head: 32, FF: 256, Vocab: 64, Ctx: 64, Batch: 8, Weights: "q8_0"}.Module()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := passes.Run(t.Context(), m, passes.RunOptions{Targets: targets}); err != nil {
		t.Fatal(err)
	}
	doc, err := explain.Explain(m, explain.Options{Targets: targets})
	if err != nil {
		t.Fatal(err)
	}
	whole := make(map[string]float64)
	for _, e := range doc.Summary.Entries {
		parts := e.BarrierSeconds
		for _, b := range e.Backends {
			parts += b.Seconds
		}
		if whole[e.Func] = e.Seconds; math.Abs(parts-e.Seconds) > 1e-9*parts {
			t.Errorf("@%s takes %v s, its parts %v", e.Func, e.Seconds, parts)
		}
	}
	barriers := false
	for _, d := range doc.Summary.Expensive {
		barriers = barriers || d.Kind == "barriers"
		if want := d.Seconds / whole[d.Func]; math.Abs(d.Share-want) > 1e-9 {
			t.Errorf("@%s, %s: a share of %v, want %v", d.Func, d.What, d.Share, want)
		}
	}
	if len(doc.Summary.Expensive) == 0 || !barriers {
		t.Errorf("no decisions, or none about barriers: %+v", doc.Summary.Expensive)
	}
}
