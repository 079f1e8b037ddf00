package gputest_test

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/opcase"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
)

// TestEveryKernelIsDrawn demands random cases of each op that has kernels, and products with each format of blocks that
// kernels decode.
func TestEveryKernelIsDrawn(t *testing.T) {
	ops, formats := make(map[ir.Op]bool), make(map[dtype.DType]bool)
	for seed := range uint64(3000) {
		c := gputest.RandomCase(seed)
		ops[c.Op] = true
		if c.Op == ir.OpMatMul {
			formats[c.Args[1].Type.DType] = true
		}
	}
	for op := range ir.Ops {
		if gpu.Has(op) && !ops[op] {
			t.Errorf("no random case has a node %v: add it to a function in families in random.go", op)
		}
	}
	for c := range ir.OpMatMul.Info().Cases {
		if d := c.Args[1].Type.DType; multiplies(t, c) && !formats[d] {
			t.Errorf("no random case has a product with a matrix of %v: add it to format in random.go", d)
		}
	}
}

// multiplies reports whether there is a kernel for a case of a product.
func multiplies(t *testing.T, c ir.Case) bool {
	call, err := opcase.Case(ir.OpMatMul, c, 1)
	if err != nil {
		t.Fatal(err)
	}
	on, _ := gpu.Of("vulkan")
	nodes := call.Module.Funcs[0].Nodes
	_, err = gpu.Lower(nodes[len(nodes)-1], on)
	return err == nil
}
