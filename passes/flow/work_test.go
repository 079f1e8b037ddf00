package flow

import "testing"

func TestWorkerWithMostUnitsSetsPace(t *testing.T) {
	for _, tt := range []struct {
		units   int64
		workers int
		want    float64
	}{{8, 8, 8}, {9, 8, 4.5}, {4, 8, 4}, {1, 8, 1}, {100, 1, 1}, {0, 4, 1}} {
		if got := parallel(tt.units, tt.workers); got != tt.want {
			t.Errorf("%d units by %d workers: %v, want %v", tt.units, tt.workers, got, tt.want)
		}
	}
}
