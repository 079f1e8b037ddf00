package tile

// Range returns the half-open range [lo, hi) of n things that part, of 0 to parts-1, owns
// when they are dealt out in whole granules as evenly as that allows. The ranges of all
// parts follow each other without gap or overlap; those of late parts may be empty.
//
// Kernels, the proof of race freedom and emitted code all ask this one function.
func Range(n, granule, part, parts int) (lo, hi int) {
	units := (n + granule - 1) / granule
	lo = min(n, units*part/parts*granule)
	hi = min(n, units*(part+1)/parts*granule)
	return lo, hi
}

// tailShare is the inverse of the dynamic share of a range, whose units go to the workers that come first. With
// a quarter, one worker may be slower than another by a third before the other waits. The other units
// have owners, as memory is read faster in order.
const tailShare = 4

// tail returns how many units of each part belong to the dynamic share.
func tail(units, parts int) int {
	if parts < 2 {
		return 0
	}
	return units / parts / tailShare
}

// Head returns the range of a part without the dynamic share: what a worker computes of n things before it takes
// pieces of the dynamic share.
func Head(n, granule, part, parts int) (lo, hi int) {
	units := (n + granule - 1) / granule
	lo = min(n, units*part/parts*granule)
	hi = min(n, (units*(part+1)/parts-tail(units, parts))*granule)
	return lo, hi
}

// Tail returns piece k of the dynamic share of n things; ok is false where there are no more pieces. Heads and
// pieces together are all things, each once. Pieces of all parts take turns, so that the parts run out
// together.
//
// The pieces of a part are half of its dynamic share, half of what is left, and so on down to one unit. A dynamic
// share of 8 units is the pieces 4, 2, 1 and 1. So a worker rarely begins anew, and waits at most for
// the time of one unit, unless another worker is less than half as fast.
func Tail(n, granule, k, parts int) (lo, hi int, ok bool) {
	units := (n + granule - 1) / granule
	each, piece := tail(units, parts), k/parts
	if each>>piece == 0 {
		return 0, 0, false
	}
	end := units * (k%parts + 1) / parts
	return min(n, (end-each>>piece)*granule), min(n, (end-each>>(piece+1))*granule), true
}
