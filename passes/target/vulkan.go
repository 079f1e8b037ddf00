package target

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Vulkan returns the descriptor of a GPU that package runtime/vulkan drives. Its kernels are in package kernels/gpu; a
// test there checks that each row has one. It has memory and a queue of its own. A number distinguishes several of
// them: see New.
func Vulkan() *Descriptor {
	return &Descriptor{
		Name:    "vulkan",
		Kind:    "vulkan",
		Like:    "vulkan",
		Doc:     "a GPU with a driver for Vulkan 1.2 or later; vulkan:0, vulkan:1 are two",
		Spaces:  []string{"vulkan"},
		Rows:    gpuRows(),
		Segment: gpuSegment,
		Threads: 1,
		Hint:    1,
		Queues:  1,
		Events:  true,

		Concurrent: true,
		Staged:     true,

		Align: 256,
		Rates: vulkanRates,

		MaxAlloc: 2 << 30, // which the drivers that we know allow; Vulkan promises half of it
	}
}

// vulkanRates are those of no particular device: a tenth of what large cards of 2024 have, and their link, PCIe 4.0
// with 16 lanes, of which drivers reach about 2e10. Starting a dispatch in a recorded command buffer takes some
// microseconds.
var vulkanRates = Rates{
	FLOPs:     5e12,
	QuantOps:  5e12,
	Bandwidth: 3e11,
	WorkerBW:  3e11,
	Launch:    4e-6,
	Link:      2e10,
	LinkDelay: 1e-5,
}

// maxParts is how many operands the kernel of concat joins.
const maxParts = 16

// gpuSegment is how many positions of a context a workgroup looks at if a token's attention is divided: as many as it
// has threads.
const gpuSegment = 256

// gpuRows returns the table of kernels of package kernels/gpu.
func gpuRows() []Row {
	layouts := []dtype.Layout{dtype.Planar, dtype.Plain}
	quantized := []dtype.DType{
		dtype.Q8_0, dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.Q2_K, dtype.Q3_K, dtype.Q4_K, dtype.Q5_K, dtype.Q6_K,
		dtype.IQ4_NL, dtype.IQ4_XS, dtype.MXFP4,
	}
	weights := Format{DTypes: append([]dtype.DType{dtype.F32, dtype.F16, dtype.BF16}, quantized...), Layouts: layouts}
	blocks := Format{DTypes: quantized, Layouts: layouts}
	moved := Format{DTypes: scalarTypes, Layouts: []dtype.Layout{dtype.Plain}, Strides: AnyStrides}
	floats := Format{DTypes: []dtype.DType{dtype.F32, dtype.F16, dtype.BF16}, Layouts: []dtype.Layout{dtype.Plain}, Strides: AnyStrides}
	any32 := Format{DTypes: []dtype.DType{dtype.F32}, Layouts: []dtype.Layout{dtype.Plain}, Strides: AnyStrides}
	cache := Plain(dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	rows := []Row{
		row(ir.OpMatMul, any32, weights, any32),
		row(ir.OpMatMulSwiGLU, any32, weights, weights),
		row(ir.OpExpertsMatMul, any32, weights, i32),
		row(ir.OpMatMul, q8a, blocks, any32), // after the rows for f32, so that activations are not quantized
		row(ir.OpMatMulSwiGLU, q8a, blocks, blocks),
		row(ir.OpExpertsMatMul, q8a, blocks, i32),
		row(ir.OpRMSNorm, any32, f32),
		row(ir.OpLayerNorm, any32, f32, f32),
		row(ir.OpSoftmax, any32),
		row(ir.OpReduceSum, any32),
		row(ir.OpReduceMean, any32),
		row(ir.OpReduceMax, any32),
		row(ir.OpGather, weights, i32),
		row(ir.OpRopeTable, i32, f32),
		row(ir.OpRope, any32, f32),
		{Op: ir.OpRMSNormQuantize, Args: []Format{any32, f32}, Check: shortBlocks},
		row(ir.OpTopK, any32),
		row(ir.OpTake, any32, i32),
		row(ir.OpExpertsSum, any32, any32),
		{Op: ir.OpAttention, Args: []Format{any32, cache, cache, i32, i32, i32, f32}, Check: notAround},
		row(ir.OpAttentionSegments, any32, cache, cache, i32, i32, i32),
		row(ir.OpAttentionCombine, any32, f32),
		row(ir.OpStateWrite, cache, any32, i32, i32),
		row(ir.OpConcat, slices.Repeat([]Format{moved}, maxParts)...),
		{Op: ir.OpQuantize, Args: []Format{any32}, Check: shortBlocks},
		row(ir.OpChain, slices.Repeat([]Format{any32}, ir.MaxChainOperands)...),
		{Op: ir.OpCopy, Args: []Format{moved}, Check: copyBox},
		{Op: ir.OpCast, Args: []Format{floats}, Check: castPair},
	}
	for _, op := range []ir.Op{
		ir.OpNeg, ir.OpAbs, ir.OpExp, ir.OpLog, ir.OpSqrt, ir.OpSquare, ir.OpReLU, ir.OpSiLU,
		ir.OpGELU, ir.OpTanh, ir.OpSigmoid, ir.OpScale, ir.OpClamp,
	} {
		rows = append(rows, row(op, any32))
	}
	for _, op := range []ir.Op{ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv, ir.OpMax, ir.OpMin, ir.OpSwiGLU} {
		rows = append(rows, row(op, any32, any32))
	}
	return rows
}

// notAround checks that tokens read no positions after their own, for which there is no kernel.
func notAround(n *ir.Node) string {
	if around := ir.ScoringOf(n).Around; around > 0 {
		return fmt.Sprintf("reads %d positions on each side of a token, for which there is no kernel", around)
	}
	return ""
}

// shortBlocks checks that a node does not make q8a_k, which products of GPUs do not read.
func shortBlocks(n *ir.Node) string {
	var to dtype.DType
	switch a := n.Attr.(type) {
	case *ir.QuantizeAttr:
		to = a.To
	case *ir.NormQuantizeAttr:
		to = a.To
	}
	if to == dtype.Q8A_K {
		return fmt.Sprintf("makes %v, for which there is no kernel", to)
	}
	return ""
}
