package target

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// defaultAlign is the alignment of offsets in bytes: the size of a cache line and of a vector register of AVX-512.
const defaultAlign = 64

// maxThreads is the upper bound of the symbol threads.
const maxThreads = ir.MaxThreads

var (
	blockTypes = []dtype.DType{dtype.Q8_0, dtype.Q4_0, dtype.Q4_1, dtype.Q5_0, dtype.Q5_1, dtype.IQ4_NL, dtype.MXFP4}
	superTypes = []dtype.DType{
		dtype.Q2_K, dtype.Q3_K, dtype.Q4_K, dtype.Q5_K, dtype.Q6_K, dtype.IQ4_XS, dtype.IQ2X, dtype.IQ2X16, dtype.IQ3X, dtype.IQ3SX,
	}
	weightTypes = slices.Concat([]dtype.DType{dtype.F32, dtype.F16, dtype.BF16}, blockTypes, superTypes)
	scalarTypes = []dtype.DType{
		dtype.F32, dtype.F16, dtype.BF16, dtype.F64, dtype.I8, dtype.I32, dtype.I64, dtype.U8, dtype.Bool,
	}
)

// Formats that the kernels of the CPU read.
var (
	f32     = Plain(dtype.F32)
	i32     = Plain(dtype.I32)
	q8a     = Plain(dtype.Q8A)
	q8ak    = Plain(dtype.Q8A_K)
	cache   = Plain(dtype.F32, dtype.F16, dtype.Q8_0, dtype.Q4_0)
	qcache  = Plain(dtype.Q8_0, dtype.Q4_0)
	qkeys   = Packed(dtype.R16, dtype.Q8_0, dtype.Q4_0)
	hcache  = Plain(dtype.F16)
	hkeys   = Packed(dtype.R16, dtype.F16)
	table   = Format{DTypes: weightTypes, Layouts: []dtype.Layout{dtype.Plain, dtype.R16}}
	bf16    = Plain(dtype.BF16)
	panels  = Packed(dtype.R16, dtype.F32, dtype.F16)
	bpanels = Packed(dtype.R16, dtype.BF16)
	qpanels = Packed(dtype.R16, blockTypes...)
	kpanels = Packed(dtype.R16, superTypes...)
	// matrices are copied as bytes, so the layout does not matter.
	matrices = Format{DTypes: weightTypes, Layouts: []dtype.Layout{dtype.Plain, dtype.R16, dtype.Planar}}
	strided  = Format{DTypes: scalarTypes, Layouts: []dtype.Layout{dtype.Plain}, Strides: AnyStrides}
)

// BF16CPUs returns the implementations of the CPU's kernels, as --cpu names them, that use instructions for bf16.
func BF16CPUs() []string { return []string{string(tile.AVX512BF16), string(tile.AMX)} }

// CPU returns the descriptor of the processor that the program runs on. Its kernels are in package kernels/cpu; tests
// there and in codegen check that each row has one.
func CPU() *Descriptor {
	return &Descriptor{
		Name:    "cpu",
		Kind:    "cpu",
		Like:    "cpu",
		Doc:     "the processor: pure Go, AVX2 or AVX-512, chosen at start",
		Spaces:  []string{Host},
		Rows:    cpuRows(),
		Segment: tile.SegmentLen,
		Workers: true,
		Threads: maxThreads,
		Hint:    8,
		Align:   defaultAlign,
		Rates:   cpuRates,
	}
}

// cpuRates are rounded figures of cores with AVX2 near 3 GHz. They are good enough to decide which work is too small to
// share. The barrier is 0.15 µs for spinning workers, doubled because workers arrive at different times.
var cpuRates = Rates{
	FLOPs:     4e10,
	QuantOps:  1e11,
	Bandwidth: 4e10,
	WorkerBW:  1.2e10,
	Cache:     2 << 20, // second-level cache of server processors since 2022
	CacheBW:   1e11,
	Barrier:   3e-7,
	Launch:    2e-8,
	Link:      1e10,
	LinkDelay: 1e-6,
}

