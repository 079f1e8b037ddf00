package gpu

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// inverse2Pi are the first 256 bits of 1/(2π), after the binary point. (2/π is in Payne and Hanek, "Radian reduction
// for trigonometric functions", 1983; these are its bits, two places lower.)
var inverse2Pi = [...]uint32{
	0x28be60db, 0x9391054a, 0x7f09d5f4, 0x7d4d3770, 0x36d8a566, 0x4f10e410, 0x7f9458ea, 0xf7aef158,
}

// turns returns the fraction of a turn of the angle p*f, in units of 2^-32 of a turn, and whether f is a number. The
// product is rounded as in float64, as the definition of rope_table requires. Everything else is exact to the unit, for
// all positions and frequencies.
//
// Let f = m*2^-s, with m below 2^24. The angle is n*2^-s for the integer n = |p|*m, and its turns are n*c*2^-s for c =
// 1/(2π). 96 bits of c give n*c with 41 correct bits after the binary point, as n is below 2^55. With s below 0, the
// first -s bits of c yield whole turns only: the 96 bits begin after them.
func (l *lowering) turns(p, f *kir.Value) (fraction, number *kir.Value) {
	bits := l.Bitcast(f, kir.Scalar(kir.U32))
	exponent := l.And(l.Shr(bits, l.Uint(23)), l.Uint(255))
	mantissa := l.And(bits, l.Uint(1<<23-1))
	mantissa = l.Select(l.Eq(exponent, l.Uint(0)), mantissa, l.Or(mantissa, l.Uint(1<<23)))
	s := l.Sub(l.Int(150), l.Convert(l.Max(exponent, l.Uint(1)), kir.I32))

	back := l.Lt(p, l.Int(0))
	magnitude := l.Bitcast(l.Select(back, l.Neg(p), p), kir.Scalar(kir.U32))
	n := l.round53(l.Mul(l.to64(magnitude), l.to64(mantissa)))

	zero := l.Int(0)
	fraction = l.shifted(l.times(n, l.window(l.Max(zero, l.Neg(s)))), l.Max(zero, s))
	odd := l.Ne(l.Shr(bits, l.Uint(31)), l.Select(back, l.Uint(1), l.Uint(0)))
	fraction = l.Select(odd, l.Sub(l.Uint(0), fraction), fraction)
	return fraction, l.Ne(exponent, l.Uint(255))
}

// to64 returns a u32 as a u64, low the lower half of a u64, high the upper.
func (l *lowering) to64(x *kir.Value) *kir.Value { return l.Convert(x, kir.U64) }
func (l *lowering) high(x *kir.Value) *kir.Value { return l.Shr(x, l.Uint(32)) }
func (l *lowering) low(x *kir.Value) *kir.Value {
	return l.And(x, l.Bits(kir.U64, 1<<32-1))
}

// round53 rounds a number below 2^55 to 53 bits, halves to even.
func (l *lowering) round53(n *kir.Value) *kir.Value {
	one := l.Bits(kir.U64, 1)
	drop := func(count uint64) *kir.Value {
		unit := l.Bits(kir.U64, 1<<count)
		odd := l.And(l.Shr(n, l.Uint(uint32(count))), one)
		up := l.Add(n, l.Add(l.Bits(kir.U64, 1<<(count-1)-1), odd))
		return l.And(up, l.Sub(l.Bits(kir.U64, 0), unit))
	}
	return l.Select(l.Lt(n, l.Bits(kir.U64, 1<<53)), n, l.Select(l.Lt(n, l.Bits(kir.U64, 1<<54)), drop(1), drop(2)))
}

// window returns the 96 bits of c after the first skip, which is at most 105, as three words in u64.
func (l *lowering) window(skip *kir.Value) (words [3]*kir.Value) {
	from, rest := l.Shr(skip, l.Uint(5)), l.Sub(l.Uint(32), l.Convert(l.And(skip, l.Int(31)), kir.U32))
	word := func(i int) *kir.Value {
		w := l.Bits(kir.U64, uint64(inverse2Pi[i]))
		for k := 1; k <= 3; k++ {
			w = l.Select(l.Eq(from, l.Int(k)), l.Bits(kir.U64, uint64(inverse2Pi[i+k])), w)
		}
		return w
	}
	next := word(0)
	for i := range words {
		this := next
		next = word(i + 1)
		words[i] = l.low(l.Shr(l.Or(l.Shl(this, l.Uint(32)), next), rest))
	}
	return words
}

// times returns the product of n and three words after the binary point, as the last word after it and those before:
// the product has two words of lower weight, which are dropped.
func (l *lowering) times(n *kir.Value, c [3]*kir.Value) (words [3]*kir.Value) {
	lower, upper := l.low(n), l.high(n)
	var lows, highs [3]*kir.Value // products with c[2], c[1], c[0]
	for i := range c {
		lows[i], highs[i] = l.Mul(c[2-i], lower), l.Mul(c[2-i], upper)
	}
	sum := l.Add(l.high(lows[0]), l.Add(l.low(lows[1]), l.low(highs[0]))) // with the carry in its upper half
	sum = l.Add(l.high(sum), l.Add(l.Add(l.high(lows[1]), l.high(highs[0])), l.Add(l.low(lows[2]), l.low(highs[1]))))
	words[0] = l.low(sum)
	sum = l.Add(l.high(sum), l.Add(l.Add(l.high(lows[2]), l.high(highs[1])), l.low(highs[2])))
	words[1] = l.low(sum)
	words[2] = l.Add(l.high(sum), l.high(highs[2]))
	return words
}

// shifted returns the word after the binary point of a product, shifted to the right by s, which is at most 149.
func (l *lowering) shifted(words [3]*kir.Value, s *kir.Value) *kir.Value {
	from, rest := l.Shr(s, l.Uint(5)), l.Convert(l.And(s, l.Int(31)), kir.U32)
	zero := l.Bits(kir.U64, 0)
	word := func(i int) *kir.Value {
		w := zero
		for k := len(words) - 1 - i; k >= 0; k-- {
			w = l.Select(l.Eq(from, l.Int(k)), words[i+k], w)
		}
		return w
	}
	both := l.Or(l.Shl(word(1), l.Uint(32)), word(0))
	return l.Convert(l.low(l.Shr(both, rest)), kir.U32)
}
