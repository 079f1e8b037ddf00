package irtest

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/opcase"
)

// Call is opcase.Call.
type Call = opcase.Call

// Case is opcase.Case.
func Case(op ir.Op, c ir.Case, seed uint64) (*Call, error) { return opcase.Case(op, c, seed) }

// Compare is opcase.Compare.
func Compare(got, want eval.Tensor, tol ir.Tolerance) error { return opcase.Compare(got, want, tol) }

// Weights is opcase.Weights.
func Weights(m *ir.Module, tensors map[string]eval.Tensor) (map[string]eval.Tensor, error) {
	return opcase.Weights(m, tensors)
}
