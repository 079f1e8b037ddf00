package gputest

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Tolerances of products whose factors are rounded. Measured: NMSE up to 2e-7 with f16, 5e-6 with bf16.
var (
	toF16  = ir.Tolerance{NMSE: 1e-6, MaxAbs: 4e-3, Why: "machines that multiply tiles round both factors to f16 (2^-12)"}
	toBF16 = ir.Tolerance{NMSE: 2e-5, MaxAbs: 2e-2, Why: "machines that multiply tiles round x to bf16 if the matrix is of bf16 (2^-9)"}
)

// Tolerance returns how far results of a case on a machine may be from those of package eval: that of the op, or a
// larger one where kernels for the machine round operands: those with tiles, which need subgroups of a known size.
func Tolerance(c Case, on gpu.Machine) ir.Tolerance {
	product := c.Op == ir.OpMatMul || c.Op == ir.OpMatMulSwiGLU || c.Op == ir.OpExpertsMatMul
	if on.Caps&kir.CapTile == 0 || on.Lanes == 0 || !product {
		return c.Op.Info().Tol
	}
	if c.Args[1].Type.DType == dtype.BF16 {
		return toBF16
	}
	return toF16
}
