package spirv

import (
	"fmt"
	"math"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// codes are an operation's instructions for signed and unsigned integers, floats and bools; 0 if there is none.
type codes struct{ signed, unsigned, float, bool opcode }

func (c codes) of(k kir.Kind) opcode {
	switch {
	case k == kir.Bool:
		return c.bool
	case k.Float():
		return c.float
	case k == kir.I32:
		return c.signed
	}
	return c.unsigned
}

// plain are the operations that are one instruction whose result has the type of the first operand.
var plain = map[kir.Op]codes{
	kir.OpAdd: {opIAdd, opIAdd, opFAdd, 0},
	kir.OpSub: {opISub, opISub, opFSub, 0},
	kir.OpMul: {opIMul, opIMul, opFMul, 0},
	kir.OpDiv: {opSDiv, opUDiv, opFDiv, 0},
	kir.OpRem: {0, opUMod, 0, 0},
	kir.OpNeg: {opSNegate, 0, opFNegate, 0},
	kir.OpAnd: {opBitwiseAnd, opBitwiseAnd, 0, opLogicalAnd},
	kir.OpOr:  {opBitwiseOr, opBitwiseOr, 0, opLogicalOr},
	kir.OpXor: {opBitwiseXor, opBitwiseXor, 0, opLogicalNotEqual},
	kir.OpNot: {0, 0, 0, opLogicalNot},
	kir.OpShl: {opShiftLeftLogical, opShiftLeftLogical, 0, 0},
	kir.OpShr: {opShiftRightArithmetic, opShiftRightLogical, 0, 0},
}

// comparisons are the operations that are one instruction with a bool as the result. A comparison with NaN is false,
// except for unequal.
var comparisons = map[kir.Op]codes{
	kir.OpEq: {opIEqual, opIEqual, opFOrdEqual, 0},
	kir.OpNe: {opINotEqual, opINotEqual, opFUnordNotEqual, 0},
	kir.OpLt: {opSLessThan, opULessThan, opFOrdLessThan, 0},
	kir.OpLe: {opSLessThanEqual, opULessThanEqual, opFOrdLessThanEqual, 0},
}

// functions are the operations that are an extended instruction, for signed and unsigned integers and floats.
var functions = map[kir.Op]struct{ signed, unsigned, float extended }{
	kir.OpMin:   {glslSMin, glslUMin, glslNMin},
	kir.OpMax:   {glslSMax, glslUMax, glslNMax},
	kir.OpFMA:   {0, 0, glslFma},
	kir.OpExp:   {0, 0, glslExp},
	kir.OpLog:   {0, 0, glslLog},
	kir.OpSqrt:  {0, 0, glslSqrt},
	kir.OpSin:   {0, 0, glslSin},
	kir.OpCos:   {0, 0, glslCos},
	kir.OpTanh:  {0, 0, glslTanh},
	kir.OpFloor: {0, 0, glslFloor},
	kir.OpRound: {0, 0, glslRoundEven},
}

// arithmetic prints an operation on numbers.
func (e *emitter) arithmetic(i *kir.Instr) id {
	t, args := i.Result().Type, e.operands(i)
	e.uses(t.Kind)
	switch {
	case i.Op == kir.OpSelect:
		return e.op(opSelect, e.typ(t), args...)
	case i.Op == kir.OpDot4:
		return e.dot4(args)
	case i.Op == kir.OpRem && t.Kind == kir.I32:
		return e.signedRem(e.typ(t), args[0], args[1])
	case i.Op == kir.OpTanh:
		args[0] = e.within(args[0], 10, t.Lanes)
	}
	if _, ok := functions[i.Op]; ok {
		return e.function(i.Op, t, args)
	}
	if c, ok := comparisons[i.Op]; ok {
		e.uses(i.Args[0].Type.Kind)
		return e.op(c.of(i.Args[0].Type.Kind), e.m.bool(), args...)
	}
	if code := plain[i.Op].of(t.Kind); code != 0 {
		return e.exact(t.Kind, e.op(code, e.typ(t), args...))
	}
	panic(fmt.Sprintf("spirv: internal error: no instruction for %v of %v", i.Op, t))
}

// uses records that the kernel computes with a kind.
func (e *emitter) uses(k kir.Kind) {
	e.computes[0] = e.computes[0] || k == kir.F16 && e.native()
	e.computes[1] = e.computes[1] || k == kir.F32
}

// exact forbids that a float x is computed together with other operations.
func (e *emitter) exact(k kir.Kind, x id) id {
	if k.Float() {
		e.m.decorate(x, decorationNoContraction)
	}
	return x
}

// function prints an extended instruction.
func (e *emitter) function(op kir.Op, t kir.Type, args []id) id {
	f := functions[op]
	switch {
	case op == kir.OpFMA:
		return e.exact(t.Kind, e.call(f.float, e.typ(t), args...))
	case t.Kind.Float():
		return e.call(f.float, e.typ(t), args...)
	case t.Kind == kir.I32:
		return e.call(f.signed, e.typ(t), args...)
	}
	return e.call(f.unsigned, e.typ(t), args...)
}

// signedRem prints x - x/y*y: the result of OpSRem is undefined in Vulkan if an operand is negative.
func (e *emitter) signedRem(t, x, y id) id {
	quotient := e.op(opSDiv, t, x, y)
	return e.op(opISub, t, x, e.op(opIMul, t, quotient, y))
}

// within returns f32 numbers with those beyond limit moved to it, and NaN as it is. Vulkan allows a tanh that is
// computed as sinh/cosh, both of which overflow; the tanh of 10 is rounded to 1.
func (e *emitter) within(x id, limit float32, lanes int) id {
	m := e.m
	t, bools := m.vector(m.f32(), lanes), m.vector(m.bool(), lanes)
	high := m.splat(m.f32(), e.float(limit), lanes)
	low := m.splat(m.f32(), e.float(-limit), lanes)
	x = e.op(opSelect, t, e.op(opFOrdGreaterThan, bools, x, high), high, x)
	return e.op(opSelect, t, e.op(opFOrdLessThan, bools, x, low), low, x)
}

func (e *emitter) float(x float32) id { return e.constant(kir.F32, uint64(math.Float32bits(x))) }

// dot4 prints a dot product of bytes. The extension is part of SPIR-V 1.6, which Vulkan 1.2 does not have.
func (e *emitter) dot4(args []id) id {
	m := e.m
	m.need(capDotProduct, capDotProductInput4x8BitPacked)
	m.extensions["SPV_KHR_integer_dot_product"] = true
	product := e.op(opSDot, m.u32(), args[0], args[1], packedFormat4x8Bit)
	return e.op(opIAdd, m.u32(), product, args[2])
}