// cpuRows returns the table of the CPU's kernels: an op, then the formats of its operands.
func cpuRows() []Row {
	rows := []Row{
		row(ir.OpMatMul, q8a, qpanels, f32),
		row(ir.OpMatMul, q8ak, kpanels, f32),
		row(ir.OpMatMul, bf16, bpanels, f32),
		row(ir.OpMatMul, f32, panels, f32),
		{Op: ir.OpMatMulSwiGLU, Args: []Format{q8a, qpanels, qpanels}, Check: oneDType},
		{Op: ir.OpMatMulSwiGLU, Args: []Format{q8ak, kpanels, kpanels}, Check: oneDType},
		row(ir.OpMatMulSwiGLU, bf16, bpanels, bpanels),
		{Op: ir.OpMatMulSwiGLU, Args: []Format{f32, panels, panels}, Check: oneDType},
		row(ir.OpRMSNorm, f32, f32),
		row(ir.OpRMSNormQuantize, f32, f32),
		row(ir.OpLayerNorm, f32, f32, f32),
		row(ir.OpSoftmax, f32),
		row(ir.OpReduceSum, f32),
		row(ir.OpReduceMean, f32),
		row(ir.OpReduceMax, f32),
		row(ir.OpGather, table, i32),
		row(ir.OpTopK, f32),
		row(ir.OpTake, f32, i32),
		row(ir.OpExpertsMatMul, q8a, qpanels, i32),
		row(ir.OpExpertsMatMul, q8ak, kpanels, i32),
		row(ir.OpExpertsMatMul, bf16, bpanels, i32),
		row(ir.OpExpertsMatMul, f32, panels, i32),
		row(ir.OpExpertsSum, f32, f32),
		row(ir.OpCopyExperts, matrices, i32),
		row(ir.OpRopeTable, i32, f32),
		row(ir.OpRope, f32, f32),
		{Op: ir.OpAttention, Args: []Format{q8a, qkeys, qcache, i32, i32, i32, f32}, Check: cpuAttention},
		{Op: ir.OpAttention, Args: []Format{f32, hkeys, hcache, i32, i32, i32, f32}, Check: cpuRing},
		{Op: ir.OpAttention, Args: []Format{f32, cache, cache, i32, i32, i32, f32}, Check: cpuAttention},
		{Op: ir.OpAttentionSegments, Args: []Format{q8a, qkeys, qcache, i32, i32, i32}, Check: tileSegments},
		{Op: ir.OpAttentionSegments, Args: []Format{f32, hkeys, hcache, i32, i32, i32}, Check: tileSegments},
		{Op: ir.OpAttentionSegments, Args: []Format{f32, cache, cache, i32, i32, i32}, Check: tileSegments},
		row(ir.OpAttentionCombine, f32, f32),
		{Op: ir.OpStateWrite, Args: []Format{cache, f32, i32, i32}, Check: cpuRing},
		{Op: ir.OpStateWrite, Args: []Format{Packed(dtype.R16, dtype.F16, dtype.Q8_0, dtype.Q4_0), f32, i32, i32}, Check: cpuRing},
		{Op: ir.OpCopy, Args: []Format{strided}, Check: copyBox},
		{Op: ir.OpCast, Args: []Format{Plain(dtype.F32, dtype.F16, dtype.BF16)}, Check: castPair},
		{Op: ir.OpConcat, Args: []Format{f32, f32}, Check: joinsRows},
		row(ir.OpQuantize, f32),
		row(ir.OpPack, f32),
		row(ir.OpObserve, Plain(scalarTypes...)),
	}
	for _, op := range []ir.Op{
		ir.OpNeg, ir.OpAbs, ir.OpExp, ir.OpLog, ir.OpSqrt, ir.OpSquare, ir.OpReLU, ir.OpSiLU,
		ir.OpGELU, ir.OpTanh, ir.OpSigmoid, ir.OpScale, ir.OpClamp,
	} {
		rows = append(rows, row(op, f32))
	}
	for _, op := range []ir.Op{
		ir.OpAdd, ir.OpSub, ir.OpMul, ir.OpDiv,
	} {
		rows = append(rows, Row{Op: op, Args: []Format{f32, f32}, Check: sameOrRow})
	}
	for _, op := range []ir.Op{ir.OpMax, ir.OpMin, ir.OpSwiGLU} {
		rows = append(rows, Row{Op: op, Args: []Format{f32, f32}, Check: same})
	}
	return rows
}

