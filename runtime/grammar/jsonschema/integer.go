package jsonschema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// integer returns the expression of a whole number within its bounds.
func (p *part) integer() string {
	lo, hasLo := p.bound("minimum", "exclusiveMinimum", 1)
	hi, hasHi := p.bound("maximum", "exclusiveMaximum", -1)
	if !hasLo && !hasHi {
		return p.basic("integer")
	}
	if !hasLo {
		lo = -maxInteger
	}
	if !hasHi {
		hi = maxInteger
	}
	if lo > hi {
		p.fail(p.path, "no whole number is between %d and %d", lo, hi)
		return ""
	}
	var parts []string
	if lo < 0 {
		parts = append(parts, `"-" (`+strings.Join(between(max(1, -hi), -lo), " | ")+")")
	}
	if hi >= 0 {
		parts = append(parts, between(max(0, lo), hi)...)
	}
	return "(" + strings.Join(parts, " | ") + ")"
}

// maxInteger is the largest number of 16 digits: all of them are whole numbers in float64 up to 2^53, which has 16.
const maxInteger = 9999999999999999

// bound returns a limit; exclusive ones are step away from their number.
func (p *part) bound(key, exclusive string, step int64) (n int64, ok bool) {
	if v, has := p.take(key); has {
		n, ok = p.whole(key, v), true
	}
	if v, has := p.take(exclusive); has {
		other := p.whole(exclusive, v) + step
		if !ok || (step > 0) == (other > n) {
			n = other
		}
		ok = true
	}
	return n, ok
}

func (p *part) whole(key string, v value) int64 {
	text, _ := v.(number)
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= -maxInteger && n <= maxInteger {
		return n // float64 has no room for all of 16 digits
	}
	x, err := strconv.ParseFloat(string(text), 64)
	if err != nil || x != math.Trunc(x) || math.Abs(x) > maxInteger {
		p.fail(p.path, "%s of an integer is a whole number of at most 16 digits", key)
		return 0
	}
	return int64(x)
}

// between returns expressions that together are the decimal numbers from lo to hi, 0 or more, without leading zeros.
//
// For example, 7 to 123 are 7-9, 10-99, 100-119 and 120-123: "[7-9]", "[1-9] [0-9]", "1 [01] [0-9]", "1 2 [0-3]".
func between(lo, hi int64) []string {
	var parts []string
	for lo <= hi {
		end := min(hi, allNines(lo))
		parts = append(parts, sameLength(strconv.FormatInt(lo, 10), strconv.FormatInt(end, 10))...)
		lo = end + 1
	}
	return parts
}

// allNines returns the largest number with as many digits as n.
func allNines(n int64) int64 {
	x := int64(9)
	for x < n {
		x = x*10 + 9
	}
	return x
}

// sameLength returns expressions for the numbers from lo to hi, which have equally many digits.
func sameLength(lo, hi string) []string {
	if lo == "" {
		return []string{`""`}
	}
	zeros, nines := strings.Repeat("0", len(lo)-1), strings.Repeat("9", len(lo)-1)
	if lo[0] == hi[0] {
		return prefixed(lo[0], lo[0], sameLength(lo[1:], hi[1:]))
	}
	var parts []string
	from, to := lo[0], hi[0]
	if lo[1:] != zeros {
		parts = append(parts, prefixed(from, from, sameLength(lo[1:], nines))...)
		from++
	}
	var last []string
	if hi[1:] != nines {
		last = prefixed(to, to, sameLength(zeros, hi[1:]))
		to--
	}
	if from <= to {
		rest := ""
		if len(zeros) > 0 {
			rest = fmt.Sprintf(" [0-9]{%d}", len(zeros))
		}
		parts = append(parts, digits(from, to)+rest)
	}
	return append(parts, last...)
}

// prefixed puts a digit before each expression.
func prefixed(from, to byte, parts []string) []string {
	for i, part := range parts {
		parts[i] = digits(from, to) + " " + part
	}
	return parts
}

func digits(from, to byte) string {
	if from == to {
		return `"` + string(from) + `"`
	}
	return "[" + string(from) + "-" + string(to) + "]"
}
