package readback_test

import "testing"

// TestRandom reads the packages of random modules on random machines back: none may differ
// from its plan. Seeds 7 and 27 have nodes on a backend without queues that wait for one with
// queues, whose wait came after the barrier; seed 14 has a wait of the host that was emitted
// before a command that comes first.
func TestRandom(t *testing.T) {
	count := 40
	if testing.Short() {
		count = 8
	}
	if got := len(randoms(t, count)); got != count {
		t.Errorf("%d modules, not %d", got, count)
	}
}
