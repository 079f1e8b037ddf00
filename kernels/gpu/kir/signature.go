package kir

import "slices"

// kinds of operands, as sets.
type kindSet uint16

func setOf(ks ...Kind) kindSet {
	var s kindSet
	for _, k := range ks {
		s |= 1 << k
	}
	return s
}

func (s kindSet) has(k Kind) bool { return s&(1<<k) != 0 }

var (
	numbers  = setOf(I32, U32, U64, F32, F16)
	integers = setOf(I32, U32, U64)
	floats   = setOf(F32, F16)
	onlyF32  = setOf(F32)
)

// plain are the operations whose operands and result have one type, with the number of operands and the kinds.
var plain = map[Op]struct {
	args  int
	kinds kindSet
}{
	OpAdd: {2, numbers}, OpSub: {2, numbers}, OpMul: {2, numbers}, OpMin: {2, numbers}, OpMax: {2, numbers},
	OpDiv: {2, setOf(I32, U32, F32, F16)}, OpRem: {2, setOf(I32, U32)}, OpNeg: {1, setOf(I32, F32, F16)}, OpFMA: {3, floats},
	OpAnd: {2, integers | setOf(Bool)}, OpOr: {2, integers | setOf(Bool)}, OpXor: {2, integers | setOf(Bool)}, OpNot: {1, setOf(Bool)},
	OpExp: {1, onlyF32}, OpLog: {1, onlyF32}, OpSqrt: {1, onlyF32}, OpSin: {1, onlyF32}, OpCos: {1, onlyF32}, OpTanh: {1, onlyF32},
	OpFloor: {1, onlyF32}, OpRound: {1, onlyF32},
	OpReduceAdd: {1, setOf(I32, U32, F32)}, OpReduceMax: {1, setOf(I32, U32, F32)}, OpShuffleXor: {1, setOf(I32, U32, F32)},
}

// scalarOnly are the plain operations that take no vectors.
var scalarOnly = map[Op]bool{OpReduceAdd: true, OpReduceMax: true, OpShuffleXor: true, OpNot: true}

// signature checks the operands, the results and the other fields of an instruction.
func (v *verifier) signature(i *Instr) {
	if c := i.Op.Caps(Type{}); c != CapTile && c != CapSlab && i.Op != OpFor && i.Op != OpIf {
		v.noTiles(i)
	}
	if p, ok := plain[i.Op]; ok {
		v.plain(i, p.args, p.kinds)
		return
	}
	switch i.Op {
	case OpConst:
		v.shape(i, 0, 1)
		if t := i.resultType(); t.Lanes != 1 || t.Kind == Bool && i.Imm > 1 || t.Kind != Bool && t.Bytes() < 8 && i.Imm>>(8*t.Bytes()) != 0 {
			v.fail("%#x is no %v", i.Imm, t)
		}
	case OpThread, OpGroup, OpNumGroups, OpLane, OpSubgroup, OpLanes:
		v.shape(i, 0, 1)
		v.result(i, Scalar(I32))
	case OpShl, OpShr:
		v.shape(i, 2, 1)
		v.operand(i, 0, integers)
		v.is(i, 1, Vector(U32, i.argType(0).Lanes))
		v.result(i, i.argType(0))
	case OpEq, OpNe, OpLt, OpLe:
		v.shape(i, 2, 1)
		v.operand(i, 0, setOf(I32, U32, U64, F32))
		v.is(i, 1, i.argType(0))
		v.must(i.argType(0).Lanes == 1, "compares scalars")
		v.result(i, Scalar(Bool))
	case OpSelect:
		v.shape(i, 3, 1)
		v.is(i, 0, Scalar(Bool))
		v.is(i, 2, i.argType(1))
		v.result(i, i.argType(1))
	case OpConvert, OpBitcast:
		v.conversion(i)
	case OpVector, OpExtract:
		v.vector(i)
	case OpDot4:
		v.shape(i, 3, 1)
		v.is(i, 0, Scalar(U32))
		v.is(i, 1, Scalar(U32))
		v.is(i, 2, Scalar(I32))
		v.result(i, Scalar(I32))
	case OpFor, OpIf:
		v.control(i)
	case OpBarrier, OpCopyCommit:
		v.shape(i, 0, 0)
	case OpCopyWait:
		v.shape(i, 0, 0)
		v.must(i.Imm < maxGroups, "%d groups: at most %d stay under way", i.Imm, maxGroups-1)
	case OpTileFill, OpTileLoad, OpTileSharedLoad, OpTileTurned, OpTileMulAdd, OpTileSharedStore:
		v.tile(i)
	case OpSlabFill, OpSlabMulAdd, OpSlabFence, OpSlabCommit, OpSlabWait, OpSlabPublish, OpSlabTile:
		v.slab(i)
	default:
		v.memory(i)
	}
}

func (v *verifier) plain(i *Instr, args int, ks kindSet) {
	v.shape(i, args, 1)
	v.operand(i, 0, ks)
	for n := 1; n < args; n++ {
		v.is(i, n, i.argType(0))
	}
	v.result(i, i.argType(0))
	v.must(!scalarOnly[i.Op] || i.argType(0).Lanes == 1, "takes scalars")
	v.must(i.Op != OpShuffleXor || i.Imm > 0 && i.Imm < 4, "the mask %d is not 1 to 3: no device has fewer than 4 threads in a subgroup", i.Imm)
}

func (v *verifier) conversion(i *Instr) {
	v.shape(i, 1, 1)
	from, to := i.argType(0), i.resultType()
	if i.Op == OpBitcast {
		v.must(from.Kind != Bool && to.Kind != Bool && from.Bytes() == to.Bytes(), "the bits of a %v are no %v", from, to)
		return
	}
	v.must(from.Kind != Bool && to.Kind != Bool && from.Lanes == to.Lanes && from.Kind != to.Kind, "a %v does not become a %v", from, to)
}

