package gguf

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// bytesOf writes n times the byte c.
func bytesOf(c byte, n int) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(bytes.Repeat([]byte{c}, n))
		return err
	}
}

// everything returns a writer with values of all types.
func everything() *Writer {
	w := NewWriter()
	w.Set("general.alignment", uint32(64))
	for name, v := range allValues {
		w.Set(name, v)
	}
	w.Tensor("a", TensorF32, []int{3, 5}, bytesOf('a', 60))
	w.Tensor("b", TensorQ8_0, []int{1, 2, 3, 64}, bytesOf('b', 408))
	w.Tensor("c", TensorQ4_K, []int{256}, bytesOf('c', 144))
	return w
}

var allValues = map[string]any{
	"u8": uint8(200), "i8": int8(-3), "u16": uint16(60000), "i16": int16(-300),
	"u32": uint32(1 << 31), "i32": int32(-1 << 31), "u64": uint64(1 << 63), "i64": int64(-1 << 63),
	"f32": float32(1.5), "f64": 2.5, "bool": true, "string": "grüße",
	"u8s": []uint8{1, 2}, "i8s": []int8{-1}, "i32s": []int32{-5, 6}, "bools": []bool{true, false},
	"f32s": []float32{0.5, -1}, "f64s": []float64{3}, "strings": []string{"", "x"}, "none": []string{},
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.gguf")
	if err := everything().WriteFile(path); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := errors.Join(checkInvariants(f), readAll(f)); err != nil {
		t.Error(err)
	}
	for name, want := range allValues {
		if got := valueOf(t, f, name); !reflect.DeepEqual(got, widened(want)) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	b, _ := f.Tensor("b")
	buf := make([]byte, 408)
	if err := f.ReadTensor(b, 0, buf); err != nil || !bytes.Equal(buf, bytes.Repeat([]byte("b"), 408)) {
		t.Errorf("%q, %v", buf, err)
	}
	if !reflect.DeepEqual(b.Shape, []int{1, 2, 3, 64}) || f.Alignment() != 64 || b.Offset%64 != 0 || f.DataOffset()%64 != 0 {
		t.Errorf("%+v at alignment %d", b, f.Alignment())
	}
}

// valueOf reads a key by the accessor for its type.
func valueOf(t *testing.T, f *File, name string) any {
	k, ok := f.Key(name)
	if !ok {
		t.Fatalf("no key %q", name)
	}
	var v any
	var err error
	switch {
	case k.Type == Uint64:
		v, err = f.Uint(name)
	case k.Type.isInt():
		v, err = f.Int(name)
	case k.Type == Float32 || k.Type == Float64:
		v, err = f.Float(name)
	case k.Type == Bool:
		v, err = f.Bool(name)
	case k.Type == String:
		v, err = f.String(name)
	case k.Elem == String:
		v, err = f.Strings(name)
	case k.Elem == Bool:
		v, err = f.Bools(name)
	case k.Elem.isInt():
		v, err = f.Ints(name)
	default:
		v, err = f.Floats(name)
	}
	if err != nil {
		t.Error(err)
	}
	return v
}

// widened converts a value to the type that its accessor returns.
func widened(v any) any {
	r := reflect.ValueOf(v)
	switch {
	case r.Kind() == reflect.Uint64 || r.Kind() == reflect.Bool || r.Kind() == reflect.String:
		return v
	case r.CanInt():
		return r.Int()
	case r.CanUint():
		return int64(r.Uint())
	case r.CanFloat():
		return r.Float()
	}
	switch r.Type().Elem().Kind() {
	case reflect.String, reflect.Bool:
		return v
	case reflect.Float32, reflect.Float64:
		list := make([]float64, r.Len())
		for i := range list {
			list[i] = r.Index(i).Float()
		}
		return list
	}
	list := make([]int64, r.Len())
	for i := range list {
		list[i] = widened(r.Index(i).Interface()).(int64)
	}
	return list
}

func TestWriterReportsMistakes(t *testing.T) {
	w := NewWriter()
	none := bytesOf(0, 0)
	w.Set("", uint8(1))
	w.Set("int", 1)
	w.Set("nested", [][]string{{}})
	w.Set("twice", uint8(1))
	w.Set("twice", uint8(1))
	w.Set("general.alignment", uint32(3))
	w.Tensor("x", TensorF32, []int{1}, none)
	w.Tensor("x", TensorF32, []int{1}, none)
	w.Tensor("q", TensorQ4_0, []int{31}, none)
	w.Tensor("zero", TensorF32, []int{2, 0}, none)
	w.Tensor("none", TensorF32, nil, none)
	w.Tensor(strings.Repeat("n", 65), TensorF32, []int{1}, none)
	w.Tensor("type", 4, []int{1}, none)
	_, err := w.WriteTo(io.Discard)
	for _, want := range []string{
		`key "": the name is empty`, `key "int": a Go int cannot be stored`, `key "nested": a Go []string cannot be stored`,
		`key "twice": set a second time`, `3 is not a uint32 that is a power of two`,
		`tensor "x": added a second time`, `tensor "q": a row has 31 elements`, `dimension 0 of [0 2] is 0`,
		`tensor "none": 0 dimensions`, `longer than 64 bytes`, `tensor "type": tensor type 4 (q4_2) was removed`,
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
}

// TestFailedWriteKeepsTheOldFile has a tensor that writes too little, or fails.
func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "w.gguf")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	failure := errors.New("no more")
	tests := map[string]func(io.Writer) error{
		"3 bytes were written, not 4": bytesOf(0, 3),
		"no more":                     func(io.Writer) error { return failure },
	}
	for want, data := range tests {
		w := NewWriter()
		w.Tensor("x", TensorF32, []int{1}, data)
		err := w.WriteFile(path)
		if err == nil || !strings.Contains(err.Error(), `w.gguf: tensor "x": `+want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	list, err := os.ReadDir(dir)
	old, _ := os.ReadFile(path)
	if len(list) != 1 || string(old) != "old" || err != nil {
		t.Errorf("%v, %q, %v", list, old, err)
	}
	if err := NewWriter().WriteFile(filepath.Join(dir, "no", "w.gguf")); err == nil {
		t.Error("a missing folder: no error")
	}
}
