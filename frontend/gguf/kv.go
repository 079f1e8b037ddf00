package gguf

import (
	"fmt"
	"io"
	"iter"
	"math"
	"math/bits"
	"strings"
	"unicode/utf8"
)

const (
	maxKeyBytes = 1<<16 - 1     // "at most 2^16-1 bytes" (gguf.md)
	minKeyBytes = 8 + 1 + 4 + 1 // name of one byte, type, value of one byte
	damaged     = "the file may be damaged, or its header counts wrongly"
	bigStrings  = math.MaxInt / 4 // the most elements that 32-bit systems can hold in memory
)

// Key is an entry of the metadata. Its value stays in the file until it is requested.
type Key struct {
	Name   string
	Offset int64     // of the entry in the file
	Type   ValueType // of the value
	Elem   ValueType // of the elements, where Type is Array
	Count  int       // of elements, where Type is Array

	value int64       // offset of the value: the scalar, the string's bytes or the first element
	bytes int64       // of the value there
	r     io.ReaderAt // of the file
	err   error       // of reading the entry a second time
}

// typeName describes the type of the value, such as "array of 12 strings".
func (k *Key) typeName() string {
	if k.Type == Array {
		return fmt.Sprintf("an array of %d x %v", k.Count, k.Elem)
	}
	return "a " + k.Type.String()
}

// NumKeys returns how many keys there are.
func (f *File) NumKeys() int { return f.keyCount }

// Keys yields the metadata in the order of the file, which it reads again. If the file has changed meanwhile, it ends
// with an error. The value of a key may be requested until the next key.
func (f *File) Keys() iter.Seq2[*Key, error] {
	return func(yield func(*Key, error) bool) {
		c := newCursor(f.r, f.size, headerBytes)
		values := newWindow(f.r, f.size)
		for range f.keyCount {
			k := &Key{Offset: c.off, r: values}
			k.readName(c)
			k.readValue(c)
			if c.err != nil {
				yield(nil, f.fault("key", k.Offset, changed(c.err)))
				return
			}
			if !yield(k, nil) {
				return
			}
		}
	}
}

// Key looks a key up.
func (f *File) Key(name string) (*Key, bool) {
	off, ok := f.findKey(name)
	if !ok {
		return nil, false
	}
	c := newCursor(f.r, f.size, off)
	k := &Key{Offset: off, r: f.r}
	k.readName(c)
	k.readValue(c)
	if c.err != nil || k.Name != name {
		k.err = changed(c.err)
	}
	k.Name = name
	return k, true
}

// findKey returns the offset of a key's entry.
func (f *File) findKey(name string) (int64, bool) {
	var buf []byte
	return f.keyNames.find(name, func(off int64) bool {
		if buf == nil {
			buf = make([]byte, 8+len(name))
		}
		_, err := readFull(f.r, buf, off)
		return err == nil && le.Uint64(buf) == uint64(len(name)) && string(buf[8:]) == name
	})
}

// Has reports whether the file has a key.
func (f *File) Has(name string) bool {
	_, ok := f.findKey(name)
	return ok
}

// KeyError returns an error about a key's value: the file and the key's place, followed by the text, which states
// what is wrong and what to do. The key may be absent.
func (f *File) KeyError(name, format string, args ...any) error {
	if off, ok := f.findKey(name); ok {
		return f.fault("key "+Quote(name), off, fmt.Errorf(format, args...))
	}
	return &Error{File: f.name, Err: fmt.Errorf("key %s: %w", Quote(name), fmt.Errorf(format, args...))}
}

// keyError returns an error about a key.
func (f *File) keyError(k *Key, format string, args ...any) error {
	return f.fault("key "+Quote(k.Name), k.Offset, fmt.Errorf(format, args...))
}

// readKeys reads the metadata and leaves the cursor at its end.
func (f *File) readKeys(c *cursor, n uint64) error {
	if n > c.left()/minKeyBytes {
		return f.fault("header", 16, fmt.Errorf("counts %d keys, more than %d bytes can hold: %s", n, c.left(), damaged))
	}
	var k Key
	for i := range n {
		k = Key{Offset: c.off}
		k.readName(c)
		if err := f.checkName(c, &k); err != nil {
			return f.fault(fmt.Sprintf("key %d of %d", i+1, n), k.Offset, err)
		}
		k.readValue(c)
		if c.err != nil {
			return f.keyError(&k, "%w", c.err)
		}
		f.keyNames.add(k.Name, k.Offset)
		f.keyCount++
	}
	return nil
}

