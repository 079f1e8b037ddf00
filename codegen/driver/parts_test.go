package driver_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/frontend/gguf"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestPartsMakeTheSameModel compares the module, the vocabulary and all weights of a file with those of the same file in
// two parts: the keys, and the tensors.
func TestPartsMakeTheSameModel(t *testing.T) {
	path := needtest.Data(t, "aidreams260K.gguf")
	parted := divide(t, path, filepath.Join(t.TempDir(), "m"))
	whole, both := load(t, path), load(t, parted)
	withoutSource := func(md *driver.Model) string {
		var lines []string
		for line := range strings.Lines(md.Module.String()) {
			if !strings.HasPrefix(line, "source ") {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	if withoutSource(whole) != withoutSource(both) || !bytes.Equal(whole.Tokenizer, both.Tokenizer) {
		t.Error("the module or the vocabulary is another")
	}
	f, err := gguf.Open(parted)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const tensors = 39
	if f.NumTensors() != tensors {
		t.Errorf("%d tensors", f.NumTensors())
	}
	for w := range f.Tensors() {
		if a, b := rows(t, whole, w.Name), rows(t, both, w.Name); !bytes.Equal(a, b) {
			t.Errorf("%s is another", w.Name)
		}
	}
}

func load(t *testing.T, path string) *driver.Model {
	t.Helper()
	md, err := driver.Load(t.Context(), path, driver.LoadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { md.Close() })
	return md
}

// rows returns the bytes of a tensor of the module's source.
func rows(t *testing.T, md *driver.Model, name string) []byte {
	t.Helper()
	r, err := md.Tensor(md.Module.Sources[0].Name, name)
	if err != nil {
		t.Fatal(err)
	}
	n, cols := r.Shape()
	elems, size := r.DType().BlockElems(), r.DType().BlockBytes()
	b := make([]byte, n*cols/int64(elems)*int64(size))
	if err := r.ReadRows(t.Context(), b, 0, n); err != nil {
		t.Fatal(err)
	}
	return b
}

// divide writes the file at path in two parts and returns the path of the first. The first has the bytes of the keys,
// three more keys, and no tensor.
func divide(t *testing.T, path, prefix string) string {
	t.Helper()
	f, err := gguf.OpenPart(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	second := gguf.NewWriter()
	second.Set("split.no", uint16(1))
	second.Set("split.count", uint16(2))
	keys := int64(-1) // where they end
	for tensor := range f.Tensors() {
		if keys < 0 {
			keys = tensor.Entry
		}
		second.Tensor(tensor.Name, tensor.Type, tensor.Shape, func(w io.Writer) error {
			b := make([]byte, tensor.Size)
			if err := f.ReadTensor(tensor, 0, b); err != nil {
				return err
			}
			_, err := w.Write(b)
			return err
		})
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	le := binary.LittleEndian
	first := append([]byte{}, data[:8]...)
	first = le.AppendUint64(first, 0)
	first = le.AppendUint64(first, uint64(f.NumKeys())+3)
	first = append(first, data[24:keys]...)
	for key, v := range map[string]uint16{"split.no": 0, "split.count": 2, "split.tensors.count": uint16(f.NumTensors())} {
		const u16 = 2 // gguf_metadata_value_type
		first = append(le.AppendUint64(first, uint64(len(key))), key...)
		first = le.AppendUint16(le.AppendUint32(first, u16), v)
	}
	if err := os.WriteFile(prefix+"-00001-of-00002.gguf", first, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := second.WriteFile(prefix + "-00002-of-00002.gguf"); err != nil {
		t.Fatal(err)
	}
	return prefix + "-00001-of-00002.gguf"
}
