package spirv

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// convert returns the numbers x as kind to. The kinds of memory are converted by way of i32, u32 or f32, which have all
// of their numbers.
func (e *emitter) convert(x id, from kir.Type, to kir.Kind) id {
	x, wide := e.widen(x, from)
	target := carrier(to)
	e.uses(wide)
	e.uses(target)
	x = e.between(x, wide, target, from.Lanes)
	return e.narrow(x, kir.Type{Kind: to, Lanes: from.Lanes})
}

// widen returns numbers as the kind that they are computed with.
func (e *emitter) widen(x id, from kir.Type) (id, kir.Kind) {
	m, floats := e.m, e.m.vector(e.m.f32(), from.Lanes)
	switch from.Kind {
	case kir.I8:
		return e.unpack(x, from, opBitFieldSExtract), kir.I32
	case kir.U8, kir.U16:
		return e.unpack(x, from, opBitFieldUExtract), kir.U32
	case kir.BF16:
		bits := e.unpack(x, from, opBitFieldUExtract)
		bits = e.op(opShiftLeftLogical, m.vector(m.u32(), from.Lanes), bits, m.uints(16, from.Lanes))
		return e.op(opBitcast, floats, bits), kir.F32
	case kir.F16:
		if e.native() {
			return e.op(opFConvert, floats, x), kir.F32
		}
		return e.unpackHalves(x, from), kir.F32
	}
	return x, from.Kind
}

// unpackHalves returns f16 as f32. OpFConvert would need the capability Float16. Each f16 is shifted down first,
// although UnpackHalf2x16 takes two: Mesa 22.3 folds that of a constant to 0 in the second lane.
func (e *emitter) unpackHalves(x id, from kir.Type) id {
	m := e.m
	pair := m.vector(m.f32(), 2)
	var lanes []id
	for n := range from.Lanes {
		both := e.call(glslUnpackHalf2x16, pair, e.unpackLane(x, from, n, opBitFieldUExtract))
		lanes = append(lanes, e.lane(both, m.f32(), 2, 0))
	}
	return e.construct(m.f32(), from.Lanes, lanes)
}

// carrier returns the kind by way of which numbers become a to.
func carrier(to kir.Kind) kir.Kind {
	switch to {
	case kir.BF16, kir.F16:
		return kir.F32
	case kir.I8:
		return kir.I32
	case kir.U8, kir.U16:
		return kir.U32
	}
	return to
}

// between converts between i32, u32, u64 and f32.
func (e *emitter) between(x id, from, to kir.Kind, lanes int) id {
	t := e.m.vector(e.scalar(to), lanes)
	switch {
	case e.scalar(from) == e.scalar(to):
		return x
	case from == kir.F32 && to == kir.I32:
		return e.op(opConvertFToS, t, x)
	case from == kir.F32:
		return e.op(opConvertFToU, t, x)
	case to == kir.F32 && from == kir.I32:
		return e.op(opConvertSToF, t, x)
	case to == kir.F32:
		return e.op(opConvertUToF, t, x)
	case from == kir.I32:
		return e.op(opSConvert, t, x)
	}
	return e.op(opUConvert, t, x)
}

// narrow returns numbers of the carrier of a kind as that kind.
func (e *emitter) narrow(x id, to kir.Type) id {
	switch {
	case to.Kind == kir.F16 && e.native():
		return e.op(opFConvert, e.typ(to), x)
	case to.Kind == kir.F16:
		x = e.halfBits(x, to.Lanes)
	case to.Kind == kir.BF16:
		x = e.brainBits(x, to.Lanes)
	}
	if e.isBits(to.Kind) {
		return e.packAll(x, to)
	}
	return x
}

// bitwise prints arithmetic on vectors of u32 with that many lanes.
type bitwise struct {
	e     *emitter
	t     id // the vector
	bools id // the vector of comparisons
	lanes int
}

func (e *emitter) bitwise(lanes int) bitwise {
	return bitwise{e, e.m.vector(e.m.u32(), lanes), e.m.vector(e.m.bool(), lanes), lanes}
}

func (b bitwise) op(code opcode, x id, y uint32) id { return b.op2(code, x, b.uint(y)) }
func (b bitwise) op2(code opcode, x, y id) id       { return b.e.op(code, b.t, x, y) }
func (b bitwise) uint(x uint32) id                  { return b.e.m.uints(x, b.lanes) }

// above returns yes where x > limit, else no.
func (b bitwise) above(x id, limit uint32, yes, no id) id {
	return b.e.op(opSelect, b.t, b.e.op(opUGreaterThan, b.bools, x, b.uint(limit)), yes, no)
}

// roundOff returns x, the bits of f32 without their sign, plus bias, shifted right by that many bits and rounded to
// nearest, halves to even.
func (b bitwise) roundOff(x id, shift, bias uint32) id {
	odd := b.op(opBitwiseAnd, b.op(opShiftRightLogical, x, shift), 1)
	sum := b.op2(opIAdd, b.op(opIAdd, x, bias+1<<(shift-1)-1), odd)
	return b.op(opShiftRightLogical, sum, shift)
}

// brainBits returns f32 as the bits of bf16, rounded to nearest even. A NaN stays one: the highest bit of its fraction
// is set.
func (e *emitter) brainBits(x id, lanes int) id {
	b := e.bitwise(lanes)
	bits := e.op(opBitcast, b.t, x)
	magnitude := b.op(opBitwiseAnd, bits, 0x7fffffff)
	nan := b.op(opBitwiseOr, b.op(opShiftRightLogical, bits, 16), 0x40)
	return b.above(magnitude, 0x7f800000, nan, b.roundOff(bits, 16, 0))
}

// halfBits returns f32 as the bits of f16, rounded to nearest even. PackHalf2x16 would be one instruction, but may
// round in any direction.
//
// A normal f16 has the exponent of the f32 less 112, and 13 bits less of fraction; a carry out of the largest gives
// infinity. A denormal f16 is a multiple of 2^-24, which is the distance of f32 numbers from 0.5 on: adding 0.5 rounds.
func (e *emitter) halfBits(x id, lanes int) id {
	b := e.bitwise(lanes)
	bits := e.op(opBitcast, b.t, x)
	sign := b.op(opBitwiseAnd, bits, 0x80000000)
	magnitude := b.op2(opBitwiseXor, bits, sign)
	const rebias = 1<<32 - 112<<23
	result := b.above(magnitude, 0x387fffff, b.roundOff(magnitude, 13, rebias), e.smallHalf(b, magnitude))
	large := b.above(magnitude, 0x7f800000, b.uint(0x7e00), b.uint(0x7c00))
	result = b.above(magnitude, 0x477fffff, large, result)
	return b.op2(opBitwiseOr, result, b.op(opShiftRightLogical, sign, 16))
}

// smallHalf returns the bits of f32 below 2^-14 as the bits of f16.
func (e *emitter) smallHalf(b bitwise, magnitude id) id {
	m := e.m
	floats := m.vector(m.f32(), b.lanes)
	sum := e.op(opFAdd, floats, e.op(opBitcast, floats, magnitude), m.splat(m.f32(), e.float(0.5), b.lanes))
	return b.op(opISub, e.op(opBitcast, b.t, e.exact(kir.F32, sum)), 0x3f000000)
}
