package jinja

import (
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"
)

func (e signExpr) eval(m *machine) any {
	v := m.eval(e.of)
	m.at = e.at
	n, x, isInt, ok := number(m.term(v))
	switch {
	case !ok:
		m.fail("%s needs a number, not a value of type %s", e.op, typeName(v))
	case e.op == "+" && isInt:
		return n
	case e.op == "+":
		return x
	case isInt && n == math.MinInt64:
		m.overflow()
	case isInt:
		return -n
	}
	return -x
}

func (m *machine) overflow() { m.fail("an integer needs more than 64 bits") }

func (e concatExpr) eval(m *machine) any {
	var b strings.Builder
	for _, part := range e {
		s := m.str(m.eval(part))
		m.made(len(s)) // at once, as a part may be made of others
		b.WriteString(s)
	}
	return b.String()
}

func (e binaryExpr) eval(m *machine) any {
	left := m.eval(e.left)
	right := m.eval(e.right)
	m.at = e.at
	return m.binary(e.op, left, right)
}

// binary applies an operator to numbers, texts or lists.
func (m *machine) binary(op string, a, b any) any {
	if _, ok := unmarked(a).(string); ok && op == "%" {
		return m.percent(a, b)
	}
	m.term(a)
	m.term(b)
	m1, x, int1, ok1 := number(a)
	m2, y, int2, ok2 := number(b)
	switch {
	case ok1 && ok2 && int1 && int2:
		return m.integers(op, m1, m2)
	case ok1 && ok2:
		return m.floats(op, x, y)
	case op == "+":
		if v := m.join(a, b); v != nil {
			return v
		}
	case op == "*" && ok2 && int2:
		if v := m.repeat(a, m2); v != nil {
			return v
		}
	case op == "*" && ok1 && int1:
		if v := m.repeat(b, m1); v != nil {
			return v
		}
	}
	m.fail("%s does not join values of types %s and %s", op, typeName(a), typeName(b))
	return nil
}

// join returns one text or list after the other; nil if they are of different types.
func (m *machine) join(a, b any) any {
	switch a := a.(type) {
	case string:
		return m.joinTexts(a, b)
	case markup:
		return m.joinMarkup(a, b)
	case []any:
		if b, ok := b.([]any); ok {
			return m.joinLists(a, b)
		}
	case tuple:
		if b, ok := b.(tuple); ok {
			return tuple(m.joinLists(a, b))
		}
	}
	return nil
}

// joinTexts joins a text with another one, or with markup.
func (m *machine) joinTexts(a string, b any) any {
	switch b := b.(type) {
	case string:
		m.made(len(a) + len(b))
		return a + b
	case markup:
		return m.joinMarkup(markup(m.escapeHTML(a)), b)
	}
	return nil
}

func (m *machine) joinMarkup(a markup, b any) any {
	switch b := b.(type) {
	case string:
		return m.joinMarkup(a, markup(m.escapeHTML(b)))
	case markup:
		m.made(len(a) + len(b))
		return a + b
	}
	return nil
}

// elementBytes is what an element of a list takes.
const elementBytes = 16

func (m *machine) joinLists(a, b []any) []any {
	m.step((len(a) + len(b)) / 16)
	m.made(elementBytes * (len(a) + len(b)))
	return append(append(make([]any, 0, len(a)+len(b)), a...), b...)
}

// repeat returns a text or list n times; nil if it is neither.
func (m *machine) repeat(v any, n int64) any {
	n = max(n, 0)
	switch val := unmarked(v).(type) {
	case string:
		m.product(len(val), n)
		return marked(v, strings.Repeat(val, int(n)))
	case []any:
		return m.repeatList(val, n)
	case tuple:
		return tuple(m.repeatList(val, n))
	}
	return nil
}

func (m *machine) repeatList(v []any, n int64) []any {
	if len(v) == 0 {
		return v
	}
	m.product(elementBytes*len(v), n)
	list := make([]any, 0, len(v)*int(n))
	for range n {
		list = append(list, v...)
	}
	return list
}

// product counts n times a number of bytes.
func (m *machine) product(size int, n int64) {
	if size == 0 || n == 0 {
		return
	}
	if n > int64(m.limits.Memory) || size > m.limits.Memory/int(n) {
		m.made(m.limits.Memory + 1)
	}
	m.made(size * int(n))
}

func (m *machine) integers(op string, a, b int64) any {
	switch op {
	case "+":
		if s := a + b; (s > a) == (b > 0) {
			return s
		}
	case "-":
		if d := a - b; (d < a) == (b > 0) {
			return d
		}
	case "*":
		hi, lo := bits.Mul64(magnitude(a), magnitude(b))
		if hi == 0 && lo <= math.MaxInt64 {
			return a * b
		}
	case "**":
		return m.intPower(a, b)
	default:
		return m.divide(op, a, b)
	}
	m.overflow()
	return nil
}

func magnitude(n int64) uint64 {
	if n < 0 {
		return -uint64(n)
	}
	return uint64(n)
}

// divide applies the operators of division. A quotient is rounded down, and a remainder has the sign of the divisor.
func (m *machine) divide(op string, a, b int64) any {
	if b == 0 {
		m.fail("division by zero")
	}
	switch op {
	case "/":
		return quotient(a, b)
	case "%":
		if r := a % b; r != 0 && (r < 0) != (b < 0) {
			return r + b
		}
		return a % b
	}
	if a == math.MinInt64 && b == -1 {
		m.overflow()
	}
	if q := a / b; a%b != 0 && (a < 0) != (b < 0) {
		return q - 1
	}
	return a / b
}