func (k *Key) readName(c *cursor) { k.Name = c.str(maxKeyBytes, "the key's name") }

// checkName refuses names that are empty, duplicate or not valid text.
func (f *File) checkName(c *cursor, k *Key) error {
	if c.err != nil {
		return c.err
	}
	if err := checkText("name", k.Name); err != nil {
		return fmt.Errorf("%w: %s", err, damaged)
	}
	if first, ok := f.findKey(k.Name); ok {
		return fmt.Errorf("%s is there a second time, after 0x%x: %s", Quote(k.Name), first, damaged)
	}
	return nil
}

// checkText checks the name of a key or tensor. It refuses NUL, at which C programs end a name: two names that differ
// only after it would be equal there.
func checkText(what, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("the %s is empty", what)
	case strings.IndexByte(s, 0) >= 0:
		return fmt.Errorf("the %s %s has a NUL byte", what, Quote(s))
	case !utf8.ValidString(s):
		return fmt.Errorf("the %s %s is not UTF-8", what, Quote(s))
	}
	return nil
}

// readValue locates the value and checks it.
func (k *Key) readValue(c *cursor) {
	k.Type = ValueType(c.u32("the value's type"))
	switch {
	case c.err != nil:
	case k.Type >= numValueTypes:
		c.fail(fmt.Errorf("value type %d is unknown: %s", int32(k.Type), damaged))
	case k.Type == Array:
		k.readArray(c)
	case k.Type == String:
		n := c.u64("the length of the string")
		k.value, k.bytes = c.off, int64(n)
		c.skip(n, "the string")
	default:
		k.readFixed(c, k.Type, 1)
	}
}

// readArray reads an array's type and count, and skips its elements.
func (k *Key) readArray(c *cursor) {
	k.Elem = ValueType(c.u32("the type of the array's elements"))
	n := c.u64("the length of the array")
	switch {
	case c.err != nil:
	case k.Elem >= numValueTypes:
		c.fail(fmt.Errorf("element type %d is unknown: %s", int32(k.Elem), damaged))
	case k.Elem == Array:
		c.fail(fmt.Errorf("an array of arrays is not supported"))
	case k.Elem == String:
		k.readStrings(c, n)
	default:
		k.readFixed(c, k.Elem, n)
	}
	k.Count = int(n)
}

// readFixed skips n values of a fixed size. Bytes of bools must be 0 or 1.
func (k *Key) readFixed(c *cursor, t ValueType, n uint64) {
	hi, total := bits.Mul64(n, uint64(t.size()))
	if hi != 0 {
		total = math.MaxUint64 // more than any file
	}
	k.value, k.bytes = c.off, int64(total)
	if t != Bool {
		c.skip(total, "the value")
		return
	}
	if !c.need(total, "the value") {
		return
	}
	for i := uint64(0); i < n && c.err == nil; i++ {
		if b := c.u8("the value"); b > 1 {
			c.fail(fmt.Errorf("bool %d is the byte %d, not 0 or 1: %s", i, b, damaged))
		}
	}
}

// readStrings skips n strings.
func (k *Key) readStrings(c *cursor, n uint64) {
	k.value = c.off
	if n > c.left()/8 { // each has at least its length
		c.fail(fmt.Errorf("an array of %d strings is longer than the %d bytes that follow: %s", n, c.left(), damaged))
		return
	}
	for i := uint64(0); i < n; i++ {
		c.skip(c.u64("the length of a string in the array"), "a string in the array")
		if c.err != nil {
			c.err = fmt.Errorf("element %d of %d: %w", i, n, c.err)
			return
		}
	}
	k.bytes = c.off - k.value
	if k.bytes > bigStrings {
		c.fail(fmt.Errorf("%d bytes of strings do not fit in memory", k.bytes))
	}
}
