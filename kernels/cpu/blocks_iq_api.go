package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// The products and gathers of blocks_api.go for formats whose elements are positions in a table.

// MatMulIQ4_NL computes x·wᵀ, plus res if that is not nil, for iq4_nl weights and q8a x.
//
//go:noinline
func MatMulIQ4_NL(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatIQ4NL, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUIQ4_NL computes silu(x·wGateᵀ) * (x·wUpᵀ) for iq4_nl weights and q8a x.
//
//go:noinline
func MatMulSwiGLUIQ4_NL(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatIQ4NL, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulIQ4_NL computes the products with chosen experts for iq4_nl weights and q8a x.
//
//go:noinline
func ExpertsMatMulIQ4_NL(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatIQ4NL, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherIQ4_NL gathers from a plain iq4_nl table.
//
//go:noinline
func GatherIQ4_NL(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.IQ4_NL, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16IQ4_NL gathers from a iq4_nl table in layout r16.
//
//go:noinline
func GatherR16IQ4_NL(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.IQ4_NL, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulIQ4_XS computes x·wᵀ, plus res if that is not nil, for iq4_xs weights and q8a_k x.
//
//go:noinline
func MatMulIQ4_XS(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatIQ4XS, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUIQ4_XS computes silu(x·wGateᵀ) * (x·wUpᵀ) for iq4_xs weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUIQ4_XS(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatIQ4XS, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulIQ4_XS computes the products with chosen experts for iq4_xs weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulIQ4_XS(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatIQ4XS, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherIQ4_XS gathers from a plain iq4_xs table.
//
//go:noinline
func GatherIQ4_XS(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.IQ4_XS, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16IQ4_XS gathers from a iq4_xs table in layout r16.
//
//go:noinline
func GatherR16IQ4_XS(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.IQ4_XS, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulMXFP4 computes x·wᵀ, plus res if that is not nil, for mxfp4 weights and q8a x.
//
//go:noinline
func MatMulMXFP4(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatMXFP4, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUMXFP4 computes silu(x·wGateᵀ) * (x·wUpᵀ) for mxfp4 weights and q8a x.
//
//go:noinline
func MatMulSwiGLUMXFP4(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatMXFP4, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulMXFP4 computes the products with chosen experts for mxfp4 weights and q8a x.
//
//go:noinline
func ExpertsMatMulMXFP4(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatMXFP4, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherMXFP4 gathers from a plain mxfp4 table.
//
//go:noinline
func GatherMXFP4(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.MXFP4, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16MXFP4 gathers from a mxfp4 table in layout r16.
//
//go:noinline
func GatherR16MXFP4(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.MXFP4, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulIQ2X computes x·wᵀ, plus res if that is not nil, for iq2x weights and q8a_k x.
//
//go:noinline
func MatMulIQ2X(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatIQ2X, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUIQ2X computes silu(x·wGateᵀ) * (x·wUpᵀ) for iq2x weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUIQ2X(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatIQ2X, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulIQ2X computes the products with chosen experts for iq2x weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulIQ2X(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatIQ2X, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherIQ2X gathers from a plain iq2x table.
//
//go:noinline
func GatherIQ2X(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.IQ2X, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16IQ2X gathers from a iq2x table in layout r16.
//
//go:noinline
func GatherR16IQ2X(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.IQ2X, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulIQ2X16 computes x·wᵀ, plus res if that is not nil, for iq2x16 weights and q8a_k x.
//
//go:noinline
func MatMulIQ2X16(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatIQ2X16, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUIQ2X16 computes silu(x·wGateᵀ) * (x·wUpᵀ) for iq2x16 weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUIQ2X16(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatIQ2X16, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulIQ2X16 computes the products with chosen experts for iq2x16 weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulIQ2X16(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatIQ2X16, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherIQ2X16 gathers from a plain iq2x16 table.
//
//go:noinline
func GatherIQ2X16(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.IQ2X16, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16IQ2X16 gathers from a iq2x16 table in layout r16.
//
//go:noinline
func GatherR16IQ2X16(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.IQ2X16, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulIQ3X computes x·wᵀ, plus res if that is not nil, for iq3x weights and q8a_k x.
//
//go:noinline
func MatMulIQ3X(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatIQ3X, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUIQ3X computes silu(x·wGateᵀ) * (x·wUpᵀ) for iq3x weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUIQ3X(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatIQ3X, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulIQ3X computes the products with chosen experts for iq3x weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulIQ3X(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatIQ3X, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherIQ3X gathers from a plain iq3x table.
//
//go:noinline
func GatherIQ3X(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.IQ3X, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16IQ3X gathers from a iq3x table in layout r16.
//
//go:noinline
func GatherR16IQ3X(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.IQ3X, dst, idx, table, n, r0, r1, c0, c1)
}

// MatMulIQ3SX computes x·wᵀ, plus res if that is not nil, for iq3sx weights and q8a_k x.
//
//go:noinline
func MatMulIQ3SX(dst, x, w, res unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmul(formatIQ3SX, dst, x, w, res, shape, r0, r1, c0, c1)
}

// MatMulSwiGLUIQ3SX computes silu(x·wGateᵀ) * (x·wUpᵀ) for iq3sx weights and q8a_k x.
//
//go:noinline
func MatMulSwiGLUIQ3SX(dst, x, wGate, wUp unsafe.Pointer, shape MatMulShape, r0, r1, c0, c1 int) {
	matmulSwiGLU(formatIQ3SX, dst, x, wGate, wUp, shape, r0, r1, c0, c1, nil)
}

// ExpertsMatMulIQ3SX computes the products with chosen experts for iq3sx weights and q8a_k x.
//
//go:noinline
func ExpertsMatMulIQ3SX(dst, x, w, idx unsafe.Pointer, shape ExpertsShape, t0, t1, c0, c1 int) {
	expertsMatMul(formatIQ3SX, dst, x, w, idx, shape, t0, t1, c0, c1)
}

// GatherIQ3SX gathers from a plain iq3sx table.
//
//go:noinline
func GatherIQ3SX(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherBlocks(dtype.IQ3SX, dst, idx, table, n, r0, r1, c0, c1)
}

// GatherR16IQ3SX gathers from a iq3sx table in layout r16.
//
//go:noinline
func GatherR16IQ3SX(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	gatherPanels(dtype.IQ3SX, dst, idx, table, n, r0, r1, c0, c1)
}