// quotient returns a / b, rounded once. Both are shifted until their highest bits are set, so that the integer part of
// their quotient has 63 bits or more. Its lowest bit is set if there is a rest, and rounding to a float sees that.
func quotient(a, b int64) float64 {
	x, y := magnitude(a), magnitude(b)
	shift1, shift2 := bits.LeadingZeros64(x), bits.LeadingZeros64(y)
	x <<= shift1
	q, rest := bits.Div64(x>>1, x<<63, y<<shift2)
	if rest != 0 {
		q |= 1
	}
	f := float64(q) * math.Float64frombits(uint64(1023+shift2-shift1-63)<<52) // a power of two
	if (a < 0) != (b < 0) {
		f = -f
	}
	return f
}

func (m *machine) intPower(a, b int64) any {
	if b < 0 {
		return m.floats("**", float64(a), float64(b))
	}
	if a == 0 || a == 1 || a == -1 { // any exponent has a result
		b = min(b, 2+b%2)
	}
	result := any(int64(1))
	for range b {
		result = m.integers("*", result.(int64), a)
	}
	return result
}

func (m *machine) floats(op string, a, b float64) any {
	switch op {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	case "**":
		return m.floatPower(a, b)
	}
	if b == 0 {
		m.fail("division by zero")
	}
	if op == "/" {
		return a / b
	}
	r := math.Mod(a, b)
	q := (a - r) / b // an integer, but for rounding
	switch {
	case r == 0:
		r = math.Copysign(0, b)
	case (r < 0) != (b < 0):
		r, q = r+b, q-1
	}
	if op == "%" {
		return r
	}
	if q == 0 {
		return math.Copysign(0, a/b)
	}
	whole := math.Floor(q)
	if q-whole > 0.5 {
		whole++
	}
	return whole
}

func (m *machine) floatPower(a, b float64) any {
	x := math.Pow(a, b)
	switch {
	case a == 0 && b < 0:
		m.fail("division by zero")
	case math.IsNaN(x) && !math.IsNaN(a) && !math.IsNaN(b):
		m.fail("the power of a negative number is no real number")
	case math.IsInf(x, 0) && !math.IsInf(a, 0) && !math.IsInf(b, 0):
		m.fail("the power is too large")
	}
	return x
}

func (e sliceExpr) eval(m *machine) any {
	m.fail("a slice is one of several indexes")
	return nil
}

// slice returns some elements of a list, or some characters of a text.
func (m *machine) slice(of any, s sliceExpr, at int) any {
	bounds := [3]any{}
	for i, e := range []expr{s.start, s.stop, s.step} {
		if e != nil {
			bounds[i] = m.eval(e)
		}
	}
	m.at = at
	switch val := unmarked(m.use(of)).(type) {
	case []any:
		return m.pick(val, bounds)
	case tuple:
		return tuple(m.pick(val, bounds))
	case string:
		s, _ := m.sliceText(val, bounds)
		return marked(of, s)
	case *view:
		if val.name == "range" {
			return val.slice(m, bounds)
		}
	}
	m.fail("only texts and lists have slices")
	return nil
}

// sliceText slices by characters, and returns the number of the first one, too.
func (m *machine) sliceText(s string, bounds [3]any) (part string, start int) {
	m.step(len(s) / 16)
	n := utf8.RuneCountInString(s)
	start, stop, step := m.bounds(n, bounds)
	if step == 1 {
		from, to := start, max(start, stop)
		if n < len(s) {
			from = byteOf(s, from)
			to = from + byteOf(s[from:], to-start)
		}
		m.made(to - from)
		return s[from:to], start
	}
	m.made(4 * n)
	runes := []rune(s)
	var b strings.Builder
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		b.WriteRune(runes[i])
	}
	m.made(b.Len())
	return b.String(), start
}

// byteOf returns the byte of a text at which a character begins; after its last one, the length.
func byteOf(s string, character int) int {
	for i := range s {
		if character == 0 {
			return i
		}
		character--
	}
	return len(s)
}

func (m *machine) pick(list []any, bounds [3]any) []any {
	start, stop, step := m.bounds(len(list), bounds)
	out := []any{}
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		out = append(out, list[i])
	}
	m.step(len(out) / 16)
	m.made(elementBytes * len(out))
	return out
}

// bounds returns where a slice of n elements begins and ends, with Python's rules.
func (m *machine) bounds(n int, b [3]any) (start, stop, step int) {
	step = 1
	if b[2] != nil {
		step = m.integer(b[2], "the step of a slice")
	}
	if step == 0 {
		m.fail("the step of a slice is 0")
	}
	step = max(-n-1, min(n+1, step))
	low, high := 0, n
	if step < 0 {
		low, high = -1, n-1
	}
	edge := func(v any, without int) int {
		if v == nil {
			return without
		}
		i := m.integer(v, "the bound of a slice")
		if i < 0 {
			i = max(i, -n-1) + n
		}
		return max(low, min(high, i))
	}
	if step < 0 {
		return edge(b[0], high), edge(b[1], low), step
	}
	return edge(b[0], low), edge(b[1], high), step
}
