package ir

import (
	"cmp"
	"encoding/hex"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Parsing of numbers, dimensions, types and places.

func (p *parser) boolean() bool {
	switch {
	case p.accept("true"):
		return true
	case !p.accept("false"):
		p.errorf("%s where true or false is expected", p.tok)
	}
	return false
}

func (p *parser) integer() int64 {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	at := p.tok
	n, err := strconv.ParseInt(sign+p.ident("a whole number"), 10, 64)
	if err != nil {
		p.errorAt(at, "%q is no whole number of 64 bits", at.text)
	}
	return n
}

// natural parses a whole number that is not negative and fits an int32.
func (p *parser) natural() int {
	at := p.tok
	n := p.integer()
	if n < 0 || n > math.MaxInt32 {
		p.errorAt(at, "%d is outside 0 to %d", n, math.MaxInt32)
		return 0
	}
	return int(n)
}

// size parses a number of bytes or elements.
func (p *parser) size() int64 {
	at := p.tok
	n := p.integer()
	if n < 0 {
		p.errorAt(at, "%d is negative", n)
	}
	return n
}

func (p *parser) float() float32 {
	sign := ""
	if p.accept("-") {
		sign = "-"
	}
	at := p.tok
	text := p.ident("a number")
	if text == "nan" {
		return p.nan()
	}
	f, err := strconv.ParseFloat(sign+text, 32)
	if err != nil || strings.ContainsAny(text, "_xXpP") || f != f {
		p.errorAt(at, "%q is no number in the range of f32", text)
		return 0
	}
	return float32(f)
}

// nan parses the bits after nan, or returns the quiet NaN if there are none.
func (p *parser) nan() float32 {
	bits := uint64(quietNaN)
	if p.accept("(") {
		at := p.tok
		var err error
		bits, err = strconv.ParseUint(p.ident("the bits of a NaN"), 0, 32)
		if f := math.Float32frombits(uint32(bits)); err != nil || f == f {
			p.errorAt(at, "%q are not the bits of a NaN", at.text)
		}
		p.expect(")")
	}
	return math.Float32frombits(uint32(bits))
}

func (p *parser) ints() []int {
	var ns []int
	p.expect("[")
	if p.accept("]") {
		return ns
	}
	p.list(func() { ns = append(ns, int(p.integer())) })
	p.expect("]")
	return ns
}

func (p *parser) hexBytes() []byte {
	at := p.tok
	b, err := hex.DecodeString(p.str("bytes in hexadecimal, in quotes"))
	switch {
	case errors.Is(err, hex.ErrLength):
		p.errorAt(at, "bytes in hexadecimal: %d digits are no whole number of bytes", len(at.text))
	case err != nil:
		p.errorAt(at, "bytes in hexadecimal: %s", strings.TrimPrefix(err.Error(), "encoding/hex: "))
	case len(b) > MaxLiteral:
		p.errorAt(at, "%d bytes are more than the %d that a text may hold in one place: put them into a GGUF file, and declare a weight = m[\"name\"]", len(b), MaxLiteral)
	}
	return b
}

func (p *parser) dtype() dtype.DType {
	at := p.tok
	d, err := dtype.Parse(p.ident("a dtype"))
	if err != nil {
		p.errorAt(at, "%v", err)
	}
	return d
}

func (p *parser) layout() dtype.Layout {
	at := p.tok
	l, err := dtype.ParseLayout(p.ident("a layout"))
	if err != nil {
		p.errorAt(at, "%v", err)
	}
	return l
}

func (p *parser) sumOrder() SumOrder {
	at := p.tok
	o, err := ParseSumOrder(p.ident("an order of sums"))
	if err != nil {
		p.errorAt(at, "%v", err)
	}
	return o
}

// typ parses and checks a type without its space.
func (p *parser) typ() Type {
	at := p.tok
	name, layout, packed := strings.Cut(p.ident("a type"), ".")
	var t Type
	var err error
	if t.DType, err = dtype.Parse(name); err != nil {
		p.errorAt(at, "%v", err)
	}
	if packed {
		if t.Layout, err = dtype.ParseLayout(layout); err != nil {
			p.errorAt(at, "%v", err)
		}
	}
	p.expect("[")
	if !p.at("]") && !p.at("strides") {
		t.Shape = p.dimList()
	}
	if p.accept("strides") {
		t.Strides = p.dimList()
	}
	p.expect("]")
	if p.bad {
		return t
	}
	if err := CheckType(t); err != nil {
		p.errorAt(at, "%v", err)
	}
	return t
}

func (p *parser) dims() []Dim {
	p.expect("[")
	var ds []Dim
	if !p.at("]") {
		ds = p.dimList()
	}
	p.expect("]")
	return ds
}

func (p *parser) dimList() []Dim {
	var ds []Dim
	p.list(func() { ds = append(ds, p.dim()) })
	return ds
}

// maxDimDepth bounds the brackets in a dimension, maxDimText its text: products of sums grow fast.
const (
	maxDimDepth = 16
	maxDimText  = 1024
)

// dim parses a dimension: terms with + and - between them.
func (p *parser) dim() Dim {
	var d Dim
	p.nested(maxDimDepth, func() {
		d = p.dimTerm()
		for !p.lineFailed() {
			switch {
			case p.accept("+"):
				d = p.sum(d, p.dimTerm(), Dim.Add)
			case p.accept("-"):
				d = p.sum(d, p.dimTerm(), Dim.Sub)
			default:
				return
			}
		}
	})
	return d
}

// dimTerm parses factors with * and / between them, from left to right.
func (p *parser) dimTerm() Dim {
	d := p.dimFactor()
	for !p.lineFailed() {
		at := p.tok
		switch {
		case p.accept("*"):
			d = p.product(d, p.dimFactor())
		case p.accept("/"):
			by := p.dimFactor()
			if lo, _ := by.Bounds(); lo < 1 {
				p.errorAt(at, "the divisor %v can be less than 1", by)
				return d
			}
			d = p.bounded(d.FloorDiv(by))
		default:
			return d
		}
	}
	return d
}

func (p *parser) dimFactor() Dim {
	switch {
	case p.accept("("):
		d := p.dim()
		p.expect(")")
		return d
	case p.at("-"):
		return p.negative()
	case p.tok.kind == tokWord && isDigit(p.tok.text[0]):
		return Const(p.integer())
	}
	at := p.tok
	name := p.ident("a dimension")
	switch {
	case name == "min" && p.at("("):
		return p.extreme(Dim.Min)
	case name == "max" && p.at("("):
		return p.extreme(Dim.Max)
	}
	if p.bad {
		return Dim{}
	}
	s := p.m.Symbol(name)
	if s == nil {
		p.errorAt(at, "symbol %s is not declared", name)
		return Dim{}
	}
	return Sym(s)
}

// negative parses a factor after a minus. A number is parsed with its sign, so that the smallest one is
// possible.
func (p *parser) negative() Dim {
	rest := p.lex
	if t := rest.next(); t.kind == tokWord && isDigit(t.text[0]) {
		return Const(p.integer())
	}
	p.expect("-")
	var d Dim
	p.nested(maxDimDepth, func() { d = p.dimFactor().Mul(Const(-1)) })
	return d
}

// extreme parses two dimensions in brackets and returns their minimum or maximum, which of computes.
func (p *parser) extreme(of func(a, b Dim) Dim) Dim {
	p.expect("(")
	a := p.dim()
	p.expect(",")
	b := p.dim()
	p.expect(")")
	return p.bounded(of(a, b))
}

// sum returns what of computes, the sum or difference of d and e, or an error if it may exceed 64 bits.
func (p *parser) sum(d, e Dim, of func(a, b Dim) Dim) Dim {
	if magnitude(d)+magnitude(e) >= maxMagnitude {
		p.errorf("the dimension can exceed 64 bits")
		return Dim{}
	}
	return p.bounded(of(d, e))
}

// maxMagnitude is the smallest number above the largest int64.
const maxMagnitude = 1 << 63

// magnitude returns the largest absolute value of d.
func magnitude(d Dim) float64 {
	lo, hi := d.Bounds()
	return max(math.Abs(float64(lo)), math.Abs(float64(hi)))
}

// product returns d*e, or an error if the product may exceed 64 bits or would be too long.
func (p *parser) product(d, e Dim) Dim {
	if magnitude(d)*magnitude(e) >= maxMagnitude {
		p.errorf("the dimension can exceed 64 bits")
		return Dim{}
	}
	if d.numTerms()*e.numTerms() > maxDimText {
		p.errorf("the dimension is too long")
		return Dim{}
	}
	return p.bounded(d.Mul(e))
}

// bounded returns d, or an error if it is too long.
func (p *parser) bounded(d Dim) Dim {
	size := 0
	for _, t := range d.terms() {
		size += len(t.key) + 1
	}
	if size > maxDimText {
		p.errorf("the dimension is too long")
		return Dim{}
	}
	return d
}

// place parses an address; nil for "-".
func (p *parser) place() *Place {
	if p.accept("-") {
		return nil
	}
	at := p.tok
	arena, chunk, inChunk := strings.Cut(p.ident("a place"), ".")
	if !inChunk {
		chunk = "0"
	}
	p.expect(":")
	offset := p.ident("an offset such as 0x40")
	p.expect("+")
	pl := &Place{Bytes: p.size()}
	var errs [3]error
	pl.Arena, errs[0] = strconv.Atoi(arena)
	pl.Chunk, errs[1] = strconv.Atoi(chunk)
	pl.Offset, errs[2] = strconv.ParseInt(offset, 0, 64)
	if cmp.Or(errs[:]...) != nil {
		p.errorAt(at, "a place is ARENA:OFFSET+BYTES or ARENA.CHUNK:OFFSET+BYTES")
	}
	return pl
}
