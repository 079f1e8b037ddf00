package passes

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
	"github.com/ggmlc/ggmlc/passes/pass"
)

const longDecode = `ggir 1
module "long"
after import
props imported
state "k" : f16[1,8,4096,64]
state "v" : f16[1,8,4096,64]
func @decode(%q: f32[1,32,64], %k: f32[1,8,64], %v: f32[1,8,64], %slot: i32[1], %pos: i32[1], %n: i32[1]) -> (y: f32[1,32,64]) {
  %ks = state "k"
  %vs = state "v"
  %kn = state_write %ks, %k, %slot, %pos
  %vn = state_write %vs, %v, %slot, %pos
  %y = attention %q, %kn, %vn, %slot, %pos, %n {scale=0.125}
  return %y
}
`

// planLong returns the plan of one attention over a long context.
func planLong(t *testing.T, o pass.Options) *ir.Module {
	t.Helper()
	m := irtest.Parse(t, longDecode)
	if _, err := Run(t.Context(), m, RunOptions{Targets: cpuOnly(t), Options: o}); err != nil {
		t.Fatal(err)
	}
	return m
}

// lookedAt returns how many positions each worker looks at in the node that reads the cache,
// summed over key heads, when the step's token is at pos.
func lookedAt(t *testing.T, m *ir.Module, pos, workers int) []int {
	t.Helper()
	for _, n := range m.Funcs[0].Nodes {
		if n.Op != ir.OpAttention && n.Op != ir.OpAttentionSegments {
			continue
		}
		if n.Part.Dynamic {
			t.Fatalf("%v has a tail: its units have no owners", n)
		}
		units := int(n.Part.N.Eval(func(*ir.Symbol) int64 { return int64(pos + 1) }))
		shares := make([]int, workers)
		for w := range shares {
			lo, hi := tile.Range(units, int(n.Part.Granule), w, workers)
			for u := lo; u < hi; u += int(n.Part.Granule) {
				shares[w] += positionsOf(n, u, pos+1)
			}
		}
		return shares
	}
	t.Fatal("nothing looks at the cache")
	return nil
}

// positionsOf returns how many of so many positions a unit looks at: all with the query heads
// of a key head, or those of a segment.
func positionsOf(n *ir.Node, unit, positions int) int {
	if n.Op == ir.OpAttention {
		return positions
	}
	segments := tile.Segments(positions)
	return min(tile.SegmentLen, positions-unit%segments*tile.SegmentLen)
}

// TestSegmentsShareContexts demands that more workers than key heads all have something to do
// where the context is long, and that none has much more than its part.
func TestSegmentsShareContexts(t *testing.T) {
	cut, whole := planLong(t, pass.Options{}), planLong(t, pass.Options{Disable: []string{string(pass.RuleFuseLateSegments)}})
	for _, tc := range []struct {
		pos, workers int
		most         float64 // that a worker has, of the mean
		before       float64 // likewise, without segments
	}{
		{16, 8, 1, 1},
		{511, 16, 2, 2},
		{512, 16, 2, 2}, // one position more makes no difference yet
		{1023, 16, 1, 2},
		{1500, 16, 1.4, 2},
		{4000, 12, 1.2, 1.5},
		{4000, 16, 1.1, 2},
		{4000, 32, 1.1, 4},
		{4000, 64, 1.1, 8},
	} {
		check := func(name string, m *ir.Module, most float64) {
			shares := lookedAt(t, m, tc.pos, tc.workers)
			sum, largest := 0, 0
			for _, s := range shares {
				sum, largest = sum+s, max(largest, s)
			}
			if want := 8 * (tc.pos + 1); sum != want {
				t.Errorf("%s: position %d, %d workers: %d positions are looked at, not %d", name, tc.pos, tc.workers, sum, want)
			}
			got := float64(largest) * float64(tc.workers) / float64(sum)
			t.Logf("%s: position %d, %d workers: the busiest has %.2f times the mean", name, tc.pos, tc.workers, got)
			if got > most+0.005 {
				t.Errorf("%s: position %d, %d workers: the busiest has %.2f times the mean, want at most %v: %v", name, tc.pos, tc.workers, got, most, shares)
			}
			if name == "cut" && tc.pos > 1000 && largest > 0 && shares[len(shares)-1] == 0 {
				t.Errorf("position %d: some of %d workers have nothing to do: %v", tc.pos, tc.workers, shares)
			}
		}
		check("cut", cut, tc.most)
		check("whole", whole, tc.before)
	}
}
