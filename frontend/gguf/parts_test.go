package gguf

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parts writes a model in three parts and returns the path of the first. change may change part i before it is written.
func parts(t *testing.T, change func(i int, w *Writer)) string {
	t.Helper()
	dir := t.TempDir()
	for i := range 3 {
		w := NewWriter()
		if i == 0 {
			w.Set("general.architecture", "llama")
		}
		if change != nil {
			change(i, w)
		}
		for key, v := range map[string]any{"split.no": uint16(i), "split.count": uint16(3), "split.tensors.count": int32(4)} {
			if !w.keyNames[key] {
				w.Set(key, v)
			}
		}
		for j := range i + 1 { // parts have 0, 1 and 3 tensors: a first part may have none
			if i > 0 {
				w.Tensor(fmt.Sprintf("t%d%d", i, j), TensorF32, []int{2 + j}, bytesOf(byte('a'+2*i+j), 4*(2+j)))
			}
		}
		if err := w.WriteFile(filepath.Join(dir, "m"+partSuffix(uint64(i), 3))); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, "m"+partSuffix(0, 3))
}

func TestPartsAreOneFile(t *testing.T) {
	path := parts(t, func(i int, w *Writer) { w.Set("split.tensors.count", int32(5)) })
	f, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for tensor := range f.Tensors() {
		names = append(names, tensor.Name)
		same, ok := f.Tensor(tensor.Name)
		buf := make([]byte, tensor.Size)
		if err := f.ReadTensor(tensor, 0, buf); err != nil || !ok || same.Offset != tensor.Offset {
			t.Errorf("%s: %v, %v", tensor.Name, ok, err)
		}
		if want := byte('a' + 2*(tensor.Name[1]-'0') + tensor.Name[2] - '0'); bytes.Count(buf, []byte{want}) != len(buf) {
			t.Errorf("%s: %q", tensor.Name, buf)
		}
	}
	if want := []string{"t10", "t11", "t20", "t21", "t22"}; !slices.Equal(names, want) || f.NumTensors() != len(want) {
		t.Errorf("%v, %d tensors", names, f.NumTensors())
	}
	var all []byte
	for _, p := range append([]string{path}, OtherParts(path)...) {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	if got, err := io.ReadAll(f.Reader()); err != nil || !bytes.Equal(got, all) || f.Size() != int64(len(all)) {
		t.Errorf("%d of %d bytes, %v", len(got), len(all), err)
	}
	if err := f.TensorError("t22", "is odd"); !strings.Contains(err.Error(), "-00003-of-00003.gguf: tensor \"t22\" (at 0x") {
		t.Error(err)
	}
	if err := f.Unchanged(); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(OtherParts(path)[1], all[:100], 0o666); err != nil {
		t.Fatal(err)
	}
	if err := f.Unchanged(); err == nil {
		t.Error("another last part is not noticed")
	}
}

func TestPartsOfOtherModelsAreRefused(t *testing.T) {
	set := func(part int, key string, v any) func(int, *Writer) {
		return func(i int, w *Writer) {
			if i == part {
				w.Set(key, v)
			}
		}
	}
	rename := func(from, to int) func(path string) error {
		return func(path string) error {
			name := func(i int) string { return strings.TrimSuffix(path, partSuffix(0, 3)) + partSuffix(uint64(i), 3) }
			return os.Rename(name(from), name(to))
		}
	}
	// laidOutFor64 is a second part that gguf-py makes of a model with an alignment of 64: only the first part has the key.
	laidOutFor64 := header(1, 3).key(partKey, Uint16).u8(1, 0).key(partsKey, Uint16).u8(3, 0).key(partTensorsKey, Int32).u32(4).
		tensor("t10", 0, 0, 2).pad(64).zeros(64)
	tests := map[string]struct {
		change func(int, *Writer)
		move   func(path string) error
		want   string
	}{
		"missing":     {move: func(path string) error { return os.Remove(OtherParts(path)[0]) }, want: "part 2 of the 3 parts"},
		"repeated":    {move: rename(2, 1), want: "is 2, where part 2 of 3 has 1"},
		"other count": {change: set(1, "split.count", uint16(7)), want: "is 7, where part 2 of 3 has 3"},
		"no keys": {move: func(path string) error { return everything().WriteFile(OtherParts(path)[0]) },
			want: `-00002-of-00003.gguf: key "split.no": is missing: the name is that of part 2 of 3, the content is not`},
		"no number":      {change: set(1, "split.no", "one"), want: "split.no"},
		"number":         {change: set(0, "split.no", uint16(3)), want: "is 3, but there are 3 parts"},
		"second as such": {change: set(0, "split.no", uint16(1)), want: "this is part 2 of 3 of a model: give the first, whose name ends with -00001-of-00003.gguf"},
		"name":           {change: set(0, "split.count", uint16(4)), want: "whose names have to end with -00001-of-00004.gguf to -00004-of-00004.gguf"},
		"architecture":   {change: set(2, "general.architecture", "gpt2"), want: `is "gpt2", and that of the first part is "llama"`},
		"tensors":        {want: "is 4, but the parts have 5 tensors"},
		"tensors of another model": {change: func(i int, w *Writer) { w.Set("split.tensors.count", int32(5+i/2)) },
			want: "-00003-of-00003.gguf: key \"split.tensors.count\" (at 0x18): is 6, but the parts have 5 tensors"},
		"tensor twice": {change: func(i int, w *Writer) {
			if i == 2 {
				w.Tensor("t11", TensorF32, []int{1}, bytesOf(0, 4))
			}
		}, want: "-00002-of-00003.gguf has a tensor of this name, too"},
		"all but one missing": {move: func(path string) error {
			return errors.Join(os.Remove(OtherParts(path)[0]), os.Remove(OtherParts(path)[1]))
		}, want: "part 3 of the 3 parts"},
		"alignment": {move: func(path string) error { return os.WriteFile(OtherParts(path)[0], laidOutFor64, 0o666) },
			want: "-00002-of-00003.gguf: tensor data (at 0xa0): 88 bytes follow the last tensor, \"t10\", which ends at 0xa8, where padding to the alignment of 32 has fewer"},
		"too many": {change: set(0, "split.count", uint32(70000)), want: "at most 65535 are allowed"},
		"damaged":  {move: func(path string) error { return os.Truncate(OtherParts(path)[1], 40) }, want: "-00003-of-00003.gguf: "},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			path := parts(t, tt.change)
			if tt.move != nil {
				if err := tt.move(path); err != nil {
					t.Fatal(err)
				}
			}
			f, err := Open(path)
			if err == nil {
				f.Close()
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want %s", err, tt.want)
			}
		})
	}
}

