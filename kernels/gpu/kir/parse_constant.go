package kir

import (
	"math"
	"strconv"
	"strings"
)

// constant reads the bits of a scalar.
func (p *parser) constant(t Type) uint64 {
	p.blanks()
	from := p.at
	s := p.run(func(c byte) bool { return strings.IndexByte(" \t\r\n", c) < 0 })
	if t.Lanes > 1 {
		p.fail(from, "a constant is a scalar")
		return 0
	}
	bits, err := parseConstant(t.Kind, s)
	if err != nil {
		p.fail(from, "%q is no %v", s, t)
	}
	return bits
}

// parseConstant is the inverse of constant. It reads decimal floating-point numbers too.
func parseConstant(k Kind, s string) (uint64, error) {
	switch k {
	case I32:
		n, err := strconv.ParseInt(s, 10, 32)
		return uint64(uint32(n)), err
	case F32:
		if bits, ok := strings.CutPrefix(s, "nan:"); ok {
			return parseNaN(bits)
		}
		x, err := strconv.ParseFloat(s, 32)
		if err == nil && x != x {
			err = strconv.ErrSyntax // without its bits
		}
		return uint64(math.Float32bits(float32(x))), err
	case F16, BF16:
		bits, ok := strings.CutPrefix(s, "bits:")
		if !ok {
			return 0, strconv.ErrSyntax
		}
		return strconv.ParseUint(bits, 0, 16)
	case Bool:
		return strconv.ParseUint(s, 10, 1)
	}
	return strconv.ParseUint(s, 0, 8*k.Bytes())
}

func parseNaN(s string) (uint64, error) {
	bits, err := strconv.ParseUint(s, 0, 32)
	if x := math.Float32frombits(uint32(bits)); err == nil && x == x {
		err = strconv.ErrRange
	}
	return bits, err
}