func row(op ir.Op, args ...Format) Row { return Row{Op: op, Args: args} }

// oneDType checks that operands 1 and 2 have the same dtype.
func oneDType(n *ir.Node) string {
	if a, b := n.Args[1].Type.DType, n.Args[2].Type.DType; a != b {
		return fmt.Sprintf("mixes %v and %v, and the kernel reads one dtype", a, b)
	}
	return ""
}

// tileSegments checks that segments have the length of the kernels, and that both caches have the same dtype.
func tileSegments(n *ir.Node) string {
	if a := n.Attr.(*ir.AttentionSegmentsAttr); a.Len != tile.SegmentLen {
		return fmt.Sprintf("cuts into segments of %d positions, and the kernel knows those of %d",
			a.Len, tile.SegmentLen)
	}
	return cpuAttention(n)
}

// cpuAttention checks that both caches have the same dtype, and the rows of rings.
func cpuAttention(n *ir.Node) string {
	return cmp.Or(oneDType(n), cpuRing(n))
}

// cpuRing checks that a ring is whole blocks of positions, which the kernels read at once.
func cpuRing(n *ir.Node) string {
	if ir.RingOf(n) == 0 {
		return ""
	}
	state := n.Args[0]
	if n.Op != ir.OpStateWrite {
		state = n.Args[1]
	}
	if rows := state.Type.Shape[2]; !rows.DivisibleBy(tile.ChunkLen) {
		return fmt.Sprintf("keeps the last positions in %v rows, and the kernel reads blocks of %d", rows, tile.ChunkLen)
	}
	return ""
}

// same checks that both operands have the same shape.
func same(n *ir.Node) string {
	if a, b := n.Args[0].Type, n.Args[1].Type; !ir.EqualDims(a.Shape, b.Shape) {
		return "repeats operand 1, and the kernel reads operands of one shape"
	}
	return ""
}

// sameOrRow checks that both operands have the same shape, or that the second is one row of the first.
func sameOrRow(n *ir.Node) string {
	if same(n) == "" {
		return ""
	}
	a, b := n.Args[0].Type, n.Args[1].Type
	if !b.Elems().Equal(b.Inner()) || !b.Inner().Equal(a.Inner()) {
		return "repeats operand 1 along another axis than the rows"
	}
	return ""
}

// joinsRows checks that a concat joins the rows of two operands.
func joinsRows(n *ir.Node) string {
	if axis, rank := n.Attr.(*ir.ConcatAttr).Axis, n.Args[0].Type.Rank(); len(n.Args) != 2 || axis != rank-1 {
		return fmt.Sprintf("joins %d operands along axis %d of %d, and the kernel joins the rows of two", len(n.Args), axis, rank)
	}
	return ""
}

// boxRank is the largest rank of a tensor that the kernel of copy reads.
const boxRank = 4

// copyBox checks the rank of the operand of a copy.
func copyBox(n *ir.Node) string {
	if r := n.Args[0].Type.Rank(); r > boxRank {
		return fmt.Sprintf("has an operand of rank %d, and the kernel moves at most %d", r, boxRank)
	}
	return ""
}

// castPair checks that a cast converts f32 to f16 or bf16, or vice versa.
func castPair(n *ir.Node) string {
	from, to := n.Args[0].Type.DType, n.Attr.(*ir.CastAttr).To
	if from == to || from != dtype.F32 && to != dtype.F32 || !Plain(dtype.F32, dtype.F16, dtype.BF16).hasDType(to) {
		return fmt.Sprintf("converts %v to %v, for which there is no kernel", from, to)
	}
	return ""
}
