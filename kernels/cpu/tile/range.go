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
