package runtime

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Array is a dense array as stored in a .npy file: elements in row-major, little-endian order.
type Array struct {
	Type  dtype.DType
	Shape []int // outermost first; empty for a scalar
	Data  []byte
}

// The format of .npy files is defined by numpy/lib/format.py: the magic, a version, the length of the header, the
// header (a Python dict literal with the keys descr, fortran_order and shape, padded with spaces), the elements.
const (
	npyMagic     = "\x93NUMPY"
	npyMaxHeader = 64 << 10 // the most of version 1; headers usually have about a hundred bytes
	npyMaxRank   = 32       // the limit of numpy before version 2
)

// npyTypes lists the values of descr that this package reads and writes, without byte order. Numpy has no bfloat16:
// such arrays are written as f32, which represents each value exactly.
var npyTypes = []struct {
	descr string
	t     dtype.DType
}{
	{"f4", dtype.F32}, {"f2", dtype.F16}, {"f8", dtype.F64}, {"i4", dtype.I32}, {"i8", dtype.I64},
	{"i1", dtype.I8}, {"u1", dtype.U8}, {"b1", dtype.Bool},
}

// ReadNPY reads an array of versions 1 to 3. It refuses big-endian, Fortran-ordered and structured arrays. limit
// bounds the memory for elements in bytes; memory is allocated only as the elements arrive.
func ReadNPY(r io.Reader, limit int64) (Array, error) {
	br := bufio.NewReader(r)
	header, err := npyHeader(br)
	if err != nil {
		return Array{}, err
	}
	a, err := parseNPYHeader(header)
	if err != nil {
		return Array{}, err
	}
	size, err := a.bytes(limit)
	if err != nil {
		return Array{}, err
	}
	var data bytes.Buffer
	if _, err := io.CopyN(&data, br, size); err != nil {
		return Array{}, fmt.Errorf("the file ends after %d of %d bytes of elements", data.Len(), size)
	}
	if _, err := br.ReadByte(); err != io.EOF {
		return Array{}, fmt.Errorf("there is more after the %d bytes of elements that the header announces", size)
	}
	a.Data = data.Bytes()
	return a, nil
}

// npyHeader reads the header, including its padding, and returns its dict.
func npyHeader(br *bufio.Reader) (string, error) {
	var start [8]byte
	if _, err := io.ReadFull(br, start[:]); err != nil || string(start[:6]) != npyMagic {
		return "", errors.New("it is no .npy file: save it with numpy.save")
	}
	size := 4
	switch major := start[6]; {
	case major == 1:
		size = 2
	case major > 3 || major == 0:
		return "", fmt.Errorf("version %d of .npy is unknown", major)
	}
	var length [4]byte
	if _, err := io.ReadFull(br, length[:size]); err != nil {
		return "", errors.New("the file ends inside the header")
	}
	n := binary.LittleEndian.Uint32(length[:])
	if n > npyMaxHeader {
		return "", fmt.Errorf("a header of %d bytes: at most %d are supported", n, npyMaxHeader)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(br, b); err != nil {
		return "", errors.New("the file ends inside the header")
	}
	return string(b), nil
}

// parseNPYHeader parses the dict, which has each of three keys once, in any order.
func parseNPYHeader(header string) (Array, error) {
	p := &npyParser{rest: strings.TrimSpace(header)}
	a := Array{}
	seen := map[string]bool{}
	p.expect('{')
	for p.err == nil && !p.accept('}') {
		key := p.text()
		p.expect(':')
		if p.err == nil && seen[key] {
			p.fail("the key %q appears twice", key)
		}
		seen[key] = true
		p.member(key, &a)
		if !p.accept(',') {
			p.expect('}')
			break
		}
	}
	if p.err == nil && (len(seen) != 3 || p.rest != "") {
		p.fail("it must hold descr, fortran_order and shape, nothing else")
	}
	return a, p.err
}

// npyParser parses Python literals at the front of rest. It keeps the first error.
type npyParser struct {
	rest string
	err  error
}

func (p *npyParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("header: "+format, args...)
	}
}

func (p *npyParser) accept(c byte) bool {
	p.rest = strings.TrimLeft(p.rest, " \n\t")
	if p.err != nil || p.rest == "" || p.rest[0] != c {
		return false
	}
	p.rest = strings.TrimLeft(p.rest[1:], " \n\t")
	return true
}

func (p *npyParser) expect(c byte) {
	if !p.accept(c) {
		p.fail("%q wanted at %.20q", c, p.rest)
	}
}

// text reads a string literal without escapes.
func (p *npyParser) text() string {
	if p.err != nil || p.rest == "" || p.rest[0] != '\'' && p.rest[0] != '"' {
		p.fail("a string wanted at %.20q", p.rest)
		return ""
	}
	s, rest, ok := strings.Cut(p.rest[1:], p.rest[:1])
	if !ok {
		p.fail("a string does not end")
	}
	p.rest = rest
	return s
}