func (v *verifier) vector(i *Instr) {
	if i.Op == OpExtract {
		v.shape(i, 1, 1)
		v.must(i.Imm < uint64(i.argType(0).Lanes) && i.argType(0).Lanes > 1, "a %v has no lane %d", i.argType(0), i.Imm)
		v.result(i, Scalar(i.argType(0).Kind))
		return
	}
	v.shape(i, len(i.Args), 1)
	v.must(len(i.Args) == 2 || len(i.Args) == 4, "%d lanes", len(i.Args))
	for n := range i.Args {
		v.is(i, n, Scalar(i.argType(0).Kind))
	}
	v.result(i, Vector(i.argType(0).Kind, len(i.Args)))
}

func (v *verifier) memory(i *Instr) {
	switch i.Op {
	case OpOffset:
		v.shape(i, 1, 1)
		v.must(i.argType(0) == Scalar(I32) || i.argType(0) == Scalar(U32), "multiplies an i32 or u32")
		v.must(i.Imm > 0 && i.Imm < 1<<40, "%d bytes", i.Imm)
		v.result(i, Scalar(U64))
	case OpLoad, OpLoadUniform:
		v.shape(i, 1, 1)
		v.is(i, 0, Scalar(U64))
		v.must(i.resultType().Bytes() > 0, "%v has no bytes", i.resultType())
	case OpStore:
		v.shape(i, 2, 0)
		v.is(i, 0, Scalar(U64))
		v.must(i.argType(1).Bytes() > 0, "%v has no bytes", i.argType(1))
	case OpAtomicAdd:
		v.shape(i, 2, 1)
		v.is(i, 0, Scalar(U64))
		v.is(i, 1, Scalar(U32))
		v.result(i, Scalar(U32))
	case OpSharedLoad, OpSharedStore, OpCopyAsync:
		v.sharedAccess(i)
	}
}

func (v *verifier) sharedAccess(i *Instr) {
	if !slices.Contains(v.k.Shared, i.Shared) {
		v.fail("accesses a shared array that the kernel does not have")
		return
	}
	switch i.Op {
	case OpSharedLoad:
		v.shape(i, 1, 1)
		v.result(i, i.Shared.Elem)
	case OpSharedStore:
		v.shape(i, 2, 0)
		v.is(i, 1, i.Shared.Elem)
	case OpCopyAsync:
		v.shape(i, 2, 0)
		v.is(i, 1, Scalar(U64))
		v.must(i.Imm == 4 || i.Imm == 8 || i.Imm == 16, "%d bytes: 4, 8 or 16 are copied", i.Imm)
		v.must(i.Imm%uint64(max(i.Shared.Elem.Bytes(), 1)) == 0, "%d bytes are no whole number of %v", i.Imm, i.Shared.Elem)
	}
	v.is(i, 0, Scalar(I32))
}

// accessesShared reports whether an operation names a shared array.
func accessesShared(op Op) bool {
	switch op {
	case OpSharedLoad, OpSharedStore, OpCopyAsync, OpTileSharedLoad, OpTileTurned, OpTileSharedStore, OpSlabMulAdd:
		return true
	}
	return false
}

func (v *verifier) control(i *Instr) {
	if i.Body == nil {
		v.fail("has no body")
		return
	}
	if i.Op == OpIf {
		v.shape(i, 1, len(i.Results))
		v.is(i, 0, Scalar(Bool))
		v.must(len(i.Body.Params) == 0 && (i.Else == nil || len(i.Else.Params) == 0), "a block has parameters")
		return
	}
	if v.shape(i, 3+len(i.Results), len(i.Results)); len(i.Args) != 3+len(i.Results) {
		return
	}
	v.must(i.Else == nil, "has two bodies")
	for n := range 3 {
		v.is(i, n, Scalar(I32))
	}
	if len(i.Body.Params) != 1+len(i.Results) {
		v.fail("the body has %d parameters for the index and %d carried values", len(i.Body.Params), len(i.Results))
		return
	}
	for n, r := range i.Results {
		v.is(i, 3+n, r.Type)
		v.must(i.Body.Params[1+n] != nil && i.Body.Params[1+n].Type == r.Type, "parameter %d of the body is no %v", 1+n, r.Type)
	}
	v.must(i.Body.Params[0] != nil && i.Body.Params[0].Type == Scalar(I32), "the index is no i32")
}

// shape checks the numbers of operands and results.
func (v *verifier) shape(i *Instr, args, results int) {
	v.must(len(i.Args) == args, "%d operands instead of %d", len(i.Args), args)
	v.must(len(i.Results) == results, "%d results instead of %d", len(i.Results), results)
}

// argType returns the type of an operand, or of none the zero Type.
func (i *Instr) argType(n int) Type {
	if n >= len(i.Args) || i.Args[n] == nil {
		return Type{}
	}
	return i.Args[n].Type
}

func (i *Instr) resultType() Type {
	if r := i.Result(); r != nil {
		return r.Type
	}
	return Type{}
}

func (v *verifier) operand(i *Instr, n int, ks kindSet) {
	v.must(ks.has(i.argType(n).Kind), "operand %d is a %v", n, i.argType(n))
}

func (v *verifier) is(i *Instr, n int, t Type) {
	v.must(i.argType(n) == t, "operand %d is a %v, not a %v", n, i.argType(n), t)
}

func (v *verifier) result(i *Instr, t Type) {
	v.must(i.resultType() == t, "the result is a %v, not a %v", i.resultType(), t)
}
