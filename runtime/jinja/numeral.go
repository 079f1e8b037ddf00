package jinja

import (
	"math"
	"strconv"
	"strings"
	"unicode"
)

// bigInt is an integer that needs more than 64 bits, as its digits. It is printed, compared and written as JSON.
// Computing with it is an error.
type bigInt string

// exact returns a float without a fraction as the integer that it is: if large also one of more than 64 bits, which takes
// floatSteps steps. Conversions of floats take as many.
func exact(v any, large bool) any {
	if x, ok := v.(float64); ok && x == math.Trunc(x) && (large || math.Abs(x) <= 1<<63) {
		return whole(x, v)
	}
	return v
}

const floatSteps = 64

// orderNumbers compares two numbers by their value: negative if a is before b. ok is false for other values. NaN is
// after nothing and before nothing.
func (m *machine) orderNumbers(a, b any) (cmp int, ordered, ok bool) {
	_, is1 := a.(bigInt)
	_, is2 := b.(bigInt)
	large := is1 || is2
	if large {
		m.step(floatSteps)
	}
	_, float1 := a.(float64)
	if _, float2 := b.(float64); !float1 || !float2 {
		a, b = exact(a, large), exact(b, large)
	}
	m1, x, int1, ok1 := number(a)
	m2, y, int2, ok2 := number(b)
	big1, is1 := a.(bigInt)
	big2, is2 := b.(bigInt)
	x, y = big1.orElse(x), big2.orElse(y)
	switch {
	case !ok1 && !is1 || !ok2 && !is2:
		return 0, false, false
	case int1 && int2 && m1 < m2, x < y:
		return -1, true, true
	case int1 && int2 && m1 > m2, x > y:
		return 1, true, true
	case is1 && is2:
		if cmp = len(big1) - len(big2); cmp == 0 {
			cmp = strings.Compare(string(big1), string(big2))
		}
		if x < 0 {
			cmp = -cmp
		}
	}
	return cmp, x == y, true
}

// orElse returns the largest float with the sign of the integer, or x if there is no integer. Floats that are compared
// with it and have no fraction are such integers, too, so that all others are smaller.
func (n bigInt) orElse(x float64) float64 {
	switch {
	case n == "":
		return x
	case n[0] == '-':
		return -math.MaxFloat64
	}
	return math.MaxFloat64
}

// maxDigits bounds the digits of an integer in a text, as Python does.
const maxDigits = 4300

// numeral returns a text as package strconv reads it: without white space around it, without underscores, and with the
// digits of all scripts as those of ASCII. An underscore that is not between letters or digits makes it empty.
func numeral(s string) string {
	var b strings.Builder
	word, under := false, false
	for _, r := range strings.TrimFunc(s, isSpace) {
		is := r != '_' && isWord(r)
		if !is && (under || r == '_' && !word) {
			return ""
		}
		word, under = is, r == '_'
		if !under {
			b.WriteRune(decimal(r))
		}
	}
	if under {
		return ""
	}
	return b.String()
}

// decimal returns the digit of ASCII with the value of a digit, and other characters as they are.
func decimal(r rune) rune {
	for _, digits := range unicode.Nd.R16 { // blocks of ten that begin with 0
		if lo := rune(digits.Lo); lo <= r && r <= rune(digits.Hi) {
			return '0' + (r-lo)%10
		}
	}
	return r
}

// floatOf returns the number that a text is, as Python's float reads it.
func floatOf(s string) (x float64, ok bool) {
	if strings.ContainsAny(s, "xX") { // Go reads numbers with a base, too
		return 0, false
	}
	x, err := strconv.ParseFloat(s, 64)
	return x, err == nil || math.IsInf(x, 0) // too large
}

func filterFloat(m *machine, v any, a *args) any {
	other := orElse(m.bind(a, "default")[0], 0.0)
	if big, ok := v.(bigInt); ok {
		x, _ := floatOf(string(big))
		if math.IsInf(x, 0) {
			m.fail("float: the integer is too large")
		}
		return x
	}
	m.step(floatSteps)
	if _, x, _, ok := number(m.use(v)); ok {
		return x
	}
	if s, ok := v.(string); ok {
		m.read(s)
		if x, ok := floatOf(numeral(s)); ok {
			return x
		}
	}
	return other
}

