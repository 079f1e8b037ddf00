package mem

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestTakenEqualsLookingAtEachBuffer compares with looking at each buffer, in problems with several windows and lives
// within one, in several, and in most.
func TestTakenEqualsLookingAtEachBuffer(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for trial := range 60 {
		n := 1 + rng.IntN(5*windowStarts)
		p := randomProblem(rng, n, int64(n), 5, false)
		for i := range p.Buffers {
			if b := &p.Buffers[i]; rng.IntN(10) > 0 {
				b.Upper = min(b.Upper, b.Lower+1+rng.Int64N(20))
			}
		}
		if trial%3 == 0 {
			tear(rng, p)
		}
		x := newPlaced(p)
		placed, ends := make([]bool, n), make([]int64, n)
		var end int64
		for k, i := range rng.Perm(n) {
			if k%20 == 0 {
				compareTaken(t, x, placed, ends, rng.IntN(n))
			}
			if p.Buffers[i].Size > 0 && rng.IntN(8) > 0 {
				x.add(i, end) // next to the one before
				end += p.Buffers[i].Size
				placed[i], ends[i] = true, end
			}
		}
		compareTaken(t, x, placed, ends, rng.IntN(n))
	}
}

// compareTaken compares the bytes that taken returns for buffer i with their definition.
func compareTaken(t *testing.T, x *placed, placed []bool, ends []int64, i int) {
	t.Helper()
	var want []byteRange
	for j := range placed {
		if b := &x.p.Buffers[j]; placed[j] && b.meets(&x.p.Buffers[i]) {
			want = append(want, byteRange{ends[j] - b.Size, ends[j]})
		}
	}
	slices.SortFunc(want, byStart)
	got, _ := x.taken(i)
	if !slices.Equal(got, joined(want)) {
		t.Fatalf("buffer %d of %d, %+v: taken %v, want %v", i, len(placed), x.p.Buffers[i], got, want)
	}
}

func byStart(a, b byteRange) int { return int(a.lo - b.lo) }

// joined returns the ranges, which are in order, with touching ranges joined.
func joined(list []byteRange) (out []byteRange) {
	for _, r := range list {
		if last := len(out) - 1; last >= 0 && r.lo <= out[last].hi {
			out[last].hi = max(out[last].hi, r.hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

// TestLooksCountPlacedBuffers: on how much was looked at depends how many orders there
// are, so windows must not change it.
func TestLooksCountPlacedBuffers(t *testing.T) {
	p := chain(1000)
	g := newPacker(p)
	g.pack(p.sorted(greedyOrders[0]), 1<<62)
	want, long := 0, 0
	placed := make([]bool, len(p.Buffers))
	for _, i := range p.sorted(greedyOrders[0]) {
		b := &p.Buffers[i]
		if b.Size == 0 {
			continue
		}
		want += long
		for j := range placed {
			if placed[j] && !g.placed.isLong[j] && b.meets(&p.Buffers[j]) {
				want++
			}
		}
		if placed[i] = true; g.placed.isLong[i] {
			long++
		}
	}
	if long == 0 || g.looks != want {
		t.Errorf("%d looks, want %d; %d buffers live long", g.looks, want, long)
	}
}
