package gguf

import (
	"fmt"
	"math"
)

// Uint returns a value of any integer type that is not negative.
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

// Int returns a value of any integer type that fits an int64.
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

// Strings returns an array of strings, which share one allocation; they need not be UTF-8.
func (f *File) Strings(name string) ([]string, error) {
	k, err := f.array(name, "an array of strings", func(e ValueType) bool { return e == String })
	if err != nil {
		return nil, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return nil, err
	}
	all, pos := string(b), 0
	list := make([]string, k.Count)
	for i := range list {
		// The lengths were checked before, but not these bytes: the file may have changed.
		if len(all)-pos < 8 || le.Uint64(b[pos:]) > uint64(len(all)-pos-8) {
			return nil, f.keyError(k, "%w", errChanged)
		}
		n := int(le.Uint64(b[pos:]))
		list[i] = all[pos+8 : pos+8+n]
		pos += 8 + n
	}
	return list, nil
}

// Ints returns an array of any integer type whose elements fit an int64.
func (f *File) Ints(name string) ([]int64, error) {
	k, err := f.array(name, "an array of integers", ValueType.isInt)
	if err != nil {
		return nil, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return nil, err
	}
	list := make([]int64, k.Count)
	for i := range list {
		list[i] = intAt(k.Elem, b[i*k.Elem.size():])
		if list[i] < 0 && k.Elem == Uint64 {
			return nil, f.keyError(k, "element %d is %d: at most %d is supported", i, uint64(list[i]), int64(math.MaxInt64))
		}
	}
	return list, nil
}

// Floats returns an array of f32 or f64.
func (f *File) Floats(name string) ([]float64, error) {
	k, err := f.array(name, "an array of floats", func(e ValueType) bool { return e == Float32 || e == Float64 })
	if err != nil {
		return nil, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return nil, err
	}
	list := make([]float64, k.Count)
	for i := range list {
		list[i] = floatAt(k.Elem, b[i*k.Elem.size():])
	}
	return list, nil
}

// Int32s returns an array of i32, or of u32 whose elements fit. Other widths are refused:
// where a format says i32, readers of other programs would take them for something else.
func (f *File) Int32s(name string) ([]int32, error) {
	k, err := f.array(name, "an array of i32", func(e ValueType) bool { return e == Int32 || e == Uint32 })
	if err != nil {
		return nil, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return nil, err
	}
	list := make([]int32, k.Count)
	for i := range list {
		list[i] = int32(le.Uint32(b[4*i:]))
		if list[i] < 0 && k.Elem == Uint32 {
			return nil, f.keyError(k, "element %d is %d: at most %d is supported", i, uint32(list[i]), math.MaxInt32)
		}
	}
	return list, nil
}

// Float32s returns an array of f32.
func (f *File) Float32s(name string) ([]float32, error) {
	k, err := f.array(name, "an array of f32", func(e ValueType) bool { return e == Float32 })
	if err != nil {
		return nil, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return nil, err
	}
	list := make([]float32, k.Count)
	for i := range list {
		list[i] = math.Float32frombits(le.Uint32(b[4*i:]))
	}
	return list, nil
}

// Bools returns an array of bools.
func (f *File) Bools(name string) ([]bool, error) {
	k, err := f.array(name, "an array of bools", func(e ValueType) bool { return e == Bool })
	if err != nil {
		return nil, err
	}
	b, err := f.valueBytes(k)
	if err != nil {
		return nil, err
	}
	list := make([]bool, k.Count)
	for i := range list {
		list[i] = b[i] != 0
	}
	return list, nil
}

// maxFormat bounds what Format shows of a value.
const maxFormat = 1000

// Format returns a value for people to read: strings quoted, of arrays and strings only the
// first elements and bytes, at most limit of them and never more than 1000.
func (f *File) Format(k *Key, limit int) string {
	limit = max(0, min(limit, maxFormat))
	switch {
	case k.Type == String:
		s, err := f.String(k.Name)
		return orError(quote(s, limit), err)
	case k.Type != Array:
		b, err := f.valueBytes(k)
		if err != nil {
			return err.Error()
		}
		return formatScalar(k.Type, b)
	default:
		return f.formatArray(k, limit)
	}
}

// formatArray prints the first elements of an array between brackets.
func (f *File) formatArray(k *Key, limit int) string {
	c := newCursor(f.r, f.size, k.value)
	s := "["
	for i := range min(k.Count, limit) {
		if i > 0 {
			s += " "
		}
		if k.Elem == String {
			n := min(c.u64("a string"), c.left())
			head := c.next(int(min(n, uint64(4*limit))), "a string")
			c.skip(n-uint64(len(head)), "a string")
			s += quote(string(head), limit)
		} else if b := c.next(k.Elem.size(), "an element"); b != nil {
			s += formatScalar(k.Elem, b)
		}
	}
	if k.Count > limit {
		s += fmt.Sprintf(" … %d in all", k.Count)
	}
	return orError(s+"]", c.err)
}

// orError returns s, or the error in its place.
func orError(s string, err error) string {
	if err != nil {
		return err.Error()
	}
	return s
}

// quote quotes at most limit bytes of s.
func quote(s string, limit int) string {
	if len(s) > limit {
		return fmt.Sprintf("%q…", s[:limit])
	}
	return fmt.Sprintf("%q", s)
}

// formatScalar prints one value of fixed size.
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

// lookup finds a key whose type is one that the caller can use.
func (f *File) lookup(name, want string, ok func(*Key) bool) (*Key, error) {
	k, found := f.Key(name)
	if !found {
		return nil, f.KeyError(name, "is %w: convert the model again with a current converter", ErrMissing)
	}
	if !ok(k) {
		return nil, f.keyError(k, "is %s, where %s is needed: convert the model again", k.typeName(), want)
	}
	return k, nil
}

// array finds a key that is an array of elements that the caller can use.
func (f *File) array(name, want string, ok func(ValueType) bool) (*Key, error) {
	return f.lookup(name, want, func(k *Key) bool { return k.Type == Array && ok(k.Elem) })
}

// valueBytes reads a value.
func (f *File) valueBytes(k *Key) ([]byte, error) {
	b := make([]byte, k.bytes)
	if _, err := readFull(f.r, b, k.value); err != nil {
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
