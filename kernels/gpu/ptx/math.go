package ptx

// Parts of pi/2 and of the natural logarithm of 2, each the closest f32 to what the parts before it leave.
const (
	halfPi1, halfPi2, halfPi3 = 0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50
	ln2High, ln2Low           = 0x1.62e43p-1, -0x1.05c61p-29
)

const (
	log2e       = 1.44269504088896340735992468100189214
	infinity    = "0f7F800000"
	minusInf    = "0fFF800000"
	notANumber  = "0f7FC00000"
	leastNormal = 0x1p-126
)

// f prints an f32 instruction and returns its result.
func (e *emitter) f(op string, operands ...string) string { return e.set("f32", op, operands...) }

func (e *emitter) add(x, y string) string    { return e.f("add.rn.f32", x, y) }
func (e *emitter) mul(x, y string) string    { return e.f("mul.rn.f32", x, y) }
func (e *emitter) fma(x, y, z string) string { return e.f("fma.rn.f32", x, y, z) }

// polynomial returns c[0] + x c[1] + x² c[2] …
func (e *emitter) polynomial(x string, c ...float32) string {
	y := number(c[len(c)-1])
	for n := len(c) - 2; n >= 0; n-- {
		y = e.fma(x, y, number(c[n]))
	}
	return y
}

// exp prints e to the x with a relative error below 2^-21, and for denormal results an absolute one below 2^-148. x is
// n ln 2 + r with |r| at most 0.35; ex2.approx of r/ln 2 is within 2 units in the last place (9.7.3.21); two powers of
// 2 multiply to 2^n, whose exponent f32 may not have. n is limited to where the result is 0 or infinite. Beyond, r has
// the rest, and ex2.approx of it is 0 or infinite. Of a NaN, r is NaN.
func (e *emitter) exp(d, x string) {
	n := e.f("cvt.rni.f32.f32", e.mul(x, number(log2e)))
	n = e.f("min.f32", e.f("max.f32", n, number(-150)), number(129))
	r := e.fma(n, number(-ln2Low), e.fma(n, number(-ln2High), x))
	y := e.f("ex2.approx.f32", e.mul(r, number(log2e)))
	whole := e.set("s32", "cvt.rzi.s32.f32", n)
	half := e.set("s32", "shr.s32", whole, "1")
	y = e.mul(y, e.power(half))
	e.ins("mul.rn.f32", d, y, e.power(e.set("s32", "sub.s32", whole, half)))
}

// power returns 2^n for n from -126 to 127.
func (e *emitter) power(n string) string {
	biased := e.set("s32", "add.s32", n, "127")
	return e.set("f32", "mov.b32", e.set("s32", "shl.b32", biased, "23"))
}

// log prints the natural logarithm with a relative error below 2^-21; lg2.approx has an absolute error of 2^-22.6, too
// much near 1 (9.7.3.20). With x = 2^k m, m from sqrt(1/2) to sqrt(2), and s = (m-1)/(m+1), log m is 2 (s + s³/3 + s⁵/5
// …); the first term that is left out is below 2^-30 s.
func (e *emitter) log(d, x string) {
	m, k := e.significand(x)
	f := e.add(m, number(-1))
	s := e.f("div.rn.f32", f, e.add(m, number(1)))
	z := e.mul(s, s)
	rest := e.mul(s, e.mul(z, e.polynomial(z, 2.0/3, 2.0/5, 2.0/7, 2.0/9)))
	y := e.add(s, s)
	y = e.add(y, e.fma(k, number(ln2Low), rest))
	y = e.fma(k, number(ln2High), y)

	special := e.set("pred", "setp.geu.f32", x, infinity) // or NaN
	y = e.f("selp.f32", x, y, special)
	y = e.f("selp.f32", minusInf, y, e.set("pred", "setp.eq.f32", x, number(0)))
	e.ins("selp.f32", d, notANumber, y, e.set("pred", "setp.lt.f32", x, number(0)))
}

