// Package mlp holds a small network three ways: written by hand with ir.Builder, as text in
// mlp.ggir, and as the package that ggmlc gen makes of it. Its test compiles and runs all
// three and compares the numbers.
//
// The network is y = w2·relu(w1·x + b1) for rows x of four numbers: for
// numbers that are 0 or 1, it is whether an odd number of them is 1.
package mlp

import (
	_ "embed"
	"encoding/binary"
	"math"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Text is the network in text form.
//
//go:embed mlp.ggir
var Text string

// Sizes of the network.
const (
	Inputs = 4
	Hidden = 4
	Rows   = 16 // at most, in one call
)

// The parity of four bits is s - 2·relu(s-1) + 2·relu(s-2) - 2·relu(s-3) with s their sum:
// the hidden units are relu(s), relu(s-1), relu(s-2), relu(s-3).
var (
	w1 = []float32{1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}
	b1 = []float32{0, -1, -2, -3}
	w2 = []float32{1, -2, 2, -2}
)

// Build writes the graph by hand.
func Build() (*ir.Module, error) {
	b := ir.NewBuilder("mlp")
	n := b.Symbol("n", 1, Rows)
	b.Weight("w1", matrix(Hidden, Inputs), literal(w1))
	b.Weight("b1", matrix(1, Hidden), literal(b1))
	b.Weight("w2", matrix(1, Hidden), literal(w2))

	f := b.Func("parity")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: []ir.Dim{n, ir.Const(Inputs)}})
	h := f.Add(f.MatMul(x, f.Weight("w1")), f.Weight("b1"))
	f.Return("y", f.MatMul(f.ReLU(h), f.Weight("w2")))
	return b.Finish()
}

func matrix(rows, cols int64) ir.Type {
	return ir.Type{DType: dtype.F32, Shape: ir.Dims(rows, cols)}
}

// literal returns the expression for f32 numbers that are part of the module.
func literal(values []float32) *ir.Expr {
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return &ir.Expr{Op: ir.ExprLiteral, Data: data}
}
