package kerneltest

import (
	"math"
	"testing"
	"unsafe"
)

// recorder is a testing.TB that notes a failure instead of stopping the test.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Fatal(...any)          { r.failed = true }
func (r *recorder) Fatalf(string, ...any) { r.failed = true }

func TestGuardsNoticeWrites(t *testing.T) {
	for misalign := 0; misalign < 64; misalign += 4 {
		b := NewBuffer(40, misalign)
		if got := int(uintptr(b.Pointer())) & 63; got != misalign {
			t.Errorf("a buffer misaligned by %d lies %d bytes after a boundary", misalign, got)
		}
		clear(b.Bytes())
		b.Check(t, "untouched guards")
		for _, at := range []int{-guardBytes, -1, 40, 40 + guardBytes - 1} {
			p := (*byte)(unsafe.Add(b.Pointer(), at))
			*p ^= 1
			r := &recorder{TB: t}
			b.Check(r, "touched guards")
			if !r.failed {
				t.Errorf("a write at byte %d of 40 is not noticed", at)
			}
			*p ^= 1
		}
	}
}

func TestNearFollowsTheTolerance(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for _, c := range []struct {
		tol       Tolerance
		got, want float64
		near      bool
	}{
		{Exact, 1, 1, true},
		{Exact, 0, math.Copysign(0, -1), false},
		{Exact, nan, nan, true},
		{Exact, inf, inf, true},
		{Tolerance{Abs: 0.25}, 1, 1.25, true},
		{Tolerance{Abs: 0.25}, 1, 1.26, false},
		{Tolerance{Rel: 0.5}, 1, 2, true},
		{Tolerance{Abs: 9}, nan, 1, false},
		{Tolerance{Abs: 9}, 1, nan, false},
		{Tolerance{Abs: 9}, inf, 1, false},
		{Tolerance{Rel: 1}, inf, 1e300, true}, // what float32 makes of 1e300
		{Tolerance{Rel: 1}, 1, inf, false},
	} {
		if got := c.tol.Near(float32(c.got), c.want); got != c.near {
			t.Errorf("%v: Near(%v, %v) = %v", c.tol, c.got, c.want, got)
		}
	}
}

func TestBoxesCover(t *testing.T) {
	const rows, cols, granule = 7, 50, 16
	var seen [rows][cols]int
	for _, b := range Boxes(Rand(t), rows, cols, granule) {
		if b[2]%granule != 0 || b[3]%granule != 0 && b[3] != cols {
			t.Errorf("box %v is not cut at granules", b)
		}
		for r := b[0]; r < b[1]; r++ {
			for c := b[2]; c < b[3]; c++ {
				seen[r][c]++
			}
		}
	}
	for r := range seen {
		for c, n := range seen[r] {
			if n != 1 {
				t.Fatalf("[%d, %d] is in %d boxes", r, c, n)
			}
		}
	}
}

func TestSameReportsTheFirstByte(t *testing.T) {
	r := &recorder{TB: t}
	Same(r, "equal", NewInts(1, 2), NewInts(1, 2))
	if r.failed {
		t.Error("equal buffers differ")
	}
	Same(r, "different", NewInts(1, 2), NewInts(1, 3))
	if !r.failed {
		t.Error("different buffers are the same")
	}
}

func TestOwnedReportsWritesOutside(t *testing.T) {
	for _, at := range []int{0, 3, 4, 7, 8, 11, 15} {
		b, r := NewBuffer(16, 0), &recorder{TB: t}
		b.Bytes()[at] = 0
		b.Owned(r, "box", 4, 1, 3, 0, 3)
		if inside := at/4 >= 1 && at/4 < 3 && at%4 < 3; r.failed == inside {
			t.Errorf("a write at byte %d: failed is %v", at, r.failed)
		}
	}
}