// significand returns m from sqrt(1/2) to sqrt(2), and k, with x = 2^k m, for positive finite x. The difference of the
// bits of x and sqrt(1/2) has k above the 23 bits of the fraction.
func (e *emitter) significand(x string) (m, k string) {
	const bitsOfSqrtHalf = "1060439283"
	tiny := e.set("pred", "setp.lt.f32", x, number(leastNormal))
	bits := e.set("s32", "mov.b32", e.f("selp.f32", e.mul(x, number(1<<23)), x, tiny))
	exponent := e.set("s32", "shr.s32", e.set("s32", "sub.s32", bits, bitsOfSqrtHalf), "23")
	m = e.set("f32", "mov.b32", e.set("s32", "sub.s32", bits, e.set("s32", "shl.b32", exponent, "23")))
	exponent = e.set("s32", "sub.s32", exponent, e.set("s32", "selp.s32", "23", "0", tiny))
	return m, e.f("cvt.rn.f32.s32", exponent)
}

// tanh prints the hyperbolic tangent with a relative error below 2^-21; tanh.approx has 2^-11 (9.7.3.22). From 0.55 on
// it is 1 - 2/(exp(2x)+1). Below, where that cancels, it is the continued fraction x/(1+x²/(3+x²/(5+x²/(7+x²/9)))),
// whose error is below 2^-30.
func (e *emitter) tanh(d, x string) {
	a := e.f("abs.f32", x)
	exp := e.temp("f32")
	e.exp(exp, e.add(a, a))
	large := e.add(e.f("div.rn.f32", number(-2), e.add(exp, number(1))), number(1))
	z := e.mul(x, x)
	small := e.f("div.rn.f32", e.mul(a, e.polynomial(z, 945, 105, 1)), e.polynomial(z, 945, 420, 15))
	y := e.f("selp.f32", small, large, e.set("pred", "setp.lt.f32", a, number(0.55)))
	e.ins("copysign.f32", d, x, y)
}

// sin and cos print the functions with an absolute error below 2^-22 for |x| up to 2^20, the reduction's limit;
// sin.approx has one of 2^-20.5, and that up to pi only (9.7.3.18).
func (e *emitter) sin(d, x string) {
	r, n := e.quarters(x)
	e.wave(d, r, n)
}

func (e *emitter) cos(d, x string) {
	r, n := e.quarters(x)
	e.wave(d, r, e.set("s32", "add.s32", n, "1"))
}

// quarters returns r and an integer n with x = n pi/2 + r. Each fma subtracts n times a part of pi/2 and rounds once;
// the first one is exact for |x| up to 2^20.
func (e *emitter) quarters(x string) (r, n string) {
	f := e.f("cvt.rni.f32.f32", e.mul(x, number(0x1.45f306p-1)))
	r = e.fma(f, number(-halfPi1), x)
	r = e.fma(f, number(-halfPi2), r)
	r = e.fma(f, number(-halfPi3), r)
	return r, e.set("s32", "cvt.rzi.s32.f32", f)
}

// wave prints the sine of r + n pi/2, with |r| up to 0.9: terms of Taylor's series of the sine or the cosine of r,
// negated for n mod 4 of 2 and 3. The first terms left out are below 2^-26.
func (e *emitter) wave(d, r, n string) {
	z := e.mul(r, r)
	sin := e.fma(e.mul(r, z), e.polynomial(z, -1.0/6, 1.0/120, -1.0/5040, 1.0/362880), r)
	cos := e.polynomial(z, 1, -1.0/2, 1.0/24, -1.0/720, 1.0/40320, -1.0/3628800)
	odd := e.set("pred", "setp.ne.s32", e.set("s32", "and.b32", n, "1"), "0")
	y := e.f("selp.f32", cos, sin, odd)
	lower := e.set("pred", "setp.ne.s32", e.set("s32", "and.b32", n, "2"), "0")
	e.ins("selp.f32", d, e.f("neg.f32", y), y, lower)
}
