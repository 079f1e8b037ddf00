package tile

import "testing"

// TestRangeCovers checks that for every small case the parts' ranges follow each other,
// begin at granules, and differ by at most one granule.
func TestRangeCovers(t *testing.T) {
	for n := range 70 {
		for _, granule := range []int{1, 3, 16, 32} {
			for parts := 1; parts <= 9; parts++ {
				checkRanges(t, n, granule, parts)
			}
		}
	}
}

func checkRanges(t *testing.T, n, granule, parts int) {
	t.Helper()
	end, least, most := 0, n, 0
	for part := range parts {
		lo, hi := Range(n, granule, part, parts)
		if lo != end || hi < lo || lo != n && lo%granule != 0 {
			t.Fatalf("Range(%d, %d, %d, %d) = [%d, %d) after %d", n, granule, part, parts, lo, hi, end)
		}
		units := (hi - lo + granule - 1) / granule
		end, least, most = hi, min(least, units), max(most, units)
	}
	if end != n || most-least > 1 && n > 0 {
		t.Fatalf("Range(%d, %d, ·, %d) ends at %d with %d to %d granules", n, granule, parts, end, least, most)
	}
}
