package cover

import (
	"slices"
	"testing"
)

// TestCoverHoldsWhatWasAssignedLast compares a cover with a slice of cells, for all ranges, empty ones among them.
func TestCoverHoldsWhatWasAssignedLast(t *testing.T) {
	const cells = 7
	for _, assigned := range [][3]int{{0, 7, 1}, {2, 2, 2}, {2, 5, 3}, {4, 5, 4}, {0, 3, 3}, {6, 7, 0}} {
		c, want := New[int](cells), make([]int, cells)
		for _, a := range [][3]int{{1, 6, 9}, assigned} {
			c.Assign(a[0], a[1], a[2])
			for i := a[0]; i < a[1]; i++ {
				want[i] = a[2]
			}
		}
		for lo := range cells + 1 {
			for hi := lo; hi <= cells; hi++ {
				var got []int
				for _, p := range c.Pieces(lo, hi) {
					if p.Lo >= p.Hi {
						t.Errorf("%v: cells [%d,%d) have the empty piece %+v", assigned, lo, hi, p)
					}
					got = append(got, slices.Repeat([]int{p.Value}, p.Hi-p.Lo)...)
				}
				if !slices.Equal(got, want[lo:hi]) {
					t.Errorf("%v: cells [%d,%d) hold %v, want %v", assigned, lo, hi, got, want[lo:hi])
				}
			}
		}
	}
}
