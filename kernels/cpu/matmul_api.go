package cpu

import "unsafe"

// Matrix products. All compute rows [r0, r1) and columns [c0, c1) of
//
//	y[r, c] = Σ x[r, i]·w[c, i] for i in [0, In)
//
// where dst is f32 [*, Out], x is [*, In] and w is [Out, In] in layout r16 (package tile). c0 is a
// multiple of 16, c1 one or Out. x is f32 for f32 and f16 weights, bf16 for bf16 ones, and for quantized
// ones q8a_k if their blocks have 256 elements and q8a otherwise; In is a multiple of the elements of a
// block. dst and x do not overlap.
//
// Float products are summed in f32, in order of i, those of bf16 with the odd i of each pair
// before the even one. Quantized ones are exact within a block (integers), scaled and summed in f32
// in order of blocks.

// MatMulF32 computes x·wᵀ, plus res if that is not nil, for f32 weights and f32 x.
// res is f32 [*, Out] and may be dst.
//
//go:noinline
func MatMulF32(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatF32, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulF16 computes x·wᵀ, plus res if that is not nil, for f16 weights and f32 x.
// res is f32 [*, Out] and may be dst.
//
//go:noinline
func MatMulF16(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatF16, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulBF16 computes x·wᵀ, plus res if that is not nil, for bf16 weights and bf16 x.
// res is f32 [*, Out] and may be dst.
//
//go:noinline
func MatMulBF16(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatBF16, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulQ8_0 computes x·wᵀ, plus res if that is not nil, for q8_0 weights and q8a x.
// res is f32 [*, Out] and may be dst.
//
//go:noinline
func MatMulQ8_0(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ8, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulQ4_0 computes x·wᵀ, plus res if that is not nil, for q4_0 weights and q8a x.
// res is f32 [*, Out] and may be dst.
//
//go:noinline
func MatMulQ4_0(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ4, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUF32 computes silu(x·wGateᵀ) * (x·wUpᵀ) for f32 weights, both [Out, In],
// and f32 x.
//
//go:noinline
func MatMulSwiGLUF32(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatF32, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// MatMulSwiGLUF16 computes silu(x·wGateᵀ) * (x·wUpᵀ) for f16 weights, both [Out, In],
// and f32 x.
//
//go:noinline
func MatMulSwiGLUF16(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatF16, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// MatMulSwiGLUBF16 computes silu(x·wGateᵀ) * (x·wUpᵀ) for bf16 weights, both [Out, In],
// and bf16 x.
//
//go:noinline
func MatMulSwiGLUBF16(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatBF16, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// MatMulSwiGLUBF16ToBF16 is MatMulSwiGLUBF16 followed by CastF32BF16, bit for bit, without
// the f32 matrix in between. dst is bf16.
//
//go:noinline
func MatMulSwiGLUBF16ToBF16(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	round := spareUnrounded.Get().(*unrounded)
	matmulSwiGLU(formatBF16, dst, x, wGate, wUp, shape, r0, r1, c0, c1, round)
	spareUnrounded.Put(round)
}

// MatMulSwiGLUQ8_0 computes silu(x·wGateᵀ) * (x·wUpᵀ) for q8_0 weights, both [Out, In],
// and q8a x.
//
//go:noinline
func MatMulSwiGLUQ8_0(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ8, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// MatMulSwiGLUQ4_0 computes silu(x·wGateᵀ) * (x·wUpᵀ) for q4_0 weights, both [Out, In],
// and q8a x.
//
//go:noinline
func MatMulSwiGLUQ4_0(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ4, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// PackF32 lays rows [c0, c1) of the f32 matrix src [n, k] out as r16 in dst, so that a
// product of two activations can take it for w. c0 is a multiple of 16, c1 one or n; the
// last panel is padded with zeros.
//
//go:noinline
func PackF32(dst, src unsafe.Pointer, n, k, c0, c1 int) {
	for c := c0; c < c1; c += panelRows {
		rows := min(c1-c, panelRows)
		packPanel(floats(floatAt(dst, c*k), panelRows*k), floats(floatAt(src, c*k), rows*k), rows, k)
	}
}

// packPanel transposes rows rows of k elements, and clears the lanes of absent rows.
func packPanel(dst, src []float32, rows, k int) {
	for r := range rows {
		for i, v := range src[r*k : (r+1)*k] {
			dst[i*panelRows+r] = v
		}
	}
	for r := rows; r < panelRows; r++ {
		for i := range k {
			dst[i*panelRows+r] = 0
		}
	}
}
