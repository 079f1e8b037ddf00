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
// tail before it takes units that nobody has begun.
func Head(n, granule, part, parts int) (lo, hi int) {
	units := (n + granule - 1) / granule
	lo = min(n, units*part/parts*granule)
	hi = min(n, (units*(part+1)/parts-tail(units, parts))*granule)
	return lo, hi
}

// Tail returns unit k of those that belong to no part, of n things with a tail; ok is false
// where there are no more. Heads and tails together are all things, each once. Units of all
// parts' tails take turns, so that they run out together.
func Tail(n, granule, k, parts int) (lo, hi int, ok bool) {
	units := (n + granule - 1) / granule
	each := tail(units, parts)
	if k >= each*parts {
		return 0, 0, false
	}
	unit := units*(k%parts+1)/parts - each + k/parts
	return min(n, unit*granule), min(n, (unit+1)*granule), true
}
