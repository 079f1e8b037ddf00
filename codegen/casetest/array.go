package casetest

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/runtime"
)

// maxArray limits the bytes that are read of an array's file.
const maxArray = 1 << 30

// WriteArray writes a tensor to a file in NumPy's format; dt is f32, f16 or i32.
func WriteArray(path string, dt dtype.DType, x eval.Tensor) error {
	var data []byte
	for _, v := range x.Dense().Flat() {
		switch dt {
		case dtype.I32:
			data = binary.LittleEndian.AppendUint32(data, uint32(int32(v)))
		case dtype.F16:
			data = binary.LittleEndian.AppendUint16(data, dtype.F32ToF16(float32(v)))
		default:
			data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(v)))
		}
	}
	var b bytes.Buffer
	if err := runtime.WriteNPY(&b, runtime.Array{Type: dt, Shape: x.Shape, Data: data}); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// ReadArray reads a tensor from a file in NumPy's format.
func ReadArray(path string) (eval.Tensor, error) {
	f, err := os.Open(path)
	if err != nil {
		return eval.Tensor{}, err
	}
	defer f.Close()
	a, err := runtime.ReadNPY(f, maxArray)
	if err != nil {
		return eval.Tensor{}, err
	}
	return eval.Decode(a.Type, a.Data, a.Shape...)
}
