package kir

import "fmt"

// Op is an operation.
type Op uint8

// The operations. T is the type of the operands and, unless a comment says otherwise, of the result; operations on
// vectors are made lane by lane.
const (
	OpInvalid Op = iota

	OpConst // bits Imm as T, a scalar

	OpThread    // i32: index of the thread in its workgroup
	OpGroup     // i32: index of the workgroup
	OpNumGroups // i32: number of workgroups
	OpLane      // i32: index of the thread in its subgroup (CapSubgroup)
	OpSubgroup  // i32: index of the subgroup in its workgroup (CapSubgroup)
	OpLanes     // i32: threads of a subgroup (CapSubgroup)

	OpAdd // T: i32, u32, u64, f32, f16
	OpSub
	OpMul
	OpDiv // of integers toward 0; division by 0 and an i32 quotient that overflows are errors, of OpRem as well
	OpRem // of i32 and u32, with the sign of the dividend
	OpMin // of floats: a number if one operand is NaN
	OpMax
	OpNeg // of i32 and floats
	OpFMA // a*b + c, rounded once, or the product as well where a device has no such instruction; of floats
	OpAnd // of i32, u32, u64, bool
	OpOr
	OpXor
	OpNot // of bool
	OpShl // of i32, u32 and u64; the count is u32 and less than the bits
	OpShr // fills with the sign of i32, with 0 of u32 and u64

	OpEq // bool: of T i32, u32, u64, f32; scalars
	OpNe
	OpLt
	OpLe
	OpSelect // operands bool, T, T

	OpExp // of f32
	OpLog
	OpSqrt
	OpSin
	OpCos
	OpTanh
	OpFloor
	OpRound // to the nearest integer, halves to even

	OpConvert // the number as T, rounded to nearest even, of integers to f16 and bf16 by way of f32; of floats to integers toward 0, the value has to fit
	OpBitcast // the bits as T, of the same size

	OpVector  // 2 or 4 scalars as a vector
	OpExtract // lane Imm of a vector
	OpDot4    // i32: c + sum of products of 4 signed bytes each; operands u32, u32, i32 (CapDot4)

	OpOffset      // u64: i32 or u32, not negative, times Imm bytes
	OpLoad        // T at an address of device memory, a multiple of T's size
	OpStore       // operands address, T
	OpLoadUniform // as OpLoad, of bytes that nothing writes while the kernel runs: threads with equal addresses get equal values
	OpAtomicAdd   // u32: adds to a u32 of device memory, returns what was there

	OpSharedLoad  // T: element of the array Shared at an i32 index
	OpSharedStore // operands index, T
	OpBarrier     // all threads of the workgroup reach it, and see what the others stored before in device and shared memory

	OpTileFill        // a TileSum of an f32 (CapTile)
	OpTileLoad        // T, a tile, at an address of device memory; the stride Imm is in elements (CapTile)
	OpTileSharedLoad  // T, a tile, from element i32 of Shared on; the stride Imm is in elements of the array (CapTile)
	OpTileTurned      // as OpTileSharedLoad, of a TileA or TileB whose lines are the other way (CapTile)
	OpTileMulAdd      // TileSum: a*b + c, of a TileA, a TileB of the same kind and a TileSum (CapTile)
	OpTileSharedStore // operands index, TileSum; the stride Imm is in elements of the array (CapTile)

	OpCopyAsync  // begins to copy Imm bytes, 4, 8 or 16, to the array Shared; operands index, address: see "Asynchronous copies" (CapAsync)
	OpCopyCommit // makes the thread's copies since the last OpCopyCommit a group (CapAsync)
	OpCopyWait   // waits for all groups of the thread but the last Imm (CapAsync)

	OpSlabFill    // T, a slab, of an f32 (CapSlab)
	OpSlabMulAdd  // T: begins to add a*b to a slab; operands the i32 indices of a and b in Shared, the slab; Imm has the strides: see "Slabs" (CapSlab)
	OpSlabFence   // orders what was done with slabs before the products that begin after it (CapSlab)
	OpSlabCommit  // makes the products since the last OpSlabCommit a group (CapSlab)
	OpSlabWait    // waits for all groups of products but the last Imm (CapSlab)
	OpSlabPublish // lets products that begin after a later barrier read what the thread stored in shared memory (CapSlab)
	OpSlabTile    // TileSum: columns 16*Imm to 16*Imm+15 of the subgroup's 16 rows of a slab (CapSlab)

	OpReduceAdd // of i32, u32, f32 over a subgroup, all threads of which are active (CapSubgroup)
	OpReduceMax
	OpShuffleXor // T of the thread whose lane is lane^Imm; Imm is less than the threads of any subgroup, all of which are active

	OpFor // operands from, to, step: i32, step above 0, and i may not overflow; then the carried values. Results are the carried values at the end.
	OpIf  // operand bool; results are those of the block that ran

	numOps
)

