package ptx

import (
	"math"
	"math/bits"
	"math/rand"
)

// meaning is what an instruction computes: a function of up to three operands, which are extended to 64 bits.
type meaning = func(a, b, c uint64) uint64

// bitFunctions do the same for all types.
var bitFunctions = map[string]meaning{
	"add":    func(a, b, _ uint64) uint64 { return a + b },
	"sub":    func(a, b, _ uint64) uint64 { return a - b },
	"mul.lo": func(a, b, _ uint64) uint64 { return a * b },
	"mad.lo": func(a, b, c uint64) uint64 { return a*b + c },
	"neg":    func(a, _, _ uint64) uint64 { return -a },
	"and":    func(a, b, _ uint64) uint64 { return a & b },
	"or":     func(a, b, _ uint64) uint64 { return a | b },
	"xor":    func(a, b, _ uint64) uint64 { return a ^ b },
	"not":    func(a, _, _ uint64) uint64 { return ^a },
	"div":    func(a, b, _ uint64) uint64 { return a / b },
	"rem":    func(a, b, _ uint64) uint64 { return a % b },
	"min":    func(a, b, _ uint64) uint64 { return min(a, b) },
	"max":    func(a, b, _ uint64) uint64 { return max(a, b) },
}

// signedFunctions do something else for signed types.
var signedFunctions = map[string]meaning{
	"div": func(a, b, _ uint64) uint64 { return uint64(int64(a) / int64(b)) },
	"rem": func(a, b, _ uint64) uint64 { return uint64(int64(a) % int64(b)) },
	"min": func(a, b, _ uint64) uint64 { return uint64(min(int64(a), int64(b))) },
	"max": func(a, b, _ uint64) uint64 { return uint64(max(int64(a), int64(b))) },
}

var f32Functions = map[string]meaning{
	"add.rn": func(a, b, _ uint64) uint64 { return canonical(f32of(a) + f32of(b)) },
	"sub.rn": func(a, b, _ uint64) uint64 { return canonical(f32of(a) - f32of(b)) },
	"mul.rn": func(a, b, _ uint64) uint64 { return canonical(f32of(a) * f32of(b)) },
	"div.rn": func(a, b, _ uint64) uint64 { return canonical(f32of(a) / f32of(b)) },
	"fma.rn": func(a, b, c uint64) uint64 {
		return canonical(float32(oddFMA(float64(f32of(a)), float64(f32of(b)), float64(f32of(c)))))
	},
	"sqrt.rn":  func(a, _, _ uint64) uint64 { return canonical(float32(math.Sqrt(float64(f32of(a))))) },
	"abs":      func(a, _, _ uint64) uint64 { return a &^ (1 << 31) },
	"neg":      func(a, _, _ uint64) uint64 { return a ^ 1<<31 },
	"copysign": func(a, b, _ uint64) uint64 { return b&^(1<<31) | a&(1<<31) },
	"min":      func(a, b, _ uint64) uint64 { return minMaxF32("min", f32of(a), f32of(b)) },
	"max":      func(a, b, _ uint64) uint64 { return minMaxF32("max", f32of(a), f32of(b)) },
}

var f16Functions = map[string]meaning{
	"add.rn": func(a, b, _ uint64) uint64 { return f16bits(f16value(a) + f16value(b)) },
	"sub.rn": func(a, b, _ uint64) uint64 { return f16bits(f16value(a) - f16value(b)) },
	"mul.rn": func(a, b, _ uint64) uint64 { return f16bits(f16value(a) * f16value(b)) },
	"fma.rn": func(a, b, c uint64) uint64 { return f16bits(oddFMA(f16value(a), f16value(b), f16value(c))) },
	"neg":    func(a, _, _ uint64) uint64 { return a ^ 1<<15 },
	"min":    func(a, b, _ uint64) uint64 { return minMaxF16("min", a, b) },
	"max":    func(a, b, _ uint64) uint64 { return minMaxF16("max", a, b) },
}

// meaningOf returns what an instruction computes, or nil if that is not known here.
func meaningOf(op, typ string) meaning {
	switch typ {
	case "f32":
		return f32Functions[op]
	case "f16":
		return f16Functions[op]
	}
	if f := signedFunctions[op]; f != nil && typ[0] == 's' {
		return f
	}
	return bitFunctions[op]
}

