package cpu

import "unsafe"

// Mixtures of experts: choosing them, and products with the chosen matrices only.

// TopKI32 writes the indices of the k largest elements of each row [r0, r1) of x f32 [*, n]
// to dst i32 [*, k], the largest first, of equal ones the lower index first. NaN is below
// all numbers. k is 1 to n.
//
//go:noinline
func TopKI32(dst, x unsafe.Pointer, n, k, r0, r1 int) {
	for r := r0; r < r1; r++ {
		topK(indices(floatAt(dst, r*k), k), floats(floatAt(x, r*n), n))
	}
}

// topK keeps best sorted while it walks over the row.
func topK(best []int32, row []float32) {
	have := 0
	for i, v := range row {
		if have == len(best) && !above(v, row[best[have-1]]) {
			continue
		}
		have = min(have+1, len(best))
		at := have - 1
		for ; at > 0 && above(v, row[best[at-1]]); at-- {
			best[at] = best[at-1]
		}
		best[at] = int32(i)
	}
}

// above reports whether a is larger than b, where NaN is below all numbers.
func above(a, b float32) bool { return a > b || b != b && a == a }

// TakeF32 computes dst[r, j] = x[r, idx[r, j]] for rows [r0, r1), with x f32 [*, n] and
// dst f32 and idx i32 [*, k]. Indices are trusted to be below n.
//
//go:noinline
func TakeF32(dst, x, idx unsafe.Pointer, n, k, r0, r1 int) {
	for r := r0; r < r1; r++ {
		row, out := floats(floatAt(x, r*n), n), floats(floatAt(dst, r*k), k)
		for j, i := range indices(floatAt(idx, r*k), k) {
			out[j] = row[i]
		}
	}
}

// ExpertsSumF32 computes dst[t, i] = Σ p[t, c]·y[t, c, i] over the choices c, in their
// order, for tokens [t0, t1) and columns [c0, c1), with y f32 [*, Choices, Len] and p f32
// [*, Choices].
//
//go:noinline
func ExpertsSumF32(dst, y, p unsafe.Pointer, shape SumShape, t0, t1, c0, c1 int) {
	for t := t0; t < t1; t++ {
		out := target(dst, shape.Len, t, c0, c1)
		clear(out)
		for c, share := range floats(floatAt(p, t*shape.Choices), shape.Choices) {
			for i, v := range target(y, shape.Len, t*shape.Choices+c, c0, c1) {
				out[i] += share * v
			}
		}
	}
}

// CopyExperts copies those of the matrices [e0, e1) of src that one of count indices
// names, each of bytes bytes, to the same place in dst; the others it leaves as they are.
//
//go:noinline
func CopyExperts(dst, src, idx unsafe.Pointer, bytes, count, e0, e1 int) {
	named := indices(idx, count)
	for e := e0; e < e1; e++ {
		if next(named, e, 0) < count {
			copy(octets(unsafe.Add(dst, e*bytes), bytes), octets(unsafe.Add(src, e*bytes), bytes))
		}
	}
}

// next returns the first place from at on where idx holds e; len(idx) if there is none.
func next(idx []int32, e, at int) int {
	for at < len(idx) && int(idx[at]) != e {
		at++
	}
	return at
}

// indices views n int32 at p.
func indices(p unsafe.Pointer, n int) []int32 { return unsafe.Slice((*int32)(p), n) }

// Products with experts. All compute, for tokens [t0, t1) and columns [c0, c1),
//
//	y[t, c, i] = Σ x[t, s, j]·w[idx[t, c], i, j] for j in [0, In)
//
// where dst is f32 [*, Choices, Out], x is [*, Rows, In] with Rows 1 (s is 0) or Choices (s is
// c), idx is i32 [*, Choices], and w is Experts matrices [Out, In] in layout r16, each of
// whose last panel is padded. In all other respects they are matrix products: an element of y is the
// sum that MatMul of the same format makes of its row.

// ExpertsMatMulF32 computes the products for f32 weights and f32 x.
//
//go:noinline
func ExpertsMatMulF32(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatF32, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// ExpertsMatMulF16 computes the products for f16 weights and f32 x.
//
//go:noinline
func ExpertsMatMulF16(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatF16, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// ExpertsMatMulBF16 computes the products for bf16 weights and bf16 x.
//
//go:noinline
func ExpertsMatMulBF16(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatBF16, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// ExpertsMatMulQ8_0 computes the products for q8_0 weights and q8a x.
//
//go:noinline
func ExpertsMatMulQ8_0(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ8, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// ExpertsMatMulQ4_0 computes the products for q4_0 weights and q8a x.
//
//go:noinline
func ExpertsMatMulQ4_0(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ4, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// expertColumns is how many columns of an expert are used for all of its tokens before the
// next ones: with rows of a few thousand elements they stay in the second-level cache.
const expertColumns = 4 * panelRows

// expertsMatMul computes expert by expert, so that a matrix is read from memory once
// however many tokens chose it.
func expertsMatMul(f format, dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	sh := &formatShape[f]
	choices, blocks := shape.Choices, shape.In/sh.blockLen
	matrixBytes := (shape.Out + panelRows - 1) / panelRows * blocks * sh.panelBytes
	expert := MatMulShape{In: shape.In, Out: shape.Out}
	named := indices(floatAt(idx, t0*choices), (t1-t0)*choices)
	for e := range shape.Experts {
		first := next(named, e, 0)
		if first == len(named) {
			continue
		}
		matrix := unsafe.Add(w, e*matrixBytes)
		for c := c0; c < c1; c += expertColumns {
			for at := first; at < len(named); at = next(named, e, at+1) {
				r := t0*choices + at
				from := r/choices*shape.Rows + r%choices%shape.Rows
				matmul(f, floatAt(dst, r*shape.Out), unsafe.Add(x, from*blocks*sh.xBytes), matrix, nil, expert, 0, 1, c, min(c+expertColumns, c1))
			}
		}
	}
}
