package dtype

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// codec converts one block. The slices have exactly its elements and bytes.
type codec struct {
	decode func(dst []float64, src []byte)
	encode func(dst []byte, src []float32) error
}

// Decode converts len(dst) elements of type d to float64. The result is exact, except for integers
// beyond 2^53, which are rounded. dst must have a whole number of blocks and src exactly their bytes.
// Rows may be converted one after another.
func Decode(d DType, dst []float64, src []byte) error {
	if err := checkLengths(d, len(dst), len(src)); err != nil {
		return err
	}
	t := d.info()
	for len(dst) > 0 {
		t.codec.decode(dst[:t.blockElems], src[:t.blockBytes])
		dst, src = dst[t.blockElems:], src[t.blockBytes:]
	}
	return nil
}

// DecodeFloat32 is Decode with results rounded to float32, which changes only F64, Q8A, Q8A_K, formats with mins and
// integers beyond 2^24.
func DecodeFloat32(d DType, dst []float32, src []byte) error {
	if err := checkLengths(d, len(dst), len(src)); err != nil {
		return err
	}
	switch d { // at once, as whole models are converted
	case F16:
		for i := range dst {
			dst[i] = F16ToF32(le.Uint16(src[2*i:]))
		}
		return nil
	case BF16:
		for i := range dst {
			dst[i] = BF16ToF32(le.Uint16(src[2*i:]))
		}
		return nil
	}
	t := d.info()
	var block [superLen]float64
	for len(dst) > 0 {
		t.codec.decode(block[:t.blockElems], src[:t.blockBytes])
		for i, v := range block[:t.blockElems] {
			dst[i] = float32(v)
		}
		dst, src = dst[t.blockElems:], src[t.blockBytes:]
	}
	return nil
}

// Encode converts src to type d. The lengths must match as for Decode. Floats are rounded to nearest,
// ties to even. Integer types accept only values that they represent exactly. Q8_0 and Q4_0 use the
// algorithm of their format's reference quantizer, formats with a scheme the search that encoder describes.
// Quantized types reject values for which it is undefined: NaN, infinities, and blocks whose scale is not a finite
// float16. The error names the first such element, counted from the start of src.
func Encode(d DType, dst []byte, src []float32) error {
	if err := checkLengths(d, len(src), len(dst)); err != nil {
		return err
	}
	t := d.info()
	for i := 0; i < len(src); i += t.blockElems {
		if err := t.codec.encode(dst[:t.blockBytes], src[i:i+t.blockElems]); err != nil {
			var bad *elementError
			if errors.As(err, &bad) {
				bad.index += i
			}
			return err
		}
		dst = dst[t.blockBytes:]
	}
	return nil
}

// CountFrom makes an error of Encode count elements from first on: those of a matrix of which Encode has seen a part.
func CountFrom(first int64, err error) error {
	var bad *elementError
	if errors.As(err, &bad) {
		bad.index += int(first)
	}
	return err
}

// checkLengths checks that n elements are whole blocks of d and take the given bytes.
func checkLengths(d DType, n, bytes int) error {
	if !d.Valid() {
		return fmt.Errorf("%v is no dtype", d)
	}
	if n%d.BlockElems() != 0 {
		return fmt.Errorf("%d elements are no whole number of %v blocks of %d", n, d, d.BlockElems())
	}
	if want := d.RowBytes(n); want != bytes {
		return fmt.Errorf("%d elements of %v take %d bytes, not %d", n, d, want, bytes)
	}
	return nil
}

// elementError is an error about an element.
type elementError struct {
	index int
	value float32
	why   string
}

func (e *elementError) Error() string {
	return fmt.Sprintf("element %d is %v: %s", e.index, e.value, e.why)
}

var le = binary.LittleEndian

// codecF32 is IEEE 754 binary32.
var codecF32 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(math.Float32frombits(le.Uint32(src))) },
	encode: func(dst []byte, src []float32) error {
		le.PutUint32(dst, math.Float32bits(src[0]))
		return nil
	},
}

// codecF16 is IEEE 754 binary16.
var codecF16 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(F16ToF32(le.Uint16(src))) },
	encode: func(dst []byte, src []float32) error {
		le.PutUint16(dst, F32ToF16(src[0]))
		return nil
	},
}

// codecBF16 is the upper half of an IEEE 754 binary32.
var codecBF16 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(BF16ToF32(le.Uint16(src))) },
	encode: func(dst []byte, src []float32) error {
		le.PutUint16(dst, F32ToBF16(src[0]))
		return nil
	},
}

// codecF64 is IEEE 754 binary64.
var codecF64 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = math.Float64frombits(le.Uint64(src)) },
	encode: func(dst []byte, src []float32) error {
		le.PutUint64(dst, math.Float64bits(float64(src[0])))
		return nil
	},
}

// codecI8 is a signed byte.
var codecI8 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(int8(src[0])) },
	encode: func(dst []byte, src []float32) error {
		v, err := integer(src[0], math.MinInt8, math.MaxInt8+1)
		dst[0] = byte(v)
		return err
	},
}

// codecU8 is an unsigned byte.
var codecU8 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(src[0]) },
	encode: func(dst []byte, src []float32) error {
		v, err := integer(src[0], 0, math.MaxUint8+1)
		dst[0] = byte(v)
		return err
	},
}

// codecBool is a byte that is 0 or 1; any other byte reads as true, as in C.
var codecBool = codec{
	decode: func(dst []float64, src []byte) {
		dst[0] = 0
		if src[0] != 0 {
			dst[0] = 1
		}
	},
	encode: func(dst []byte, src []float32) error {
		v, err := integer(src[0], 0, 2)
		dst[0] = byte(v)
		return err
	},
}

// codecI32 is a signed integer in two's complement.
var codecI32 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(int32(le.Uint32(src))) },
	encode: func(dst []byte, src []float32) error {
		v, err := integer(src[0], math.MinInt32, math.MaxInt32+1)
		le.PutUint32(dst, uint32(v))
		return err
	},
}

// codecI64 is a signed integer in two's complement.
var codecI64 = codec{
	decode: func(dst []float64, src []byte) { dst[0] = float64(int64(le.Uint64(src))) },
	encode: func(dst []byte, src []float32) error {
		v, err := integer(src[0], math.MinInt64, 1<<63)
		le.PutUint64(dst, uint64(v))
		return err
	},
}

// integer converts f, which must be whole and in [lo, end). The bounds are powers of two
// or zero, so float32 holds them exactly; NaN fails the comparison.
func integer(f, lo, end float32) (int64, error) {
	if !(f >= lo && f < end) || float64(f) != math.Trunc(float64(f)) {
		return 0, &elementError{value: f, why: fmt.Sprintf("no integer from %.0f up to, not including, %.0f", lo, end)}
	}
	return int64(f), nil
}
