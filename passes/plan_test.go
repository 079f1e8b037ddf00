package passes

import (
	"strconv"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
)

func TestRandomModels(t *testing.T) {
	n := uint64(300)
	if testing.Short() {
		n = 60
	}
	for seed := range n {
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
		for workers := 1; workers <= 8; workers += 1 + int(seed%3) {
			sizes := map[string]int64{"tokens": 1 + int64(seed+uint64(workers))%5}
			if err := simulate(m, f, workers, sizes); err != nil {
				t.Errorf("@%s: %v", f.Name, err)
				return
			}
		}
	}
}
