// Package mem_test measures the memory planner on public problems.
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
)

// steps is the budget for each public problem; those solved need less than a fifth of it.
const steps = 1 << 20

// TestMiniMalloc packs every problem of shared/data/minimalloc within its capacity, which
// is the number in its name.
func TestMiniMalloc(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "data", "minimalloc", "*.csv"))
	if len(files) == 0 {
		if strings.Contains(os.Getenv("GGMLC_REQUIRE"), "data") {
			t.Fatal("no shared/data/minimalloc beside the repository")
		}
		t.Skip("skip: no shared/data/minimalloc beside the repository")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if testing.Short() && !strings.HasPrefix(filepath.Base(file), "input") {
				t.Skip("skip: takes seconds")
			}
			pack(t, file, capacityOf(t, file))
		})
	}
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

func pack(t *testing.T, file string, capacity int64) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	p, err := mem.ReadCSV(f)
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	s, stats, err := mem.Solve(t.Context(), p, mem.Options{Capacity: capacity, MaxSteps: steps})
	if err != nil {
		t.Error(err)
	}
	if err := p.Validate(s, capacity); err != nil {
		t.Error(err)
	}
	t.Logf("%d buffers: bound %d, greedy by %s %d, found %d in %d steps, %v", len(p.Buffers),
		stats.Bound, stats.GreedyOrder, stats.Greedy, s.Height, stats.Steps, time.Since(start).Round(time.Millisecond))
}
