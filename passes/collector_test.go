package passes

import (
	"math"
	"runtime/debug"
	"testing"
)

func TestRelaxCollector(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		percent, wantPercent int
		limit, wantLimit     int64
	}{
		{"nobody has set anything", 100, relaxedPercent, math.MaxInt64, relaxedLimit},
		{"GOGC=50", 50, 50, math.MaxInt64, math.MaxInt64},
		{"GOMEMLIMIT=1GiB", 100, 100, 1 << 30, 1 << 30},
	} {
		percent, limit := debug.SetGCPercent(tt.percent), debug.SetMemoryLimit(tt.limit)
		restore := RelaxCollector()
		if p, l := collector(); p != tt.wantPercent || l != tt.wantLimit {
			t.Errorf("%s: %d %%, limit %d", tt.name, p, l)
		}
		restore()
		if p, l := collector(); p != tt.percent || l != tt.limit {
			t.Errorf("%s: set back to %d %%, limit %d", tt.name, p, l)
		}
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// collector returns what is set.
func collector() (percent int, limit int64) {
	percent = debug.SetGCPercent(-1)
	debug.SetGCPercent(percent)
	return percent, debug.SetMemoryLimit(-1)
}
