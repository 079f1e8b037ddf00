package mem

import (
	"cmp"
	"slices"
)

// byteRange is the bytes [lo, hi).
type byteRange struct{ lo, hi int64 }

// ranges are bytes: ranges in order that neither share bytes nor touch.
type ranges []byteRange

// with returns r with the bytes of b as well; more is false where r has them all. It changes r.
func (r ranges) with(b byteRange) (_ ranges, more bool) {
	from, _ := slices.BinarySearchFunc(r, b.lo, func(b byteRange, lo int64) int { return cmp.Compare(b.hi, lo) })
	if from < len(r) && r[from].lo <= b.lo && b.hi <= r[from].hi {
		return r, false
	}
	to := from
	for ; to < len(r) && r[to].lo <= b.hi; to++ {
		b = byteRange{min(b.lo, r[to].lo), max(b.hi, r[to].hi)}
	}
	return slices.Replace(r, from, to, b), true
}

// mergeRanges appends two lists that are ordered by their beginnings to out, likewise.
func mergeRanges(out, a, b []byteRange) []byteRange {
	for len(a) > 0 && len(b) > 0 {
		if b[0].lo < a[0].lo {
			out, b = append(out, b[0]), b[1:]
		} else {
			out, a = append(out, a[0]), a[1:]
		}
	}
	return append(append(out, a...), b...)
}
