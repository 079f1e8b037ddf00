package runtime

import (
	"fmt"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestSlicesHaveTheTypesOfTensors: Call takes and fills slices whose elements are those of the tensor. 16-bit
// floats are uint16; there is no slice for quantized blocks.
func TestSlicesHaveTheTypesOfTensors(t *testing.T) {
	for _, c := range []struct {
		in, out any
		size    int
		types   []dtype.DType
	}{
		{make([]float32, 3), new([]float32), 4, []dtype.DType{dtype.F32}},
		{make([]float64, 3), new([]float64), 8, []dtype.DType{dtype.F64}},
		{make([]int8, 3), new([]int8), 1, []dtype.DType{dtype.I8}},
		{make([]int32, 3), new([]int32), 4, []dtype.DType{dtype.I32}},
		{make([]int64, 3), new([]int64), 8, []dtype.DType{dtype.I64}},
		{make([]uint8, 3), new([]uint8), 1, []dtype.DType{dtype.U8}},
		{make([]uint16, 3), new([]uint16), 2, []dtype.DType{dtype.F16, dtype.BF16}},
		{make([]bool, 3), new([]bool), 1, []dtype.DType{dtype.Bool}},
		{make([]string, 3), new([]string), 0, nil},
	} {
		t.Run(fmt.Sprintf("%T", c.in), func(t *testing.T) {
			for d := range dtype.NumDTypes {
				want := slices.Contains(c.types, d)
				if b, ok := bytesOf(c.in, d); ok != want || len(b) != 3*c.size {
					t.Errorf("%v: %d bytes, %t, want %d, %t", d, len(b), ok, 3*c.size, want)
				}
				if holds(c.out, d) != want {
					t.Errorf("%v: may be filled: %t", d, !want)
				}
			}
		})
	}
}