// TestPartsAreCounted: the name of a first part alone makes no part of a file. Without split.count it is refused: it could
// be a model without the tensors of its other parts.
func TestPartsAreCounted(t *testing.T) {
	dir := t.TempDir()
	n := len(everything().tensors)
	for _, tt := range []struct {
		name    string
		count   any
		tensors int // what split.tensors.count says; 0: no key
		want    string
	}{
		{"m-00001-of-00003.gguf", nil, 0, "m-00001-of-00003.gguf: the name is that of part 1 of 3 of a model, but the file has no key split.count"},
		{"m-00001-of-00003.gguf", uint16(1), n, ""}, // a whole model
		{"m-00001-of-00003.gguf", uint16(0), 0, ""},
		{"m-00001-of-00003.gguf", uint16(0), n + 1, fmt.Sprintf("is %d, but the file has %d tensors, and split.count says that it is the whole model", n+1, n)},
		{"m.gguf", uint16(1), n + 1, "says that it is the whole model"},
		{"m-00001-of-00001.gguf", nil, 0, ""},
		{"m.gguf", nil, 0, ""},
	} {
		w := everything()
		if tt.count != nil {
			w.Set(partsKey, tt.count)
		}
		if tt.tensors > 0 {
			w.Set(partTensorsKey, int32(tt.tensors))
		}
		path := filepath.Join(dir, tt.name)
		if err := w.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		f, err := Open(path)
		if err == nil {
			f.Close()
		}
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s, %v parts: %v, want %q", tt.name, tt.count, err, tt.want)
		}
	}
}

func TestPartsByName(t *testing.T) {
	for path, n := range map[string]int{
		"m-00001-of-00003.gguf": 2, "d-of-e/m-00001-of-00001.gguf": 0, "m-00002-of-00003.gguf": 0, "m-00001-of-3.gguf": 0,
		"m.gguf": 0, "m-of-x.gguf": 0, "m-00001-of-00000.gguf": 0, "m-00001-of-99999.gguf": 0, "": 0,
	} {
		if got := OtherParts(path); len(got) != n {
			t.Errorf("%s: %v", path, got)
		}
	}
	if got := OtherParts("a/m-00001-of-00003.gguf"); !slices.Equal(got, []string{"a/m-00002-of-00003.gguf", "a/m-00003-of-00003.gguf"}) {
		t.Error(got)
	}
}