var opNames = [numOps]string{
	OpConst: "const", OpThread: "thread", OpGroup: "group", OpNumGroups: "groups", OpLane: "lane", OpSubgroup: "subgroup", OpLanes: "lanes",
	OpAdd: "add", OpSub: "sub", OpMul: "mul", OpDiv: "div", OpRem: "rem", OpMin: "min", OpMax: "max", OpNeg: "neg", OpFMA: "fma",
	OpAnd: "and", OpOr: "or", OpXor: "xor", OpNot: "not", OpShl: "shl", OpShr: "shr",
	OpEq: "eq", OpNe: "ne", OpLt: "lt", OpLe: "le", OpSelect: "select",
	OpExp: "exp", OpLog: "log", OpSqrt: "sqrt", OpSin: "sin", OpCos: "cos", OpTanh: "tanh", OpFloor: "floor", OpRound: "round",
	OpConvert: "convert", OpBitcast: "bitcast", OpVector: "vector", OpExtract: "extract", OpDot4: "dot4",
	OpOffset: "offset", OpLoad: "load", OpLoadUniform: "load_uniform", OpStore: "store", OpAtomicAdd: "atomic_add",
	OpSharedLoad: "shared_load", OpSharedStore: "shared_store", OpBarrier: "barrier",
	OpTileFill: "tile_fill", OpTileLoad: "tile_load", OpTileSharedLoad: "tile_shared_load", OpTileTurned: "tile_turned",
	OpTileMulAdd: "tile_mul_add", OpTileSharedStore: "tile_shared_store",
	OpCopyAsync: "copy_async", OpCopyCommit: "copy_commit", OpCopyWait: "copy_wait",
	OpSlabFill: "slab_fill", OpSlabMulAdd: "slab_mul_add", OpSlabFence: "slab_fence", OpSlabCommit: "slab_commit", OpSlabWait: "slab_wait",
	OpSlabPublish: "slab_publish", OpSlabTile: "slab_tile",
	OpReduceAdd: "reduce_add", OpReduceMax: "reduce_max", OpShuffleXor: "shuffle_xor", OpFor: "for", OpIf: "if",
}

func (o Op) String() string {
	if o >= numOps || opNames[o] == "" {
		return fmt.Sprintf("Op(%d)", uint8(o))
	}
	return opNames[o]
}

// Caps returns the capabilities that the operation needs on a T.
func (o Op) Caps(t Type) Caps {
	switch o {
	case OpLane, OpSubgroup, OpLanes, OpReduceAdd, OpReduceMax, OpShuffleXor:
		return CapSubgroup
	case OpDot4:
		return CapDot4
	case OpCopyAsync, OpCopyCommit, OpCopyWait:
		return CapAsync
	case OpTileFill, OpTileLoad, OpTileSharedLoad, OpTileTurned, OpTileMulAdd, OpTileSharedStore:
		return CapTile
	case OpSlabFill, OpSlabMulAdd, OpSlabFence, OpSlabCommit, OpSlabWait, OpSlabPublish, OpSlabTile:
		return CapSlab
	case OpAdd, OpSub, OpMul, OpDiv, OpMin, OpMax, OpNeg, OpFMA:
		if t.Kind == F16 {
			return CapF16
		}
	}
	return 0
}
