package e2etest

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
)

// CopyFile copies the contents of a file.
func CopyFile(t testing.TB, from, to string) { WriteFile(t, to, ReadFile(t, from)) }

// ReadFile returns the contents of a file.
func ReadFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// WriteFile writes a file that is no program.
func WriteFile(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// Array is an argument of a call: zeros, or integers.
type Array struct {
	DType dtype.DType
	Shape []int
	Ints  []int32
}

// NPY returns the array as a file.
func (a Array) NPY(t *testing.T) []byte {
	t.Helper()
	elems := 1
	for _, n := range a.Shape {
		elems *= n
	}
	data := make([]byte, 0, 4*elems)
	for _, x := range a.Ints {
		data = binary.LittleEndian.AppendUint32(data, uint32(x))
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: a.DType, Shape: a.Shape, Data: data[:4*elems]}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
