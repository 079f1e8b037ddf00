package cpu

import "unsafe"

// longestRun bounds the elements of one call of an inner loop, so that no assembly lasts
// a millisecond: at the slowest, a nanosecond per element, this is 33 µs.
const longestRun = 1 << 15

// runs calls f for runs of elements [at, at+n) that make up the box rows [r0, r1), columns
// [c0, c1) of a matrix with n columns. Whole rows are joined to one long run.
func runs(n, r0, r1, c0, c1 int, f func(at, n int)) {
	if r0 >= r1 || c0 >= c1 {
		return
	}
	if c0 == 0 && c1 == n {
		pieces(r0*n, (r1-r0)*n, f)
		return
	}
	for r := r0; r < r1; r++ {
		pieces(r*n+c0, c1-c0, f)
	}
}

// pieces calls f for pieces of a run of n elements that are not too long.
func pieces(at, n int, f func(at, n int)) {
	for ; n > longestRun; at, n = at+longestRun, n-longestRun {
		f(at, longestRun)
	}
	if n > 0 {
		f(at, n)
	}
}

// boxBinary applies f to a box of matrices of one shape.
func boxBinary(f rowBinary, dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) {
		f(floatAt(dst, at), floatAt(a, at), floatAt(b, at), n)
	})
}

// boxRow applies f to a box of a matrix and the matching part of a single row b.
func boxRow(f rowBinary, dst, a, b unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		pieces(c0, c1-c0, func(c, m int) {
			f(floatAt(dst, r*n+c), floatAt(a, r*n+c), floatAt(b, c), m)
		})
	}
}

// boxUnary applies f to a box of a matrix.
func boxUnary(f rowUnary, dst, x unsafe.Pointer, n, r0, r1, c0, c1 int) {
	runs(n, r0, r1, c0, c1, func(at, n int) { f(floatAt(dst, at), floatAt(x, at), n) })
}
