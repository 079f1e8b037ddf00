package ptx

import (
	"math"
	"math/bits"
)

// compute returns the result of an arithmetic instruction.
func (th *thread) compute(op, typ string, a []uint64) uint64 {
	switch typ {
	case "f32":
		return th.computeF32(op, a)
	case "f16":
		return computeF16(op, a)
	}
	signed := typ[0] == 's'
	switch op {
	case "add":
		return a[0] + a[1]
	case "sub":
		return a[0] - a[1]
	case "mul.lo":
		return a[0] * a[1]
	case "mad.lo":
		return a[0]*a[1] + a[2]
	case "div":
		if signed {
			return uint64(int64(a[0]) / int64(a[1]))
		}
		return a[0] / a[1]
	case "rem":
		if signed {
			return uint64(int64(a[0]) % int64(a[1]))
		}
		return a[0] % a[1]
	case "neg":
		return -a[0]
	case "min", "max":
		less := a[0] < a[1]
		if signed {
			less = int64(a[0]) < int64(a[1])
		}
		if less == (op == "min") {
			return a[0]
		}
		return a[1]
	case "and":
		return a[0] & a[1]
	case "or":
		return a[0] | a[1]
	case "xor":
		return a[0] ^ a[1]
	case "not":
		return ^a[0]
	}
	panic("not run here: " + op + "." + typ)
}

func (th *thread) computeF32(op string, a []uint64) uint64 {
	x := make([]float32, 3)
	for i, bits := range a {
		x[i] = f32of(bits)
	}
	switch op {
	case "add.rn":
		return canonical(x[0] + x[1])
	case "sub.rn":
		return canonical(x[0] - x[1])
	case "mul.rn":
		return canonical(x[0] * x[1])
	case "div.rn":
		return canonical(x[0] / x[1])
	case "fma.rn":
		return canonical(float32(oddFMA(float64(x[0]), float64(x[1]), float64(x[2]))))
	case "sqrt.rn":
		return canonical(float32(math.Sqrt(float64(x[0]))))
	case "abs":
		return a[0] &^ (1 << 31)
	case "neg":
		return a[0] ^ 1<<31
	case "copysign":
		return a[1]&^(1<<31) | a[0]&(1<<31)
	case "min", "max":
		return minMaxF32(op, x[0], x[1])
	case "ex2.approx":
		return th.approximate(math.Exp2(float64(x[0])))
	}
	panic("not run here: " + op + ".f32")
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

// approximate returns a number up to 2 units in the last place beside x, the error that is documented for ex2.approx.
func (th *thread) approximate(x float64) uint64 {
	y := canonical(float32(x))
	if y == 0 || y >= 0x7f7ffff0 || x == 1 {
		return y
	}
	return y + uint64(th.cta.m.random.Intn(5)) - 2
}

func computeF16(op string, a []uint64) uint64 {
	x := make([]float64, 3)
	for i, bits := range a {
		x[i] = f16value(bits)
	}
	switch op {
	case "add.rn":
		return f16bits(x[0] + x[1])
	case "sub.rn":
		return f16bits(x[0] - x[1])
	case "mul.rn":
		return f16bits(x[0] * x[1])
	case "fma.rn":
		return f16bits(oddFMA(x[0], x[1], x[2]))
	case "neg":
		return a[0] ^ 1<<15
	case "min", "max":
		return f16bits(float64(f32of(minMaxF32(op, float32(x[0]), float32(x[1])))))
	}
	panic("not run here: " + op + ".f16")
}

// compareBits returns 1 if the comparison holds (9.3.1).
func compareBits(op, typ string, x, y uint64) uint64 {
	less, equal, unordered := x < y, x == y, false
	switch typ[0] {
	case 's':
		less = int64(x) < int64(y)
	case 'f':
		a, b := f32of(x), f32of(y)
		less, equal, unordered = a < b, a == b, a != a || b != b
	}
	holds := map[string]bool{
		"eq": equal, "ne": !equal && !unordered, "lt": less, "le": less || equal, "ge": !less && !unordered,
		"neu": !equal, "geu": !less, "nan": unordered,
	}
	if holds[op] {
		return 1
	}
	return 0
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
