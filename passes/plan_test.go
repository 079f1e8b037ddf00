package passes

import (
	"flag"
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

var (
	firstSeed = flag.Uint64("plan.seed", 0, "first seed of TestRandomModels")
	seeds     = flag.Uint64("plan.seeds", 120, "number of seeds of TestRandomModels")
)

func TestRandomModels(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n /= 3
	}
	for seed := *firstSeed; seed < *firstSeed+n; seed++ {
		g := newRandomModel(seed)
		planned(t, g.m, Options{Debug: []Setting{{"roll", "min", strconv.FormatUint(seed%2*7+1, 10)}}}, cpuTarget)
		checkPlan(t, g.m, seed)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, g.m)
		}
	}
}

// checkPlan simulates entry points with several numbers of workers and sizes.
func checkPlan(t *testing.T, m *ir.Module, seed uint64) {
	t.Helper()
	for _, f := range m.Funcs {
		for _, workers := range []int{2 + int(seed%3), 5 + int(seed%4)} {
			sizes := map[string]int64{"tokens": 1 + int64(seed/2+uint64(workers))%5}
			if err := simulate(m, f, workers, sizes); err != nil {
				t.Errorf("@%s: %v", f.Name, err)
				return
			}
		}
	}
}
