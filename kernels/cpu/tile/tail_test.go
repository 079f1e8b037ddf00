package tile

import (
	"slices"
	"testing"
)

// TestHeadsAndPiecesCoverEverything demands that heads and pieces together are everything, each index once.
func TestHeadsAndPiecesCoverEverything(t *testing.T) {
	for _, parts := range []int{1, 2, 3, 7, 64} {
		for _, granule := range []int{1, 3, 16} {
			for _, n := range []int{0, 1, 15, 16, 17, 100, 2048, 2049} {
				covers(t, n, granule, parts)
			}
		}
	}
}

func covers(t *testing.T, n, granule, parts int) {
	t.Helper()
	seen := make([]int, n)
	add := func(lo, hi int) {
		if lo > hi || lo%granule != 0 && lo != n {
			t.Fatalf("n %d, granule %d, parts %d: [%d,%d)", n, granule, parts, lo, hi)
		}
		for i := lo; i < hi; i++ {
			seen[i]++
		}
	}
	for part := range parts {
		add(Head(n, granule, part, parts))
	}
	units := 0
	for k := 0; ; k++ {
		lo, hi, ok := Tail(n, granule, k, parts)
		if !ok {
			break
		}
		add(lo, hi)
		units++
	}
	for i, s := range seen {
		if s != 1 {
			t.Fatalf("n %d, granule %d, parts %d: index %d is computed %d times", n, granule, parts, i, s)
		}
	}
	if all := (n + granule - 1) / granule; parts > 1 && all >= 8*parts && units == 0 {
		t.Errorf("n %d, granule %d, parts %d: no unit is left to take", n, granule, parts)
	}
}

// TestPiecesHalve demands that the pieces of each part are halves of what is left, so that there
// are few of them, and that the last one is a unit.
func TestPiecesHalve(t *testing.T) {
	for _, c := range []struct {
		n, granule, parts int
		want              []int // units of the pieces of each part
	}{
		{2048, 16, 2, []int{8, 4, 2, 1, 1}},
		{8192, 32, 2, []int{16, 8, 4, 2, 1, 1}},
		{160, 1, 8, []int{3, 1, 1}},
		{16, 1, 4, []int{1}},
		{2048, 16, 1, nil},
		{7, 1, 2, nil},
	} {
		var got []int
		for k := 0; ; k++ {
			lo, hi, ok := Tail(c.n, c.granule, k, c.parts)
			if !ok {
				break
			}
			if k%c.parts == 0 {
				got = append(got, (hi-lo)/c.granule)
			} else if last := got[len(got)-1]; hi-lo != last*c.granule {
				t.Errorf("%+v: piece %d has %d indices, that of part 0 has %d units", c, k, hi-lo, last)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: pieces of %v units", c, got)
		}
	}
}
