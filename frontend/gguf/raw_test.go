package gguf

import (
	"bytes"
	"fmt"
	"io"
	"reflect"
	"testing"
)

// raw builds files byte by byte, valid or not.
type raw []byte

func (b raw) u8(v ...byte) raw  { return append(b, v...) }
func (b raw) u32(v uint32) raw  { return le.AppendUint32(b, v) }
func (b raw) u64(v uint64) raw  { return le.AppendUint64(b, v) }
func (b raw) text(s string) raw { return append(b, s...) }
func (b raw) str(s string) raw  { return b.u64(uint64(len(s))).text(s) }
func (b raw) zeros(n int) raw   { return append(b, make([]byte, n)...) }
func (b raw) pad(a int) raw     { return b.zeros(-len(b) & (a - 1)) }

// header returns the header of a file of version 3.
func header(tensors, keys int64) raw {
	return raw(magic).u32(3).u64(uint64(tensors)).u64(uint64(keys))
}

// key begins an entry of the metadata.
func (b raw) key(name string, t ValueType) raw { return b.str(name).u32(uint32(t)) }

// tensor appends an entry of the tensor table; dims are innermost first.
func (b raw) tensor(name string, typ int32, off uint64, dims ...uint64) raw {
	b = b.str(name).u32(uint32(len(dims)))
	for _, d := range dims {
		b = b.u64(d)
	}
	return b.u32(uint32(typ)).u64(off)
}

// oneTensor returns a file with one tensor and n bytes of data.
func oneTensor(n int, typ int32, off uint64, dims ...uint64) raw {
	return header(1, 0).tensor("x", typ, off, dims...).pad(32).zeros(n)
}

// oneKey returns a file with one key, whose value follows.
func oneKey(name string, t ValueType) raw { return header(0, 1).key(name, t) }

// small returns a valid file with keys of all kinds and two tensors.
func small() raw {
	b := header(2, 6).
		key("general.architecture", String).str("llama").
		key("a", Uint32).u32(7).
		key("b", Bool).u8(1).
		key("s", Array).u32(uint32(String)).u64(3).str("x").str("").str("yz").
		key("f", Array).u32(uint32(Float32)).u64(2).u32(0x3f800000).u32(0).
		key("i", Int64).u64(^uint64(0)).
		tensor("one", 0, 0, 2, 3).
		tensor("two", 2, 32, 32).
		pad(32)
	return b.text("0123456789abcdefghijklmn").pad(32).zeros(18)
}

// read reads b as a file named m.gguf.
func read(b []byte) (*File, error) { return Read(bytes.NewReader(b), int64(len(b)), "m.gguf") }

// mustRead fails the test if a valid file is refused.
func mustRead(t testing.TB, b []byte) *File {
	t.Helper()
	f, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// checkInvariants checks what a reader that accepts a file promises. The sums cannot overflow.
func checkInvariants(f *File) error {
	type span struct{ from, to int64 }
	var spans []span
	end := f.size // of the last tensor
	for t := range f.Tensors() {
		if len(spans) == 0 {
			end = 0
		}
		end = max(end, t.Offset+t.Size)
		if t.Offset < f.data || t.Size <= 0 || t.Offset > f.size || t.Size > f.size-t.Offset {
			return fmt.Errorf("%+v is not inside %d bytes", t, f.size)
		}
		if int64(t.Rows())*int64(t.RowBytes()) != t.Size {
			return fmt.Errorf("%+v: %d rows of %d bytes", t, t.Rows(), t.RowBytes())
		}
		for _, s := range spans {
			if t.Offset < s.to && s.from < t.Offset+t.Size {
				return fmt.Errorf("%+v overlaps %v", t, s)
			}
		}
		if len(spans) < 100 { // quadratic, so only for few
			spans = append(spans, span{t.Offset, t.Offset + t.Size})
		}
		if got, ok := f.Tensor(t.Name); !ok || !reflect.DeepEqual(got, t) {
			return fmt.Errorf("%q is not found", t.Name)
		}
	}
	most := f.Alignment()
	for f.DataOffset()%(2*most) == 0 && most < f.size {
		most *= 2 // data for this alignment would begin there, too
	}
	if f.size-end >= most {
		return fmt.Errorf("%d bytes after the last tensor", f.size-end)
	}
	return nil
}

// readAll reads every value and the ends of every tensor. For an accepted file the worst result is an error.
func readAll(f *File) error {
	var all Faults
	note := all.Add
	for k, err := range f.Keys() {
		if err != nil {
			note(err)
			break
		}
		f.Format(k, 5)
		for _, err := range valueErrors(f, k.Name) {
			if err == nil {
				goto found
			}
		}
		if k.Type == Array && k.Elem == Uint64 {
			continue // an element may exceed an int64
		}
		note(fmt.Errorf("no accessor reads %+v", k))
	found:
	}
	for t := range f.Tensors() {
		note(f.ReadTensor(t, 0, make([]byte, 1)))
		note(f.ReadTensor(t, t.Size-1, make([]byte, 1)))
	}
	return all.Err(f.FileError)
}

// valueErrors calls all accessors on a key.
func valueErrors(f *File, name string) []error {
	_, e1 := f.Uint(name)
	_, e2 := f.Int(name)
	_, e3 := f.Float(name)
	_, e4 := f.Bool(name)
	_, e5 := f.String(name)
	_, e6 := f.Strings(name)
	_, e7 := f.Ints(name)
	_, e8 := f.Floats(name)
	_, e9 := f.Bools(name)
	return []error{e1, e2, e3, e4, e5, e6, e7, e8, e9}
}

// shrinking is a file that has only n bytes left when it is read again.
type shrinking struct {
	data []byte
	n    *int
}

func (s shrinking) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.data[:*s.n]).ReadAt(p, off)
}

var _ io.ReaderAt = shrinking{}

// tensorOf returns a tensor that exists.
func tensorOf(f *File, name string) *Tensor {
	t, _ := f.Tensor(name)
	return t
}
