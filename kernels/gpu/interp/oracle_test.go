package interp

import (
	"math"
	"math/big"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Floating-point numbers from their definitions and exact arithmetic, which the tests of operations compare with.

// same compares results; all NaNs are the same.
func same(k kir.Kind, a, b uint64) bool {
	if isFloat(k) && math.IsNaN(value(k, a)) && math.IsNaN(value(k, b)) {
		return true
	}
	return a == b
}

// value returns a floating-point number, from its definition.
func value(k kir.Kind, x uint64) float64 {
	if k == kir.F32 {
		return float64(math.Float32frombits(uint32(x)))
	}
	exponentBits, bias := 8, 127
	if k == kir.F16 {
		exponentBits, bias = 5, 15
	}
	fractionBits := 15 - exponentBits
	sign := 1 - 2*float64(x>>15)
	e := int(x >> fractionBits & (1<<exponentBits - 1))
	f := float64(x & (1<<fractionBits - 1))
	switch {
	case e == 1<<exponentBits-1 && f != 0:
		return math.NaN()
	case e == 1<<exponentBits-1:
		return sign * math.Inf(1)
	case e == 0:
		return sign * math.Ldexp(f, 1-bias-fractionBits)
	}
	return sign * math.Ldexp(f+float64(int(1)<<fractionBits), e-bias-fractionBits)
}

// nearest returns the bits of the k nearest to x, of two the even one.
func nearest(k kir.Kind, x *big.Float) uint64 {
	if k == kir.F32 {
		y, _ := x.Float32()
		return uint64(math.Float32bits(y))
	}
	sign := uint64(0)
	if x.Signbit() {
		sign = 1 << 15
	}
	abs := new(big.Float).Abs(x)
	var infinity uint64 = 0x7f80
	if k == kir.F16 {
		infinity = 0x7c00
	}
	low, high := uint64(0), infinity // abs is not below low
	for high-low > 1 {
		if mid := (low + high) / 2; exact(value(k, mid)).Cmp(abs) <= 0 {
			low = mid
		} else {
			high = mid
		}
	}
	// Beyond the largest number, the next one would be as far from it as the one before.
	up := 2*value(k, low) - value(k, low-min(low, 1))
	if high < infinity {
		up = value(k, high)
	}
	middle := new(big.Float).SetPrec(2000).Add(exact(value(k, low)), exact(up))
	middle.Quo(middle, exact(2))
	if c := abs.Cmp(middle); c > 0 || c == 0 && low&1 == 1 {
		low = high
	}
	return sign | low
}

func exact(x float64) *big.Float { return new(big.Float).SetPrec(2000).SetFloat64(x) }

func finite(xs ...float64) bool {
	for _, x := range xs {
		if math.IsInf(x, 0) || math.IsNaN(x) {
			return false
		}
	}
	return true
}

// round1 returns an operation on numbers, rounded once. If a number is not finite, or the result is 0, whose sign a
// big.Float has otherwise, it is computed as float64.
func round1(k kir.Kind, plain func(a, b, c float64) float64, precise func(r, a, b, c *big.Float)) lane {
	return func(a, b, c uint64) uint64 {
		x, y, z := value(k, a), value(k, b), value(k, c)
		if p := plain(x, y, z); !finite(x, y, z, p) || p == 0 {
			return nearestOf(k, p)
		}
		r := new(big.Float).SetPrec(2000)
		precise(r, exact(x), exact(y), exact(z))
		return nearest(k, r)
	}
}

func nearestOf(k kir.Kind, x float64) uint64 {
	nan := map[kir.Kind]uint64{kir.F32: 0x7fc00000, kir.F16: 0x7e00, kir.BF16: 0x7fc0}[k]
	switch {
	case math.IsNaN(x):
		return nan
	case math.IsInf(x, 0):
		inf := map[kir.Kind]uint64{kir.F32: 0x7f800000, kir.F16: 0x7c00, kir.BF16: 0x7f80}[k]
		if x < 0 {
			inf |= 1 << (8*k.Bytes() - 1)
		}
		return inf
	}
	return nearest(k, exact(x))
}

// converted returns a number as a to, and whether it fits.
func converted(from, to kir.Kind, x uint64) (bits uint64, fits bool) {
	if isFloat(from) {
		v := value(from, x)
		if isFloat(to) {
			return nearestOf(to, v), true
		}
		if !finite(v) {
			return 0, false
		}
		n, _ := exact(v).Int(nil)
		smallest, size := new(big.Int), new(big.Int).Lsh(big.NewInt(1), uint(8*to.Bytes()))
		if to == kir.I8 || to == kir.I32 {
			smallest.Neg(smallest.Rsh(size, 1))
		}
		end := new(big.Int).Add(smallest, size)
		wrapped := new(big.Int).Mod(n, size)
		return wrapped.Uint64(), n.Cmp(smallest) >= 0 && n.Cmp(end) < 0
	}
	n := new(big.Int).SetUint64(x)
	if size := uint(8 * from.Bytes()); (from == kir.I8 || from == kir.I32) && x>>(size-1) == 1 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), size))
	}
	if isFloat(to) {
		f, _ := new(big.Float).SetInt(n).Float32() // as OpConvert specifies
		return nearest(to, exact(float64(f))), true
	}
	return new(big.Int).Mod(n, new(big.Int).Lsh(big.NewInt(1), uint(8*to.Bytes()))).Uint64(), true
}
