package cpu

import "unsafe"

// SoftmaxF32 computes e^(x-m)/Σe^(x-m), m the row's largest element, for rows [r0, r1) of
// x f32 [*, n]. A row whose elements are all -Inf gives NaN. dst may be x.
//
//go:noinline
func SoftmaxF32(dst, x unsafe.Pointer, n, r0, r1 int) {
	for r := r0; r < r1; r++ {
		softmaxRow(floatAt(dst, r*n), floatAt(x, r*n), n)
	}
}

func softmaxRow(dst, x unsafe.Pointer, n int) {
	var sum float64
	m := active.maxRow(x, n)
	pieces(0, n, func(at, n int) {
		sum += float64(active.expSum(floatAt(dst, at), floatAt(x, at), n, m))
	})
	inverse := float32(1 / sum)
	pieces(0, n, func(at, n int) {
		active.scale(floatAt(dst, at), floatAt(dst, at), n, inverse, 0)
	})
}

// ReduceMaxF32 writes the largest element of each row [r0, r1) of x f32 [*, n] to
// dst f32 [*], NaN if the row has one. n is at least 1.
//
//go:noinline
func ReduceMaxF32(dst, x unsafe.Pointer, n, r0, r1 int) {
	for r := r0; r < r1; r++ {
		*(*float32)(floatAt(dst, r)) = maxRowGeneric(floatAt(x, r*n), n)
	}
}

// ReduceSumF32 writes the sum of each row [r0, r1) of x f32 [*, n] to dst f32 [*]. It sums
// in float64.
//
//go:noinline
func ReduceSumF32(dst, x unsafe.Pointer, n, r0, r1 int) {
	for r := r0; r < r1; r++ {
		*(*float32)(floatAt(dst, r)) = float32(sumRow(x, n, r))
	}
}

// ReduceMeanF32 writes the mean of each row [r0, r1) of x f32 [*, n] to dst f32 [*].
//
//go:noinline
func ReduceMeanF32(dst, x unsafe.Pointer, n, r0, r1 int) {
	for r := r0; r < r1; r++ {
		*(*float32)(floatAt(dst, r)) = float32(sumRow(x, n, r) / float64(n))
	}
}

func sumRow(x unsafe.Pointer, n, r int) (sum float64) {
	for _, v := range floats(floatAt(x, r*n), n) {
		sum += float64(v)
	}
	return sum
}

func maxRowGeneric(x unsafe.Pointer, n int) float32 {
	row := floats(x, n)
	m := row[0]
	for _, v := range row[1:] {
		m = max(m, v)
	}
	return m
}

func expSumGeneric(dst, x unsafe.Pointer, n int, m float32) float32 {
	var sum float64
	out := floats(dst, n)
	for i, v := range floats(x, n) {
		e := exp(v - m)
		out[i] = e
		sum += float64(e)
	}
	return float32(sum)
}