func (p *npyParser) word(w string) bool {
	if !strings.HasPrefix(p.rest, w) {
		return false
	}
	p.rest = p.rest[len(w):]
	return true
}

func (p *npyParser) member(key string, a *Array) {
	switch key {
	case "descr":
		if !p.accept('[') { // a list is a structured type
			p.descr(p.text(), a)
		} else {
			p.fail("structured arrays are not supported")
		}
	case "fortran_order":
		if p.word("True") {
			p.fail("the array is in Fortran order: save numpy.ascontiguousarray of it")
		} else if !p.word("False") {
			p.fail("fortran_order must be True or False")
		}
	case "shape":
		a.Shape = p.shape()
	default:
		p.fail("the key %q is unknown", key)
	}
}

func (p *npyParser) descr(s string, a *Array) {
	if p.err != nil {
		return
	}
	if strings.HasPrefix(s, ">") {
		p.fail("the array is big-endian (%s): save it with .astype('<%s')", s, s[1:])
		return
	}
	for _, t := range npyTypes {
		if strings.TrimLeft(s, "<|=") == t.descr && len(s) == len(t.descr)+1 {
			a.Type = t.t
			return
		}
	}
	p.fail("elements of type %q are not supported: float32 and int32 are", s)
}

// shape reads a tuple of sizes: (), (3,) or (2, 3).
func (p *npyParser) shape() []int {
	shape := []int{}
	p.expect('(')
	for p.err == nil && !p.accept(')') {
		digits := p.rest[:len(p.rest)-len(strings.TrimLeft(p.rest, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil || len(shape) == npyMaxRank {
			p.fail("no shape at %.20q", p.rest)
			break
		}
		p.rest = p.rest[len(digits):]
		p.word("L") // the suffix of long integers in Python 2
		shape = append(shape, n)
		if !p.accept(',') {
			p.expect(')')
			break
		}
	}
	return shape
}

// bytes returns the size of the elements, or an error if it exceeds limit.
func (a *Array) bytes(limit int64) (int64, error) {
	size := int64(a.Type.BlockBytes())
	for _, n := range a.Shape {
		if n == 0 {
			return 0, nil
		}
	}
	for _, n := range a.Shape {
		if size > limit/int64(n) {
			return 0, fmt.Errorf("shape %v of %v takes more than the %d bytes that fit", a.Shape, a.Type, limit)
		}
		size *= int64(n)
	}
	return size, nil
}

// WriteNPY writes an array as version 1. A BF16 array is written as F32.
func WriteNPY(w io.Writer, a Array) error {
	if a.Type == dtype.BF16 {
		a = widenBF16(a)
	}
	descr := ""
	for _, t := range npyTypes {
		if t.t == a.Type {
			descr = "<" + t.descr
		}
	}
	if descr == "" {
		return fmt.Errorf("numpy has no type for %v: cast it first", a.Type)
	}
	if a.Type.BlockBytes() == 1 {
		descr = "|" + descr[1:]
	}
	b := append([]byte(npyMagic), 1, 0, 0, 0)
	b = fmt.Appendf(b, "{'descr': '%s', 'fortran_order': False, 'shape': %s, }", descr, tuple(a.Shape))
	for (len(b)+1)%64 != 0 { // so that the elements are aligned
		b = append(b, ' ')
	}
	b = append(b, '\n')
	binary.LittleEndian.PutUint16(b[8:], uint16(len(b)-10))
	if _, err := w.Write(b); err != nil {
		return err
	}
	_, err := w.Write(a.Data)
	return err
}

// tuple formats a shape as Python does.
func tuple(shape []int) string {
	s := "("
	for i, n := range shape {
		if i > 0 {
			s += ", "
		}
		s += strconv.Itoa(n)
	}
	if len(shape) == 1 {
		s += ","
	}
	return s + ")"
}

func widenBF16(a Array) Array {
	wide := make([]byte, 0, 2*len(a.Data))
	for i := 0; i+1 < len(a.Data); i += 2 {
		wide = append(wide, 0, 0, a.Data[i], a.Data[i+1]) // a bf16 is the upper half of an f32
	}
	return Array{dtype.F32, a.Shape, wide}
}

// narrowI64 converts i64 to i32. Numpy makes i64 arrays of lists of integers.
func narrowI64(a Array) (Array, error) {
	narrow := make([]byte, 0, len(a.Data)/2)
	for i := 0; i < len(a.Data); i += 8 {
		v := int64(binary.LittleEndian.Uint64(a.Data[i:]))
		if int64(int32(v)) != v {
			return Array{}, fmt.Errorf("element %d is %d, which an int32 cannot hold", i/8, v)
		}
		narrow = binary.LittleEndian.AppendUint32(narrow, uint32(v))
	}
	return Array{dtype.I32, a.Shape, narrow}, nil
}
