package spirv

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// Tiles are cooperative matrices of the extension SPV_KHR_cooperative_matrix, with subgroups as their scope.

// uses are the numbers of a tile's use.
var uses = map[kir.Use]uint32{kir.TileA: matrixA, kir.TileB: matrixB, kir.TileSum: matrixAccumulator}

// tileType returns the type of a tile.
func (e *emitter) tileType(t kir.Type) id {
	m := e.m
	m.need(capCooperativeMatrixKHR)
	m.extensions["SPV_KHR_cooperative_matrix"] = true
	component := m.f32()
	switch t.Kind {
	case kir.F16:
		component = m.f16()
	case kir.BF16:
		m.need(capBFloat16TypeKHR, capBFloat16CooperativeMatrixKHR)
		m.extensions["SPV_KHR_bfloat16"] = true
		component = m.typeOf(opTypeFloat, 16, encodingBFloat16KHR)
	}
	size := m.uint(kir.TileSize)
	return m.typeOf(opTypeCooperativeMatrixKHR, component, m.uint(scopeSubgroup), size, size, m.uint(uses[t.Tile]))
}

// tile prints an operation that gives a tile.
func (e *emitter) tile(i *kir.Instr) id {
	t := e.typ(i.Result().Type)
	switch i.Op {
	case kir.OpTileFill:
		return e.op(opCompositeConstruct, t, e.get(i.Args[0]))
	case kir.OpTileMulAdd:
		return e.op(opCooperativeMatrixMulAddKHR, t, e.operands(i)...)
	case kir.OpTileLoad:
		p, stride := e.lines(i)
		return e.op(opCooperativeMatrixLoadKHR, t, p, e.layout(i), stride, accessAligned|accessNonPrivatePointer, 16)
	}
	p := e.element(i.Shared, e.cellOf(i.Shared.Elem), e.get(i.Args[0]))
	return e.op(opCooperativeMatrixLoadKHR, t, p, e.layout(i), e.m.uint(uint32(i.Imm)), accessNonPrivatePointer)
}

// layout returns which of rows and columns are adjacent elements in memory.
func (e *emitter) layout(i *kir.Instr) id {
	columns := i.Result() != nil && i.Result().Type.Tile == kir.TileB
	if columns != (i.Op == kir.OpTileTurned) {
		return e.m.uint(columnMajorKHR)
	}
	return e.m.uint(rowMajorKHR)
}

func (e *emitter) tileStore(i *kir.Instr) {
	p := e.element(i.Shared, e.cellOf(i.Shared.Elem), e.get(i.Args[0]))
	e.m.code.op(opCooperativeMatrixStoreKHR, p, e.get(i.Args[1]), e.layout(i), e.m.uint(uint32(i.Imm)), accessNonPrivatePointer)
}

// lines returns an address as a pointer into an array of u32, which a cooperative matrix is loaded from, and the stride
// in them.
func (e *emitter) lines(i *kir.Instr) (pointer, stride id) {
	m := e.m
	m.need(capPhysicalStorageBufferAddresses)
	if e.wordArray == 0 {
		words := m.typeOf(opTypeRuntimeArray, m.u32())
		m.decorate(words, decorationArrayStride, 4)
		e.wordArray = e.structure(words)
	}
	p := e.op(opAccessChain, m.pointer(storagePhysicalStorageBuffer, m.u32()), e.pointer(e.get(i.Args[0]), e.wordArray), m.uint(0), m.uint(0))
	return p, m.uint(uint32(i.Imm) * uint32(i.Result().Type.Kind.Bytes()) / 4)
}
