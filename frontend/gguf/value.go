package gguf

import (
	"cmp"
	"fmt"
	"math"
	"strings"

	"github.com/ggmlc/ggmlc/runtime/printable"
)

// Uint returns the value of a key of any integer type, which must not be negative.
func (f *File) Uint(name string) (uint64, error) {
	k, err := f.lookup(name, "an integer", func(k *Key) bool { return k.Type.isInt() })
	if err != nil {
		return 0, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return 0, err
	}
	v := intAt(k.Type, b)
	if v < 0 && k.Type != Uint64 {
		return 0, f.keyError(k, "is %d: it must not be negative", v)
	}
	return uint64(v), nil
}

// Int returns the value of a key of any integer type, which must fit an int64.
func (f *File) Int(name string) (int64, error) {
	k, err := f.lookup(name, "an integer", func(k *Key) bool { return k.Type.isInt() })
	if err != nil {
		return 0, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return 0, err
	}
	v := intAt(k.Type, b)
	if v < 0 && k.Type == Uint64 {
		return 0, f.keyError(k, "is %d: at most %d is supported", uint64(v), int64(math.MaxInt64))
	}
	return v, nil
}

// Float returns a value of type f32 or f64.
func (f *File) Float(name string) (float64, error) {
	k, err := f.lookup(name, "a float", func(k *Key) bool { return k.Type == Float32 || k.Type == Float64 })
	if err != nil {
		return 0, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return 0, err
	}
	return floatAt(k.Type, b), nil
}

// Bool returns a value of type bool.
func (f *File) Bool(name string) (bool, error) {
	k, err := f.lookup(name, "a bool", func(k *Key) bool { return k.Type == Bool })
	if err != nil {
		return false, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return false, err
	}
	return b[0] != 0, nil
}

// String returns a string; it need not be UTF-8.
func (f *File) String(name string) (string, error) {
	k, err := f.lookup(name, "a string", func(k *Key) bool { return k.Type == String })
	if err != nil {
		return "", err
	}
	b, err := f.valueBytes(k)
	return string(b), err
}

// Strings returns an array of strings, which share one allocation. They need not be UTF-8.
func (f *File) Strings(name string) ([]string, error) {
	k, err := f.array(name, "an array of strings", func(e ValueType) bool { return e == String })
	if err != nil {
		return nil, err
	}
	var all strings.Builder // grown once, so that strings of its text stay valid
	size := k.bytes - 8*int64(k.Count)
	all.Grow(int(size))
	list := make([]string, k.Count)
	c := newCursor(k.r, f.size, k.value)
	for i := range list {
		// The lengths were checked when the file was opened, but it may have changed since.
		n := c.u64("a string")
		if start := all.Len(); n <= uint64(size-int64(start)) {
			c.text(&all, int64(n))
			list[i] = all.String()[start:]
		} else {
			c.fail(errChanged)
		}
		if c.err != nil {
			return nil, f.keyError(k, "%w", changed(c.err))
		}
	}
	return list, nil
}

// text appends n bytes to b.
func (c *cursor) text(b *strings.Builder, n int64) {
	for n > 0 && c.err == nil {
		part := c.next(int(min(n, cursorBuf)), "a string")
		b.Write(part)
		n -= int64(len(part))
	}
}

// Ints returns an array of any integer type whose elements fit an int64.
func (f *File) Ints(name string) ([]int64, error) {
	return elements(f, name, "an array of integers", ValueType.isInt, func(k *Key, b []byte) (int64, error) {
		x := intAt(k.Elem, b)
		if x < 0 && k.Elem == Uint64 {
			return 0, fmt.Errorf("is %d: at most %d is supported", uint64(x), int64(math.MaxInt64))
		}
		return x, nil
	})
}

// Floats returns an array of f32 or f64.
func (f *File) Floats(name string) ([]float64, error) {
	is := func(e ValueType) bool { return e == Float32 || e == Float64 }
	return elements(f, name, "an array of floats", is, func(k *Key, b []byte) (float64, error) { return floatAt(k.Elem, b), nil })
}

// Int32s returns an array of i32, or of u32 whose elements fit. It refuses other widths: if a format specifies i32,
// other programs would misread them.
func (f *File) Int32s(name string) ([]int32, error) {
	is := func(e ValueType) bool { return e == Int32 || e == Uint32 }
	return elements(f, name, "an array of i32", is, func(k *Key, b []byte) (int32, error) {
		x := int32(le.Uint32(b))
		if x < 0 && k.Elem == Uint32 {
			return 0, fmt.Errorf("is %d: at most %d is supported", uint32(x), math.MaxInt32)
		}
		return x, nil
	})
}

// Float32s returns an array of f32.
func (f *File) Float32s(name string) ([]float32, error) {
	is := func(e ValueType) bool { return e == Float32 }
	return elements(f, name, "an array of f32", is, func(_ *Key, b []byte) (float32, error) {
		return math.Float32frombits(le.Uint32(b)), nil
	})
}

// Bytes returns an array of u8 or i8.
func (f *File) Bytes(name string) ([]byte, error) {
	is := func(e ValueType) bool { return e == Uint8 || e == Int8 }
	return elements(f, name, "an array of u8", is, func(_ *Key, b []byte) (byte, error) { return b[0], nil })
}

// Bools returns an array of bools.
func (f *File) Bools(name string) ([]bool, error) {
	is := func(e ValueType) bool { return e == Bool }
	return elements(f, name, "an array of bools", is, func(_ *Key, b []byte) (bool, error) { return b[0] != 0, nil })
}

