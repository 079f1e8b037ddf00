package gguf

import (
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

func TestSmallFileIsReadCompletely(t *testing.T) {
	f := mustRead(t, small())
	if s, err := f.String("general.architecture"); s != "llama" || err != nil {
		t.Error(s, err)
	}
	if v, err := f.Uint("a"); v != 7 || err != nil {
		t.Error(v, err)
	}
	if v, err := f.Bool("b"); !v || err != nil {
		t.Error(v, err)
	}
	if v, err := f.Int("i"); v != -1 || err != nil {
		t.Error(v, err)
	}
	if v, err := f.Strings("s"); !reflect.DeepEqual(v, []string{"x", "", "yz"}) || err != nil {
		t.Error(v, err)
	}
	if v, err := f.Floats("f"); !reflect.DeepEqual(v, []float64{1, 0}) || err != nil {
		t.Error(v, err)
	}
	if v, err := f.Float32s("f"); !reflect.DeepEqual(v, []float32{1, 0}) || err != nil {
		t.Error(v, err)
	}
	one, ok := f.Tensor("one")
	if !ok || !reflect.DeepEqual(one.Shape, []int{3, 2}) || one.Size != 24 || one.Rows() != 3 || one.RowBytes() != 8 {
		t.Errorf("%+v", one)
	}
	buf := make([]byte, 4)
	if err := f.ReadTensor(one, 20, buf); string(buf) != "klmn" || err != nil {
		t.Errorf("%q, %v", buf, err)
	}
	two, _ := f.Tensor("two")
	if d, err := f.DType(two); d != dtype.Q4_0 || err != nil {
		t.Error(d, err)
	}
	if err := errors.Join(checkInvariants(f), readAll(f)); err != nil {
		t.Error(err)
	}
}

// TestAccessorsRefuseOtherTypes calls all accessors of other types for each key.
func TestAccessorsRefuseOtherTypes(t *testing.T) {
	f := mustRead(t, small())
	tests := []struct {
		err  error
		want string
	}{
		{second(f.Uint("general.architecture")), `m.gguf: key "general.architecture" (at 0x18): is a string, where an integer is needed`},
		{second(f.Float("a")), `is a u32, where a float is needed`},
		{second(f.Int("f")), `is an array of 2 x f32, where an integer is needed`},
		{second(f.Strings("general.architecture")), `is a string, where an array of strings is needed`},
		{second(f.Strings("f")), `is an array of 2 x f32, where an array of strings is needed`},
		{second(f.Ints("s")), `is an array of 3 x string, where an array of integers is needed`},
		{second(f.Floats("s")), `an array of floats is needed`},
		{second(f.Int32s("f")), `is an array of 2 x f32, where an array of i32 is needed`},
		{second(f.Float32s("s")), `is an array of 3 x string, where an array of f32 is needed`},
		{second(f.Bools("s")), `an array of bools is needed`},
		{second(f.Bool("a")), `is a u32, where a bool is needed`},
		{second(f.String("b")), `is a bool, where a string is needed`},
		{second(f.Uint("i")), `is -1: it must not be negative`},
		{second(f.Uint("none")), `m.gguf: key "none": is missing: convert the model again`},
	}
	for _, tt := range tests {
		if tt.err == nil || !strings.Contains(tt.err.Error(), tt.want) {
			t.Errorf("got %v, want %q", tt.err, tt.want)
		}
	}
	if err := second(f.Uint("none")); !errors.Is(err, ErrMissing) {
		t.Errorf("%v is not ErrMissing", err)
	}
}

func second[T any](_ T, err error) error { return err }

// TestIntegersAreReadAtTheirLimits reads every integer type.
func TestIntegersAreReadAtTheirLimits(t *testing.T) {
	tests := []struct {
		data raw
		want int64
		ok   bool
	}{
		{oneKey("k", Uint8).u8(255), 255, true},
		{oneKey("k", Int8).u8(128), -128, true},
		{oneKey("k", Uint16).u8(255, 255), 65535, true},
		{oneKey("k", Int16).u8(0, 128), -32768, true},
		{oneKey("k", Uint32).u32(1<<32 - 1), 1<<32 - 1, true},
		{oneKey("k", Int32).u32(1 << 31), -1 << 31, true},
		{oneKey("k", Int64).u64(1 << 63), -1 << 63, true},
		{oneKey("k", Uint64).u64(1<<63 - 1), 1<<63 - 1, true},
		{oneKey("k", Uint64).u64(1 << 63), 0, false},
	}
	for _, tt := range tests {
		f := mustRead(t, tt.data)
		if v, err := f.Int("k"); v != tt.want || (err == nil) != tt.ok {
			t.Errorf("%x: %d, %v", []byte(tt.data), v, err)
		}
	}
	f := mustRead(t, oneKey("k", Uint64).u64(1<<64-1))
	if v, err := f.Uint("k"); v != 1<<64-1 || err != nil {
		t.Error(v, err)
	}
	f = mustRead(t, oneKey("k", Array).u32(uint32(Uint32)).u64(2).u32(5).u32(1<<31))
	if _, err := f.Int32s("k"); err == nil || !strings.Contains(err.Error(), "element 1 is 2147483648") {
		t.Error(err)
	}
	f = mustRead(t, oneKey("k", Array).u32(uint32(Uint64)).u64(1).u64(1<<63))
	if _, err := f.Ints("k"); err == nil || !strings.Contains(err.Error(), "element 0 is 9223372036854775808") {
		t.Error(err)
	}
}

func TestUnsupportedTensorTypeIsNamed(t *testing.T) {
	f := mustRead(t, oneTensor(36, int32(TensorNVFP4), 0, 64))
	x, _ := f.Tensor("x")
	_, err := f.DType(x)
	want := `m.gguf: tensor "x" (at 0x18): type nvfp4 is not supported yet: convert the model to mxfp4, which is nearest, or another one of ` +
		`f32, f16, q4_0, q4_1, q5_0, q5_1, q8_0, q2_K, q3_K, q4_K, q5_K, q6_K, ` +
		`iq2_xxs, iq2_xs, iq3_xxs, iq1_s, iq4_nl, iq3_s, iq2_s, iq4_xs, iq1_m, bf16, tq1_0, tq2_0, mxfp4`
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestTypeOfIsTheInverseOfDType(t *testing.T) {
	for typ, i := range tensorTypes {
		if !i.dtype.Valid() {
			continue
		}
		if got, err := TypeOf(i.dtype); got != TensorType(typ) || err != nil {
			t.Errorf("%v: %v, %v", i.dtype, got, err)
		}
		if i.elems != i.dtype.BlockElems() || i.bytes != i.dtype.BlockBytes() {
			t.Errorf("%v: blocks of %d in %d bytes", i.dtype, i.elems, i.bytes)
		}
	}
	for _, d := range []dtype.DType{dtype.Invalid, dtype.Q8A, dtype.Q8A_K, dtype.Bool} {
		if _, err := TypeOf(d); err == nil {
			t.Errorf("%v has a tensor type", d)
		}
	}
}

func TestFormatShortensLongValues(t *testing.T) {
	f := mustRead(t, small())
	want := map[string]string{
		"general.architecture": `"llama"`, "a": "7", "b": "true", "i": "-1",
		"s": `["x" "" … 3 in all]`, "f": "[1 0]",
	}
	for name, w := range want {
		k, _ := f.Key(name)
		if got := f.Format(k, 2); got != w {
			t.Errorf("%s: %s, want %s", name, got, w)
		}
	}
}

// TestFormatShowsWholeStrings: the limit is one of elements. A string is cut at 1000 bytes, in no character, and what
// follows it in an array is intact.
func TestFormatShowsWholeStrings(t *testing.T) {
	long := strings.Repeat("é", 501) // 1002 bytes
	f := mustRead(t, header(0, 3).key("fits", String).str(long[:1000]).
		key("long", String).str("x"+long).
		key("list", Array).u32(uint32(String)).u64(3).str(long).str("b").str("c"))
	cut := `"` + long[:1000] + `"… 1002 bytes in all`
	for name, want := range map[string]string{
		"fits": `"` + long[:1000] + `"`, "long": `"x` + long[:998] + `"… 1003 bytes in all`, "list": `[` + cut + ` "b" … 3 in all]`,
	} {
		k, _ := f.Key(name)
		if got := f.Format(k, 2); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestShrinkingFileGivesErrors: a file that becomes shorter after it was opened gives errors, at any new length.
func TestShrinkingFileGivesErrors(t *testing.T) {
	data := small()
	n := len(data)
	f, err := Read(shrinking{data, &n}, int64(n), "m.gguf")
	if err != nil {
		t.Fatal(err)
	}
	for n = range data {
		err := readAll(f)
		if err == nil {
			t.Fatalf("%d bytes left: no error", n)
		}
		if !errors.Is(err, errChanged) {
			t.Errorf("%d bytes left: %v", n, err)
		}
	}
	tableEnd := int(tensorOf(f, "two").Entry) + 8 + len("two") + 4 + 8 + 4 + 8
	for cut := range data {
		n = cut
		if _, err := Read(shrinking{data, &n}, int64(len(data)), "m.gguf"); err == nil && cut < tableEnd {
			t.Errorf("%d bytes left of %d: accepted", cut, len(data))
		}
	}
}

// TestChangedFileIsNoticed: the lengths of strings are checked again when they are read. A changed length that still
// fits is only noticed by Unchanged.
func TestChangedFileIsNoticed(t *testing.T) {
	data := small()
	f := mustRead(t, data)
	k, _ := f.Key("s")
	for _, v := range []uint64{1 << 63, uint64(len(data)), 12} {
		le.PutUint64(data[k.value:], v)
		if _, err := f.Strings("s"); !errors.Is(err, errChanged) {
			t.Errorf("length %d: %v", v, err)
		}
	}
	le.PutUint64(data[k.value:], 1)
	copy(data[k.Offset+8:], "t")
	if _, err := f.Strings("s"); err == nil {
		t.Error("a key that has another name now is found")
	}
}

func TestReadTensorStaysInTheTensor(t *testing.T) {
	f := mustRead(t, small())
	x, _ := f.Tensor("one")
	for _, off := range []int64{-1, 24, 25, 1 << 62} {
		if err := f.ReadTensor(x, off, make([]byte, 1)); err == nil {
			t.Errorf("offset %d: no error", off)
		}
	}
	if err := f.ReadTensor(x, 24, nil); err != nil {
		t.Error(err)
	}
}

func TestOpenKeepsTheFileUntilClose(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "m.gguf")
	if err := os.WriteFile(path, small(), 0o644); err != nil {
		t.Fatal(err)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := f.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err == nil || !strings.Contains(err.Error(), "changed while it was read") {
		t.Error(err)
	}
	if err := f.ReadTensor(tensorOf(f, "one"), 0, make([]byte, 4)); !errors.Is(err, errChanged) {
		t.Error(err)
	}
}

func TestOpenRefusesOtherKindsOfFiles(t *testing.T) {
	dir := t.TempDir()
	tests := map[string]string{
		dir:                          "is a directory: a GGUF file is needed",
		filepath.Join(dir, "absent"): "no such file",
	}
	if info, err := os.Stat("/dev/zero"); err == nil && !info.Mode().IsRegular() {
		tests["/dev/zero"] = "is a device: a GGUF file is needed"
	}
	for path, want := range tests {
		if _, err := Open(path); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), path+": ") {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}

// TestRealFilesAreRead reads real files if they exist.
func TestRealFilesAreRead(t *testing.T) {
	path := filepath.FromSlash("../../../shared/data/aidreams260K.gguf")
	if _, err := os.Stat(path); err != nil {
		if strings.Contains(os.Getenv("GGMLC_REQUIRE"), "data") {
			t.Fatal(err)
		}
		t.Skipf("skip: no %s", path)
	}
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x, ok := f.Tensor("token_embd.weight")
	if !ok || !reflect.DeepEqual(x.Shape, []int{512, 64}) || f.NumTensors() != 39 || f.NumKeys() != 19 {
		t.Errorf("%+v, %d tensors, %d keys", x, f.NumTensors(), f.NumKeys())
	}
	if err := errors.Join(checkInvariants(f), readAll(f)); err != nil {
		t.Error(err)
	}
}

// FuzzRead checks that every accepted file, with all its values, keeps the reader's promises.
func FuzzRead(f *testing.F) {
	for _, b := range badFiles() {
		f.Add([]byte(b.data))
	}
	for _, b := range oddFiles() {
		f.Add([]byte(b))
	}
	f.Add([]byte(small()))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := read(data)
		if err != nil {
			if text := err.Error(); !strings.Contains(text, "m.gguf: ") || len(text) > 4096 || printable.Text(text) != text {
				t.Errorf("the error names no file, is too long, or not plain text: %q", text)
			}
			return
		}
		if err := errors.Join(checkInvariants(file), readAll(file)); err != nil {
			t.Error(err)
		}
	})
}
