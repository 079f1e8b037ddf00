package irtest

import (
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

func TestRandomProgramsRun(t *testing.T) {
	used := make(map[ir.Op]bool)
	for seed := range uint64(60) {
		p, err := Random(seed, 24)
		if err != nil {
			t.Fatal(err)
		}
		results, err := p.Run(t.Context(), p.Module)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, rs := range results {
			for j, r := range rs {
				if slices.ContainsFunc(r.Flat(), func(x float64) bool { return math.IsNaN(x) || math.Abs(x) > 1e6 }) {
					t.Errorf("seed %d: call %d: result %d holds NaN or a huge number", seed, i, j)
				}
			}
		}
		for _, f := range p.Module.AllFuncs() {
			for _, n := range f.Nodes {
				used[n.Op] = true
			}
		}
	}
	for op := range ir.Ops {
		if !used[op] && op != ir.OpForeign && op != ir.OpPack && op != ir.OpCopyExperts && op != ir.OpObserve && !ir.IsCollective(op) {
			t.Errorf("no random program has a node %v: add it to random_moves.go", op)
		}
	}
}

func TestRandomIsDeterministic(t *testing.T) {
	a, err := Random(7, 30)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Random(7, 30)
	if err != nil {
		t.Fatal(err)
	}
	if a.Module.String() != b.Module.String() {
		t.Error("equal seeds give different modules")
	}
	c, err := Random(8, 30)
	if err != nil {
		t.Fatal(err)
	}
	if a.Module.String() == c.Module.String() {
		t.Error("different seeds give equal modules")
	}
}

// TestSameResultsSeesAChange makes sure that the comparison can fail.
func TestSameResultsSeesAChange(t *testing.T) {
	p, err := Random(3, 20)
	if err != nil {
		t.Fatal(err)
	}
	want, err := p.Run(t.Context(), p.Module)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.SameResults(want, want, ir.Tolerance{}); err != nil {
		t.Error(err)
	}
	// Another function's body in place of one: results have other values or shapes.
	f := p.Module.Func("decode")
	f.Results[0] = f.Params[len(f.Params)-1]
	got, err := p.Run(t.Context(), p.Module)
	if err != nil {
		t.Fatal(err)
	}
	if p.SameResults(got, want, ir.Tolerance{NMSE: 1e-6}) == nil {
		t.Error("a function with another result compares equal")
	}
}