// elements reads an array of values of a fixed size, piece by piece.
func elements[T any](f *File, name, want string, is func(ValueType) bool, read func(*Key, []byte) (T, error)) ([]T, error) {
	k, err := f.array(name, want, is)
	if err != nil {
		return nil, err
	}
	list := make([]T, k.Count)
	c := newCursor(k.r, f.size, k.value)
	for i := range list {
		b := c.next(k.Elem.size(), "an element")
		if c.err != nil {
			return nil, f.keyError(k, "%w", changed(c.err))
		}
		if list[i], err = read(k, b); err != nil {
			return nil, f.keyError(k, "element %d %w", i, err)
		}
	}
	return list, nil
}

// maxFormat is the most elements of an array, and the most bytes of a string, that Format shows.
const maxFormat = 1000

// Format returns a value for people to read. Of arrays it shows at most limit elements, and never more than 1000.
// Strings are quoted, also those in arrays. Of a string of more than 1000 bytes it shows the characters in
// the first 1000, and how many bytes there are.
func (f *File) Format(k *Key, limit int) string {
	limit = max(0, min(limit, maxFormat))
	var b strings.Builder
	c := &cursor{r: k.r, size: f.size, off: k.value, mem: make([]byte, min(cursorBuf, k.bytes, 4*maxFormat))}
	switch {
	case k.Type == String:
		formatString(&b, c, uint64(k.bytes))
	case k.Type == Array:
		k.formatArray(&b, c, limit)
	default:
		k.formatScalar(&b, c, k.Type)
	}
	return orError(b.String(), cmp.Or(k.err, c.err))
}

// formatArray prints the first elements of an array between brackets.
func (k *Key) formatArray(b *strings.Builder, c *cursor, limit int) {
	b.WriteByte('[')
	for i := range min(k.Count, limit) {
		if i > 0 {
			b.WriteByte(' ')
		}
		if k.Elem == String {
			formatString(b, c, c.u64("a string"))
		} else {
			k.formatScalar(b, c, k.Elem)
		}
	}
	if k.Count > limit {
		fmt.Fprintf(b, " … %d in all", k.Count)
	}
	b.WriteByte(']')
}

// formatString prints a string of n bytes. It skips what is beyond maxFormat.
func formatString(b *strings.Builder, c *cursor, n uint64) {
	head := c.next(int(min(n, maxFormat+1)), "a string")
	if n <= maxFormat {
		fmt.Fprintf(b, "%q", head)
		return
	}
	c.skip(n-uint64(len(head)), "a string")
	fmt.Fprintf(b, "%q… %d bytes in all", printable.Head(string(head), maxFormat), n)
}

// formatScalar prints one value of fixed size.
func (k *Key) formatScalar(b *strings.Builder, c *cursor, t ValueType) {
	if v := c.next(t.size(), "a value"); v != nil {
		b.WriteString(formatScalar(t, v))
	}
}

// orError returns s, or the text of err if it is not nil.
func orError(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}

// formatScalar returns one value of fixed size as text.
func formatScalar(t ValueType, b []byte) string {
	switch t {
	case Bool:
		return fmt.Sprint(b[0] != 0)
	case Float32:
		return fmt.Sprint(float32(floatAt(t, b)))
	case Float64:
		return fmt.Sprint(floatAt(t, b))
	case Uint64:
		return fmt.Sprint(uint64(intAt(t, b)))
	default:
		return fmt.Sprint(intAt(t, b))
	}
}

// lookup returns a key whose type satisfies ok.
func (f *File) lookup(name, want string, ok func(*Key) bool) (*Key, error) {
	k, found := f.Key(name)
	if !found {
		return nil, f.KeyError(name, "is %w: convert the model again with a current converter", ErrMissing)
	}
	if k.err != nil {
		return nil, f.keyError(k, "%w", k.err)
	}
	if !ok(k) {
		return nil, f.keyError(k, "is %s, where %s is needed: convert the model again", k.typeName(), want)
	}
	return k, nil
}

// array returns a key that is an array whose element type satisfies ok.
func (f *File) array(name, want string, ok func(ValueType) bool) (*Key, error) {
	return f.lookup(name, want, func(k *Key) bool { return k.Type == Array && ok(k.Elem) })
}

// valueBytes reads a value.
func (f *File) valueBytes(k *Key) ([]byte, error) {
	b := make([]byte, k.bytes)
	if _, err := readFull(k.r, b, k.value); err != nil {
		return nil, f.keyError(k, "%w", err)
	}
	return b, nil
}

// intAt reads an integer; a uint64 keeps its bits.
func intAt(t ValueType, b []byte) int64 {
	switch t {
	case Uint8:
		return int64(b[0])
	case Int8:
		return int64(int8(b[0]))
	case Uint16:
		return int64(le.Uint16(b))
	case Int16:
		return int64(int16(le.Uint16(b)))
	case Uint32:
		return int64(le.Uint32(b))
	case Int32:
		return int64(int32(le.Uint32(b)))
	default:
		return int64(le.Uint64(b))
	}
}

// floatAt reads a float.
func floatAt(t ValueType, b []byte) float64 {
	if t == Float32 {
		return float64(math.Float32frombits(le.Uint32(b)))
	}
	return math.Float64frombits(le.Uint64(b))
}