func filterInt(m *machine, v any, a *args) any {
	b := m.bind(a, "default", "base")
	other := orElse(b[0], int64(0))
	if _, ok := v.(bigInt); ok {
		return v
	}
	n, x, isInt, ok := number(m.use(v))
	m.step(floatSteps)
	m.made(floatSteps)
	switch {
	case isInt:
		return n
	case math.IsInf(x, 0):
		m.fail("int: infinity is no integer")
	case ok:
		return whole(x, other)
	}
	s, _ := v.(string)
	m.read(s)
	s = numeral(s)
	base := m.integer(orElse(b[1], int64(10)), "the base")
	if base != 0 && (base < 2 || base > 36) {
		m.fail("int: the base %d is not between 2 and 36", base)
	}
	if n := m.wholeText(s, base); n != nil {
		return n
	}
	if x, ok := floatOf(s); ok {
		return whole(x, other)
	}
	return other
}

// whole returns a number without its fraction, or another value in place of infinity in a text, as jinja2 does since
// 3.1.5.
func whole(x float64, other any) any {
	switch {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return other
	case math.Abs(x) < 1<<63:
		return int64(x)
	}
	return decimalInt(strconv.FormatFloat(x, 'f', 0, 64))
}

// wholeText returns the integer that a text is, as Python's int reads it; nil if it is none. A prefix such as 0x is that
// of the base, or with base 0 its name.
func (m *machine) wholeText(s string, base int) any {
	sign, digits := "", s
	if s != "" && (s[0] == '-' || s[0] == '+') {
		sign, digits = s[:1], s[1:]
	}
	if len(digits) > 1 && digits[0] == '0' {
		if named := prefixes[digits[1]|0x20]; named != 0 && (base == 0 || base == named) {
			digits, base = digits[2:], named
		}
	}
	zeros := strings.TrimLeft(digits, "0")
	if base == 0 {
		if base = 10; zeros != "" && zeros != digits {
			return nil
		}
	}
	n, err := strconv.ParseUint(digits, base, 64) // allows no sign
	switch {
	case err == nil && n <= math.MaxInt64 && sign == "-":
		return -int64(n)
	case err == nil && n <= math.MaxInt64:
		return int64(n)
	case err != nil && n == 0: // other than too large
		return nil
	case base != 10:
		m.overflow()
	case len(digits) > maxDigits || strings.Trim(digits, "0123456789") != "": // package strconv stops where it is too large
		return nil
	}
	return decimalInt(strings.TrimPrefix(sign, "+") + zeros)
}

// decimalInt returns the integer with some digits, which may have a sign.
func decimalInt(digits string) any {
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil {
		return n
	}
	return bigInt(digits)
}

// prefixes are the bases that a letter after 0 names.
var prefixes = map[byte]int{'x': 16, 'o': 8, 'b': 2}

func filterRound(m *machine, v any, a *args) any {
	m.step(floatSteps)
	b := m.bind(a, "precision", "method")
	n, x, isInt, ok := number(m.term(v))
	if !ok {
		m.fail("round needs a number, not a value of type %s", typeName(v))
	}
	digits := m.integer(orElse(b[0], int64(0)), "the precision")
	method := m.str(orElse(b[1], "common"))
	scale := math.Pow(10, float64(digits))
	scaled := x * scale
	switch {
	case method == "common" && isInt:
		return m.roundInt(n, digits)
	case method == "common":
		return roundFloat(x, digits)
	case method != "ceil" && method != "floor":
		m.fail("round: the method is common, ceil or floor")
	case math.IsInf(scaled, 0) || math.IsNaN(scaled):
		m.fail("round: %s has no digits", floatText(scaled))
	case method == "ceil":
		return math.Ceil(scaled) / scale
	}
	return math.Floor(scaled) / scale
}

// roundInt rounds to a multiple of a power of ten, one half to the even multiple.
func (m *machine) roundInt(n int64, digits int) any {
	unit := int64(1)
	for ; digits < 0; digits++ {
		if unit > math.MaxInt64/10 {
			return int64(0)
		}
		unit *= 10
	}
	q, rest := n/unit, magnitude(n%unit)
	if half := uint64(unit) - rest; rest > half || rest == half && q%2 != 0 {
		q += 1 | n>>63 // away from 0
	}
	return m.integers("*", q, unit)
}

func roundFloat(x float64, digits int) float64 {
	if digits < -308 {
		return 0 * x
	}
	if digits < 0 {
		scale := math.Pow(10, float64(-digits))
		return math.RoundToEven(x/scale) * scale
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(x, 'f', min(digits, 324), 64), 64)
	if err != nil {
		return x
	}
	return r
}
