package tune

import "testing"

// TestRatiosAreToTheDefault: the first candidate is what a program does without tuning, the others are
// compared with it.
func TestRatiosAreToTheDefault(t *testing.T) {
	if got, want := ratios([]Candidate{{Rows: 4, Seconds: 2}, {Rows: 8, Seconds: 3}, {Rows: 2, Seconds: 1}}), "by 4: 1.00, by 8: 1.50, by 2: 0.50"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
