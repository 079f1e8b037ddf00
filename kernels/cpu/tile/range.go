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

// tailShare is the inverse of the part of a range that belongs to nobody when it is shared
// with a tail. A quarter lets one worker be slower than another by a third before anyone
// waits. Reading memory in order costs less than jumping, so the rest stays dealt out.
const tailShare = 4

// tail returns how many of the units of each part belong to nobody.
func tail(units, parts int) int {
	if parts < 2 {
		return 0
	}
	return units / parts / tailShare
}

// Head returns the part's range without its tail: what part computes of n things with a
// tail before it takes pieces of that.
func Head(n, granule, part, parts int) (lo, hi int) {
	units := (n + granule - 1) / granule
	lo = min(n, units*part/parts*granule)
	hi = min(n, (units*(part+1)/parts-tail(units, parts))*granule)
	return lo, hi
}

// Tail returns piece k of the units that belong to no part, of n things with a tail; ok is
// false where there are no more. Heads and tails together are all things, each once. Pieces
// of all parts' tails take turns, so that they run out together.
//
// The pieces of a part are half of its tail, half of what is left, and so on down to one unit: few of
// them make a worker begin anew, and nobody waits for longer than a unit takes, unless a worker is
// less than half as fast as the others.
func Tail(n, granule, k, parts int) (lo, hi int, ok bool) {
	units := (n + granule - 1) / granule
	each, piece := tail(units, parts), k/parts
	if each>>piece == 0 {
		return 0, 0, false
	}
	end := units * (k%parts + 1) / parts
	return min(n, (end-each>>piece)*granule), min(n, (end-each>>(piece+1))*granule), true
}
