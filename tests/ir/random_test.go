package ir_test

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestRandomModulesSurvivePrintingAndCloning checks that random modules are printed, read, compared and cloned
// without loss, and verified without complaint.
func TestRandomModulesSurvivePrintingAndCloning(t *testing.T) {
	seeds, moves := uint64(60), 30
	if testing.Short() {
		seeds = 10
	}
	for seed := range seeds {
		p, err := irtest.Random(seed, moves)
		if err != nil {
			t.Fatal(err)
		}
		m := p.Module
		back, err := ir.Parse("random", []byte(m.String()))
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, m)
		}
		for what, other := range map[string]*ir.Module{"read back": back, "cloned": m.Clone()} {
			if err := ir.Verify(other); err != nil {
				t.Errorf("seed %d, %s: %v", seed, what, err)
			}
			if equal, diff := ir.Equal(m, other); !equal {
				t.Errorf("seed %d, %s: %s", seed, what, diff)
			}
			if ir.Hash(m) != ir.Hash(other) {
				t.Errorf("seed %d, %s: the hash differs", seed, what)
			}
		}
	}
}
