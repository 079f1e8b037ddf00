package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// The products and gathers of formats with a scheme (dtype.Scheme). Matrix products are those of matmul_api.go,
// products with experts those of experts.go, gathers those of gather.go.

// MatMulQ4_1 computes x·wᵀ, plus res if that is not nil, for q4_1 weights and q8a x.
//
//go:noinline
func MatMulQ4_1(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ41, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ4_1 computes silu(x·wGateᵀ) * (x·wUpᵀ) for q4_1 weights and q8a x.
//
//go:noinline
func MatMulSwiGLUQ4_1(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ41, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ4_1 computes the products with chosen experts for q4_1 weights and q8a x.
//
//go:noinline
func ExpertsMatMulQ4_1(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ41, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ4_1 gathers from a plain q4_1 table.
//
//go:noinline
func GatherQ4_1(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q4_1, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q4_1 gathers from a q4_1 table in layout r16.
//
//go:noinline
func GatherR16Q4_1(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q4_1, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ5_0 computes x·wᵀ, plus res if that is not nil, for q5_0 weights and q8a x.
//
//go:noinline
func MatMulQ5_0(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ50, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ5_0 computes silu(x·wGateᵀ) * (x·wUpᵀ) for q5_0 weights and q8a x.
//
//go:noinline
func MatMulSwiGLUQ5_0(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ50, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ5_0 computes the products with chosen experts for q5_0 weights and q8a x.
//
//go:noinline
func ExpertsMatMulQ5_0(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ50, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ5_0 gathers from a plain q5_0 table.
//
//go:noinline
func GatherQ5_0(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q5_0, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q5_0 gathers from a q5_0 table in layout r16.
//
//go:noinline
func GatherR16Q5_0(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q5_0, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ5_1 computes x·wᵀ, plus res if that is not nil, for q5_1 weights and q8a x.
//
//go:noinline
func MatMulQ5_1(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ51, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ5_1 computes silu(x·wGateᵀ) * (x·wUpᵀ) for q5_1 weights and q8a x.
//
//go:noinline
func MatMulSwiGLUQ5_1(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ51, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ5_1 computes the products with chosen experts for q5_1 weights and q8a x.
//
//go:noinline
func ExpertsMatMulQ5_1(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ51, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ5_1 gathers from a plain q5_1 table.
//
//go:noinline
func GatherQ5_1(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q5_1, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q5_1 gathers from a q5_1 table in layout r16.
//
//go:noinline
func GatherR16Q5_1(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q5_1, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ2_K computes x·wᵀ, plus res if that is not nil, for q2_k weights and q8a_k x.
//
//go:noinline
func MatMulQ2_K(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ2K, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ2_K computes silu(x·wGateᵀ) * (x·wUpᵀ) for q2_k weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUQ2_K(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ2K, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ2_K computes the products with chosen experts for q2_k weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulQ2_K(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ2K, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ2_K gathers from a plain q2_k table.
//
//go:noinline
func GatherQ2_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q2_K, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q2_K gathers from a q2_k table in layout r16.
//
//go:noinline
func GatherR16Q2_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q2_K, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ3_K computes x·wᵀ, plus res if that is not nil, for q3_k weights and q8a_k x.
//
//go:noinline
func MatMulQ3_K(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ3K, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ3_K computes silu(x·wGateᵀ) * (x·wUpᵀ) for q3_k weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUQ3_K(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ3K, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ3_K computes the products with chosen experts for q3_k weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulQ3_K(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ3K, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ3_K gathers from a plain q3_k table.
//
//go:noinline
func GatherQ3_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q3_K, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q3_K gathers from a q3_k table in layout r16.
//
//go:noinline
func GatherR16Q3_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q3_K, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ4_K computes x·wᵀ, plus res if that is not nil, for q4_k weights and q8a_k x.
//
//go:noinline
func MatMulQ4_K(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ4K, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ4_K computes silu(x·wGateᵀ) * (x·wUpᵀ) for q4_k weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUQ4_K(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ4K, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ4_K computes the products with chosen experts for q4_k weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulQ4_K(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ4K, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ4_K gathers from a plain q4_k table.
//
//go:noinline
func GatherQ4_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q4_K, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q4_K gathers from a q4_k table in layout r16.
//
//go:noinline
func GatherR16Q4_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q4_K, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ5_K computes x·wᵀ, plus res if that is not nil, for q5_k weights and q8a_k x.
//
//go:noinline
func MatMulQ5_K(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ5K, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ5_K computes silu(x·wGateᵀ) * (x·wUpᵀ) for q5_k weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUQ5_K(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ5K, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ5_K computes the products with chosen experts for q5_k weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulQ5_K(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ5K, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ5_K gathers from a plain q5_k table.
//
//go:noinline
func GatherQ5_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q5_K, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q5_K gathers from a q5_k table in layout r16.
//
//go:noinline
func GatherR16Q5_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q5_K, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulQ6_K computes x·wᵀ, plus res if that is not nil, for q6_k weights and q8a_k x.
//
//go:noinline
func MatMulQ6_K(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatQ6K, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUQ6_K computes silu(x·wGateᵀ) * (x·wUpᵀ) for q6_k weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUQ6_K(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatQ6K, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulQ6_K computes the products with chosen experts for q6_k weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulQ6_K(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatQ6K, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherQ6_K gathers from a plain q6_k table.
//
//go:noinline
func GatherQ6_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.Q6_K, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16Q6_K gathers from a q6_k table in layout r16.
//
//go:noinline
func GatherR16Q6_K(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.Q6_K, dst, idx, table, n, r0, r1, c0, c1)
}
