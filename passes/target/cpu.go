package target

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// defaultAlign is the alignment of offsets in bytes: a cache line, and a vector register
// of AVX-512.
const defaultAlign = 64

// maxThreads is the bound of the symbol threads (DESIGN.md, "Workers").
const maxThreads = 64

// Formats that the CPU's kernels read.
var (
	f32     = Plain(dtype.F32)
	i32     = Plain(dtype.I32)
	q8a     = Plain(dtype.Q8A)
	cache   = Plain(dtype.F32, dtype.F16, dtype.Q8_0)
	table   = Format{DTypes: []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.Q8_0, dtype.Q4_0}, Layouts: []dtype.Layout{dtype.Plain, dtype.R16}}
	panels  = Packed(dtype.R16, dtype.F32, dtype.F16, dtype.BF16)
	qpanels = Packed(dtype.R16, dtype.Q8_0, dtype.Q4_0)
	strided = Format{DTypes: []dtype.DType{dtype.F32, dtype.F16, dtype.BF16, dtype.I32}, Layouts: []dtype.Layout{dtype.Plain}, Strides: AnyStrides}
)

// CPU returns the descriptor of the processor that the program runs on. Its kernels stand
// in kernels/cpu; a test there and in codegen demands one for each row.
func CPU() *Descriptor {
	return &Descriptor{
		Name:    "cpu",
		Kind:    "cpu",
		Like:    "cpu",
		Doc:     "the processor: pure Go, AVX2 or AVX-512, chosen at start",
		Spaces:  []string{Host},
		Rows:    cpuRows(),
		Workers: true,
		Threads: maxThreads,
		Hint:    8,
		Align:   defaultAlign,
		Rates:   cpuRates,
	}
}

// cpuRates are rounded figures of one core with AVX2 near 3 GHz: they only say which
// work is too small to share. The barrier is DESIGN.md's 0.15 µs for spinning workers,
// doubled for the uneven arrival that it waits out.
var cpuRates = Rates{
	FLOPs:     4e10,
	QuantOps:  1e11,
	Bandwidth: 4e10,
	WorkerBW:  1.2e10,
	Barrier:   3e-7,
	Launch:    2e-8,
	Link:      1e10,
	LinkDelay: 1e-6,
}

// cpuRows is the table of kernels: op, then the formats of its operands.
func cpuRows() []Row {
	rows := []Row{
		{ir.OpMatMul, []Format{q8a, qpanels, f32}},
		{ir.OpMatMul, []Format{f32, panels, f32}},
		{ir.OpMatMulSwiGLU, []Format{q8a, qpanels, qpanels}},
		{ir.OpMatMulSwiGLU, []Format{f32, panels, panels}},
		{ir.OpRMSNorm, []Format{f32, f32}},
		{ir.OpRMSNormQuantize, []Format{f32, f32}},
		{ir.OpLayerNorm, []Format{f32, f32, f32}},
		{ir.OpSoftmax, []Format{f32}},
		{ir.OpReduceSum, []Format{f32}},
		{ir.OpReduceMean, []Format{f32}},
		{ir.OpReduceMax, []Format{f32}},
		{ir.OpGather, []Format{table, i32}},
		{ir.OpRopeTable, []Format{i32, f32}},
		{ir.OpRope, []Format{f32, f32}},
		{ir.OpAttention, []Format{f32, cache, cache, i32, i32, i32}},
		{ir.OpStateWrite, []Format{cache, f32, i32, i32}},
		{ir.OpCopy, []Format{strided}},
		{ir.OpCast, []Format{Plain(dtype.F32, dtype.F16, dtype.BF16)}},
		{ir.OpQuantize, []Format{f32}},
	}
	for _, op := range []ir.Op{
		ir.OpNeg, ir.OpAbs, ir.OpExp, ir.OpLog, ir.OpSqrt, ir.OpSquare, ir.OpReLU, ir.OpSiLU,
		ir.OpGELU, ir.OpTanh, ir.OpSigmoid, ir.OpScale,
	} {
		rows = append(rows, Row{op, []Format{f32}})
	}
	for _, op := range []ir.Op{
		ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv, ir.OpMax, ir.OpMin, ir.OpSwiGLU,
	} {
		rows = append(rows, Row{op, []Format{f32, f32}})
	}
	return rows
}
