// Package npu brings a backend to ggmlc: an imaginary device that computes three ops in the memory of the processor.
//
// A program that imports this package has the target npu. Emitted programs link package npurt. See
// ../../docs/howto/backend.md.
package npu

import (
	"embed"
	"fmt"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// sources is what programs are built from.
//
//go:embed npurt/*.go
var sources embed.FS

func init() {
	backend.Register(backend.Backend{
		Target:  Target,
		Kernels: map[ir.Op]backend.Kernel{ir.OpMatMul: matMul, ir.OpRMSNorm: rmsNorm, ir.OpSwiGLU: swiGLU},
		Module:  "example.com/npu",
		Package: "example.com/npu/npurt",
		Sources: sources,
	})
}

// Target returns the descriptor. The device reads and writes the processor's memory, so what it does not support runs
// on the processor without a copy.
func Target() *target.Descriptor {
	f32 := target.Plain(dtype.F32)
	return &target.Descriptor{
		Name:   "npu",
		Kind:   "npu",
		Like:   "npu",
		Doc:    "an imaginary device in the processor's memory; example.com/npu brings it",
		Spaces: []string{target.Host},
		Rows: []target.Row{
			{Op: ir.OpMatMul, Args: []target.Format{f32, target.Packed(lanes, dtype.F32), f32}},
			{Op: ir.OpRMSNorm, Args: []target.Format{f32, f32}},
			{Op: ir.OpSwiGLU, Args: []target.Format{f32, f32}, Check: sameShape},
		},
		Threads: 1,
		Hint:    1,
		Queues:  1,
		Events:  true,
		Align:   64,
		Rates:   target.Rates{FLOPs: 1e12, Bandwidth: 1e11, WorkerBW: 1e11, Launch: 1e-6, Link: 1e11, LinkDelay: 1e-6},
	}
}

// sameShape refuses a swiglu whose second operand is repeated.
func sameShape(n *ir.Node) string {
	if !ir.EqualDims(n.Args[0].Type.Shape, n.Args[1].Type.Shape) {
		return "repeats operand 1, and the kernel reads operands of one shape"
	}
	return ""
}

func matMul(n *ir.Node) (backend.Call, error) {
	w := n.Args[1].Type
	if w.Rank() != 2 {
		return backend.Call{}, fmt.Errorf("the weight has rank %d, not 2", w.Rank())
	}
	return backend.Call{Method: "MatMul", Args: []backend.Arg{
		backend.Address(n.Result()), backend.Address(n.Args[0]), backend.Address(n.Args[1]), backend.Address(n.Arg(2)),
		backend.Size(n.Result().Type.Rows()), backend.Size(w.Shape[1]), backend.Size(w.Shape[0]),
	}}, nil
}

func rmsNorm(n *ir.Node) (backend.Call, error) {
	t := n.Result().Type
	return backend.Call{Method: "RMSNorm", Args: []backend.Arg{
		backend.Address(n.Result()), backend.Address(n.Args[0]), backend.Address(n.Args[1]),
		backend.Size(t.Rows()), backend.Size(t.Inner()), backend.Float(n.Attr.(*ir.NormAttr).Eps),
	}}, nil
}

func swiGLU(n *ir.Node) (backend.Call, error) {
	return backend.Call{Method: "SwiGLU", Args: []backend.Arg{
		backend.Address(n.Result()), backend.Address(n.Args[0]), backend.Address(n.Args[1]), backend.Size(n.Result().Type.Elems()),
	}}, nil
}
