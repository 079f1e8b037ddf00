package interp

import (
	"fmt"
	"math"
	"math/bits"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// lane is an operation on one lane of its operands. Absent operands are 0.
type lane func(a, b, c uint64) uint64

// check returns what is wrong with the operands of an operation, or the empty text.
type check func(a, b uint64) string

// lanes are the operations whose operands are of one kind.
var lanes = map[kir.Op]map[kir.Kind]lane{
	kir.OpAdd: {
		kir.I32: add32, kir.U32: add32, kir.U64: func(a, b, _ uint64) uint64 { return a + b },
		kir.F32: func(a, b, _ uint64) uint64 { return ofF32(f32(a) + f32(b)) },
		kir.F16: func(a, b, _ uint64) uint64 { return ofF16(f16(a) + f16(b)) },
	},
	kir.OpSub: {
		kir.I32: sub32, kir.U32: sub32, kir.U64: func(a, b, _ uint64) uint64 { return a - b },
		kir.F32: func(a, b, _ uint64) uint64 { return ofF32(f32(a) - f32(b)) },
		kir.F16: func(a, b, _ uint64) uint64 { return ofF16(f16(a) - f16(b)) },
	},
	kir.OpMul: {
		kir.I32: mul32, kir.U32: mul32, kir.U64: func(a, b, _ uint64) uint64 { return a * b },
		kir.F32: func(a, b, _ uint64) uint64 { return ofF32(f32(a) * f32(b)) },
		kir.F16: func(a, b, _ uint64) uint64 { return ofF16(f16(a) * f16(b)) },
	},
	kir.OpDiv: {
		kir.I32: func(a, b, _ uint64) uint64 { return uint64(uint32(int32(a) / int32(b))) },
		kir.U32: func(a, b, _ uint64) uint64 { return a / b },
		kir.F32: func(a, b, _ uint64) uint64 { return ofF32(f32(a) / f32(b)) },
		kir.F16: func(a, b, _ uint64) uint64 { return ofF16(f16(a) / f16(b)) },
	},
	kir.OpRem: {
		kir.I32: func(a, b, _ uint64) uint64 { return uint64(uint32(int32(a) % int32(b))) },
		kir.U32: func(a, b, _ uint64) uint64 { return a % b },
	},
	kir.OpMin: {
		kir.I32: func(a, b, _ uint64) uint64 { return uint64(uint32(min(int32(a), int32(b)))) },
		kir.U32: minWord, kir.U64: minWord,
		kir.F32: func(a, b, _ uint64) uint64 { return ofF32(minimum(f32(a), f32(b))) },
		kir.F16: func(a, b, _ uint64) uint64 { return ofF16(float64(minimum(float32(f16(a)), float32(f16(b))))) },
	},
	kir.OpMax: {
		kir.I32: func(a, b, _ uint64) uint64 { return uint64(uint32(max(int32(a), int32(b)))) },
		kir.U32: maxWord, kir.U64: maxWord,
		kir.F32: func(a, b, _ uint64) uint64 { return ofF32(maximum(f32(a), f32(b))) },
		kir.F16: func(a, b, _ uint64) uint64 { return ofF16(float64(maximum(float32(f16(a)), float32(f16(b))))) },
	},
	kir.OpNeg: {
		kir.I32: func(a, _, _ uint64) uint64 { return uint64(uint32(-a)) },
		kir.F32: func(a, _, _ uint64) uint64 { return a ^ 1<<31 },
		kir.F16: func(a, _, _ uint64) uint64 { return a ^ 1<<15 },
	},
	kir.OpFMA: {
		kir.F32: func(a, b, c uint64) uint64 { return ofF32(fma32(f32(a), f32(b), f32(c))) },
		kir.F16: func(a, b, c uint64) uint64 { return ofF16(fma16(f16(a), f16(b), f16(c))) },
	},
	kir.OpAnd: words(func(a, b, _ uint64) uint64 { return a & b }),
	kir.OpOr:  words(func(a, b, _ uint64) uint64 { return a | b }),
	kir.OpXor: words(func(a, b, _ uint64) uint64 { return a ^ b }),
	kir.OpNot: {kir.Bool: func(a, _, _ uint64) uint64 { return a ^ 1 }},
	kir.OpShl: {kir.I32: shl32, kir.U32: shl32, kir.U64: func(a, b, _ uint64) uint64 { return a << b }},
	kir.OpShr: {
		kir.I32: func(a, b, _ uint64) uint64 { return uint64(uint32(int32(a) >> b)) },
		kir.U32: func(a, b, _ uint64) uint64 { return a >> b },
		kir.U64: func(a, b, _ uint64) uint64 { return a >> b },
	},
	kir.OpEq: compares(
		func(a, b, _ uint64) uint64 { return truth(a == b) },
		func(a, b, _ uint64) uint64 { return truth(a == b) },
		func(a, b, _ uint64) uint64 { return truth(f32(a) == f32(b)) }),
	kir.OpNe: compares(
		func(a, b, _ uint64) uint64 { return truth(a != b) },
		func(a, b, _ uint64) uint64 { return truth(a != b) },
		func(a, b, _ uint64) uint64 { return truth(f32(a) != f32(b)) }),
	kir.OpLt: compares(
		func(a, b, _ uint64) uint64 { return truth(int32(a) < int32(b)) },
		func(a, b, _ uint64) uint64 { return truth(a < b) },
		func(a, b, _ uint64) uint64 { return truth(f32(a) < f32(b)) }),
	kir.OpLe: compares(
		func(a, b, _ uint64) uint64 { return truth(int32(a) <= int32(b)) },
		func(a, b, _ uint64) uint64 { return truth(a <= b) },
		func(a, b, _ uint64) uint64 { return truth(f32(a) <= f32(b)) }),
	kir.OpExp:   {kir.F32: rounded(math.Exp)},
	kir.OpLog:   {kir.F32: rounded(math.Log)},
	kir.OpSqrt:  {kir.F32: rounded(math.Sqrt)},
	kir.OpSin:   {kir.F32: rounded(math.Sin)},
	kir.OpCos:   {kir.F32: rounded(math.Cos)},
	kir.OpTanh:  {kir.F32: rounded(math.Tanh)},
	kir.OpFloor: {kir.F32: rounded(math.Floor)},
	kir.OpRound: {kir.F32: rounded(math.RoundToEven)},
	kir.OpDot4:  {kir.U32: dot4},
}

func add32(a, b, _ uint64) uint64   { return uint64(uint32(a + b)) }
func sub32(a, b, _ uint64) uint64   { return uint64(uint32(a - b)) }
func mul32(a, b, _ uint64) uint64   { return uint64(uint32(a * b)) }
func shl32(a, b, _ uint64) uint64   { return uint64(uint32(a << b)) }
func minWord(a, b, _ uint64) uint64 { return min(a, b) }
func maxWord(a, b, _ uint64) uint64 { return max(a, b) }

// words returns an operation that is the same for all kinds without sign.
func words(f lane) map[kir.Kind]lane {
	return map[kir.Kind]lane{kir.I32: f, kir.U32: f, kir.U64: f, kir.Bool: f}
}

func compares(signed, unsigned, float lane) map[kir.Kind]lane {
	return map[kir.Kind]lane{kir.I32: signed, kir.U32: unsigned, kir.U64: unsigned, kir.F32: float}
}

func truth(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// rounded returns f, computed as float64, as an operation on f32. The square root of a float32 is so rounded as if
// once, since a float64 has more than twice the bits.
func rounded(f func(float64) float64) lane {
	return func(a, _, _ uint64) uint64 { return ofF32(float32(f(float64(f32(a))))) }
}

func dot4(a, b, c uint64) uint64 {
	sum := int32(c)
	for n := 0; n < 32; n += 8 {
		sum += int32(int8(a>>n)) * int32(int8(b>>n))
	}
	return uint64(uint32(sum))
}

// checks are the checks of operations, by kind of the first operand.
var checks = map[kir.Op]map[kir.Kind]check{
	kir.OpDiv: {kir.I32: checkQuotient, kir.U32: checkDivisor},
	kir.OpRem: {kir.I32: checkQuotient, kir.U32: checkDivisor},
	kir.OpShl: {kir.I32: checkCount(32), kir.U32: checkCount(32), kir.U64: checkCount(64)},
	kir.OpShr: {kir.I32: checkCount(32), kir.U32: checkCount(32), kir.U64: checkCount(64)},
}

// checkKinds are the kinds of the faults that checks find.
var checkKinds = map[kir.Op]string{
	kir.OpDiv: Division, kir.OpRem: Division, kir.OpShl: Shift, kir.OpShr: Shift, kir.OpOffset: Offset, kir.OpConvert: Conversion,
}

func checkDivisor(a, b uint64) string {
	if b == 0 {
		return fmt.Sprintf("%d is divided by 0", uint32(a))
	}
	return ""
}

func checkQuotient(a, b uint64) string {
	switch {
	case b == 0:
		return fmt.Sprintf("%d is divided by 0", int32(a))
	case int32(a) == math.MinInt32 && int32(b) == -1:
		return fmt.Sprintf("the quotient of %d and -1 is no i32", int32(a))
	}
	return ""
}

func checkCount(width uint64) check {
	return func(_, b uint64) string {
		if b >= width {
			return fmt.Sprintf("%d bits are shifted by %d", width, b)
		}
		return ""
	}
}

// offsetOf returns the operation of an Offset of elements of that many bytes, and its check.
func offsetOf(index kir.Kind, bytes uint64) (lane, check) {
	run := func(a, _, _ uint64) uint64 { return a * bytes }
	return run, func(a, _ uint64) string {
		if index == kir.I32 && int32(a) < 0 {
			return fmt.Sprintf("the index is %d", int32(a))
		}
		if high, _ := bits.Mul64(a, bytes); high != 0 {
			return fmt.Sprintf("%d times %d bytes is no u64", a, bytes)
		}
		return ""
	}
}
