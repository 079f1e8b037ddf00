package irtest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Linear fails if something takes more than ten times as long for four times as much.
// measure returns the times of one run by what took them; those below floor count as floor.
// The clock counts other processes as well, so what looks too slow is measured again, and
// the shortest time of each counts: what is quadratic takes 16 times as long every time.
func Linear(t *testing.T, floor time.Duration, measure func(times int) map[string]time.Duration) {
	t.Helper()
	const tries = 6
	var slow []string
	short, long := make(map[string]time.Duration), make(map[string]time.Duration)
	for range tries {
		shorten(short, measure(1))
		shorten(long, measure(4))
		slow = nil
		for what, d := range long {
			if d > 10*max(short[what], floor) {
				slow = append(slow, fmt.Sprintf("%s: %v, and %v for four times as much", what, short[what], d))
			}
		}
		if slow == nil {
			return
		}
	}
	t.Errorf("in %d runs: %s", tries, strings.Join(slow, "; "))
}

// shorten lowers the times of best to those of another run.
func shorten(best, run map[string]time.Duration) {
	for what, d := range run {
		if old, ok := best[what]; !ok || d < old {
			best[what] = d
		}
	}
}