func minMaxF32(op string, x, y float32) uint64 {
	switch {
	case x != x:
		return canonical(y)
	case y != y:
		return canonical(x)
	case op == "min":
		return canonical(float32(math.Min(float64(x), float64(y))))
	}
	return canonical(float32(math.Max(float64(x), float64(y))))
}

func minMaxF16(op string, a, b uint64) uint64 {
	return f16bits(float64(f32of(minMaxF32(op, float32(f16value(a)), float32(f16value(b))))))
}

// approximateExp2 returns a number up to 2 units in the last place beside 2^x, the error that is documented for
// ex2.approx.
func approximateExp2(x uint64, random *rand.Rand) uint64 {
	y := math.Exp2(float64(f32of(x)))
	bits := canonical(float32(y))
	if bits == 0 || bits >= 0x7f7ffff0 || y == 1 {
		return bits
	}
	return bits + uint64(random.Intn(5)) - 2
}

// relation is the result of a comparing of two numbers (9.3.1).
type relation struct{ less, equal, unordered bool }

var comparisons = map[string]func(r relation) bool{
	"eq":  func(r relation) bool { return r.equal },
	"ne":  func(r relation) bool { return !r.equal && !r.unordered },
	"lt":  func(r relation) bool { return r.less },
	"le":  func(r relation) bool { return r.less || r.equal },
	"ge":  func(r relation) bool { return !r.less && !r.unordered },
	"neu": func(r relation) bool { return !r.equal },
	"geu": func(r relation) bool { return !r.less },
	"nan": func(r relation) bool { return r.unordered },
}

// comparing returns a function that is 1 if a comparing holds.
func comparing(name, typ string) meaning {
	holds := comparisons[name]
	return func(x, y, _ uint64) uint64 {
		if holds(relate(typ[0], x, y)) {
			return 1
		}
		return 0
	}
}

func relate(class byte, x, y uint64) relation {
	switch class {
	case 's':
		return relation{less: int64(x) < int64(y), equal: x == y}
	case 'f':
		a, b := f32of(x), f32of(y)
		return relation{a < b, a == b, a != a || b != b}
	}
	return relation{less: x < y, equal: x == y}
}

// convertBits returns x of type from as one of type to (9.7.8.18).
func convertBits(op, to, from string, x uint64) uint64 {
	switch {
	case to[0] != 'f' && from[0] != 'f':
		return x
	case to[0] != 'f':
		return wholeBits(to, floatOf(from, x))
	case from[0] != 'f':
		return intToFloat(op, to, from, x)
	}
	y := floatOf(from, x)
	switch op {
	case "cvt.rni":
		y = math.RoundToEven(y)
	case "cvt.rmi":
		y = math.Floor(y)
	}
	if to == "f16" {
		return f16bits(y)
	}
	return canonical(float32(y))
}

func floatOf(typ string, x uint64) float64 {
	if typ == "f16" {
		return f16value(x)
	}
	return float64(f32of(x))
}

// wholeBits converts toward 0; numbers that do not fit become the closest that does, NaN becomes 0.
func wholeBits(to string, x float64) uint64 {
	n := sizes[to]
	low, high := 0.0, math.Ldexp(1, n)
	if to[0] == 's' {
		low, high = -math.Ldexp(1, n-1), math.Ldexp(1, n-1)
	}
	switch x = math.Trunc(x); {
	case x != x:
		return 0
	case x < low:
		x = low
	case x >= high:
		if to[0] == 's' {
			n--
		}
		return mask(^uint64(0), n)
	}
	if x < 0 {
		return uint64(int64(x))
	}
	return uint64(x)
}

func intToFloat(op, to, from string, x uint64) uint64 {
	negative := from[0] == 's' && int64(x) < 0
	if negative {
		x = -x
	}
	var y uint64
	switch {
	case to == "f16":
		y = f16bits(float64(min(x, 1<<20)))
	case op == "cvt.rz":
		if n := 64 - bits.LeadingZeros64(x); n > 24 {
			x = x >> (n - 24) << (n - 24)
		}
		y = canonical(float32(x))
	default:
		y = canonical(float32(x))
	}
	if negative {
		y |= 1 << (sizes[to] - 1)
	}
	return y
}
