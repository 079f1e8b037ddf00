package passes

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// TestNamesOfValuesStayUnique compares the names in each function after each pass. The verifier does not: it relies on
// package ir, which alone can set them.
func TestNamesOfValuesStayUnique(t *testing.T) {
	rolled, copied := false, false
	check := func(seed uint64) func(string, *ir.Module) {
		return func(pass string, m *ir.Module) {
			for _, f := range m.AllFuncs() {
				rolled = rolled || f.Owner != nil
				for _, n := range f.Nodes {
					copied = copied || n.Op == ir.OpCopy
				}
				if twice := nameOfTwo(f); twice != "" {
					t.Errorf("seed %d, after %s: two values of @%s have the name %q", seed, pass, f.Name, twice)
				}
			}
		}
	}
	smallest := []pass.Setting{{Pass: "roll", Flag: "min", Value: "1"}}
	for seed := range uint64(20) {
		targets := randomTargets(t, rand.New(rand.NewPCG(seed, 1)))
		o := RunOptions{Targets: targets, Options: pass.Options{Debug: smallest}, Each: check(seed)}
		p, err := irtest.Random(seed, 12)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), p.Module, o); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		layers := irtest.RandomLayers(seed).M
		spread(layers, targets, seed)
		o.Passes = queuePasses
		if _, err := Run(context.Background(), layers, o); err != nil {
			t.Fatalf("seed %d, layers: %v", seed, err)
		}
	}
	if !rolled || !copied {
		t.Error("no module has a repeat, or none has a copy: the test has lost its point")
	}
}

// nameOfTwo returns a name that two values of f have, "(empty)" for an empty one, "" if all is well.
func nameOfTwo(f *ir.Func) string {
	seen := make(map[string]bool)
	values := f.Params
	for _, n := range f.Nodes {
		values = append(values[:len(values):len(values)], n.Results...)
	}
	for _, v := range values {
		switch {
		case v.Name() == "":
			return "(empty)"
		case seen[v.Name()]:
			return v.Name()
		}
		seen[v.Name()] = true
	}
	return ""
}
