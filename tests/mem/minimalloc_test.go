// Package mem_test measures the memory planner on public and on generated problems.
package mem_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/passes/mem"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// steps is the budget for each public problem; all need less than an eighth of it.
const steps = 1 << 20

// TestMiniMallocProblemsFitTheirCapacity packs every problem of shared/data/minimalloc within its capacity, which
// is the number in its name.
func TestMiniMallocProblemsFitTheirCapacity(t *testing.T) {
	for _, file := range problems(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if testing.Short() && !strings.HasPrefix(filepath.Base(file), "input") {
				t.Skip("skip: takes up to a second")
			}
			pack(t, file, capacityOf(t, file))
		})
	}
}

// problems returns the files of shared/data/minimalloc.
func problems(t *testing.T) []string {
	files, err := filepath.Glob(filepath.Join(needtest.Data(t, "minimalloc"), "*.csv"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no problems in shared/data/minimalloc: %v", err)
	}
	return files
}

func capacityOf(t *testing.T, file string) int64 {
	m := regexp.MustCompile(`\.(\d+)\.csv$`).FindStringSubmatch(file)
	if m == nil {
		t.Fatalf("%s: no capacity in the name", file)
	}
	capacity, err := strconv.ParseInt(m[1], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return capacity
}

func read(t *testing.T, file string) mem.Problem {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := mem.ReadCSV(f)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func pack(t *testing.T, file string, capacity int64) {
	p := read(t, file)
	start := time.Now()
	s, stats, err := mem.Solve(t.Context(), p, mem.Options{Capacity: capacity, MaxSteps: steps})
	took := time.Since(start).Round(time.Millisecond)
	if err != nil {
		t.Error(err)
	}
	if err := p.Validate(s, capacity); err != nil {
		t.Error(err)
	}
	t.Logf("%d buffers: bound %d, greedy by %s %d, found %d in %d steps, %v", len(p.Buffers),
		stats.Bound, stats.GreedyOrder, stats.Greedy, s.Height, stats.Steps, took)
}
