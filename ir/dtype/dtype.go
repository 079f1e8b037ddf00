// Package dtype describes element types: their names, sizes and exact meaning, and the layouts in which rows of them are
// packed.
//
// A dtype stores elements in blocks. Plain types (f32, i8, …) have blocks of one element. Quantized
// types store 32 or 256 elements together with their common scale, so that a row of such a type is
// always a whole number of blocks.
//
// Every multi-byte field is little-endian, as in GGUF, on all machines. The reference codecs (Decode,
// Encode) define the formats: kernels, packers and importers are compared with them. They are written
// for clarity, not for speed.
package dtype

import "fmt"

// DType is the type of the elements of a tensor. The zero value is Invalid, so that a missing type is
// detected.
type DType uint8

// The dtypes. The order is not part of any file format.
const (
	Invalid DType = iota
	F32           // IEEE 754 binary32
	F16           // IEEE 754 binary16
	BF16          // the upper half of an F32
	F64           // IEEE 754 binary64
	I8
	I32
	I64
	U8
	Bool  // one byte: 0 or 1
	Q8_0  // 32 elements in 34 bytes: see codecQ8_0
	Q4_0  // 32 elements in 18 bytes: see codecQ4_0
	Q8A   // 32 elements in 48 bytes, for activations: see codecQ8A
	Q8A_K // 256 elements in 320 bytes, for activations: see codecQ8A_K

	// Formats with a scheme: see schemes.
	Q4_1
	Q5_0
	Q5_1
	Q2_K
	Q3_K
	Q4_K
	Q5_K
	Q6_K
	IQ4_NL
	IQ4_XS
	MXFP4

	// Formats that hold the elements of others: see expansions.
	IQ2X   // of IQ2_XXS and IQ1_S
	IQ2X16 // of IQ2_XS, IQ2_S and IQ1_M, with scales of 16 elements
	IQ3X   // of IQ3_XXS
	IQ3SX  // of IQ3_S

	// Formats that are only read: see expansions.
	IQ1_S
	IQ1_M
	IQ2_XXS
	IQ2_XS
	IQ2_S
	IQ3_XXS
	IQ3_S
	TQ1_0
	TQ2_0

	// NumDTypes is the length of a table keyed by DType.
	NumDTypes
)

// Kind is the family a dtype belongs to.
type Kind uint8

// The kinds. Bool counts as Int, with two values.
const (
	Float Kind = iota + 1
	Int
	Quant
)

// info describes a dtype.
type info struct {
	name       string
	kind       Kind
	blockElems int
	blockBytes int
	codec      codec
}

// superLen is the number of elements in the largest blocks.
const superLen = 256

// table is keyed by DType. Block sizes of the quantized formats are those of ggml's structs block_*
// (ggml-common.h). Q8A, Q8A_K, IQ2X, IQ2X16, IQ3X and IQ3SX are this
// project's own.
var table = [NumDTypes]info{
	F32:   {"f32", Float, 1, 4, codecF32},
	F16:   {"f16", Float, 1, 2, codecF16},
	BF16:  {"bf16", Float, 1, 2, codecBF16},
	F64:   {"f64", Float, 1, 8, codecF64},
	I8:    {"i8", Int, 1, 1, codecI8},
	I32:   {"i32", Int, 1, 4, codecI32},
	I64:   {"i64", Int, 1, 8, codecI64},
	U8:    {"u8", Int, 1, 1, codecU8},
	Bool:  {"bool", Int, 1, 1, codecBool},
	Q8_0:  {"q8_0", Quant, 32, 34, codecQ8_0},
	Q4_0:  {"q4_0", Quant, 32, 18, codecQ4_0},
	Q8A:   {"q8a", Quant, 32, 48, codecQ8A},
	Q8A_K: {"q8a_k", Quant, superLen, 320, codecQ8A_K},

	Q4_1:   {"q4_1", Quant, 32, 20, schemeCodec(Q4_1)},
	Q5_0:   {"q5_0", Quant, 32, 22, schemeCodec(Q5_0)},
	Q5_1:   {"q5_1", Quant, 32, 24, schemeCodec(Q5_1)},
	Q2_K:   {"q2_k", Quant, superLen, 84, schemeCodec(Q2_K)},
	Q3_K:   {"q3_k", Quant, superLen, 110, schemeCodec(Q3_K)},
	Q4_K:   {"q4_k", Quant, superLen, 144, schemeCodec(Q4_K)},
	Q5_K:   {"q5_k", Quant, superLen, 176, schemeCodec(Q5_K)},
	Q6_K:   {"q6_k", Quant, superLen, 210, schemeCodec(Q6_K)},
	IQ4_NL: {"iq4_nl", Quant, 32, 18, schemeCodec(IQ4_NL)},
	IQ4_XS: {"iq4_xs", Quant, superLen, 136, schemeCodec(IQ4_XS)},
	MXFP4:  {"mxfp4", Quant, 32, 17, schemeCodec(MXFP4)},

	IQ2X:   {"iq2x", Quant, superLen, 138, schemeCodec(IQ2X)},
	IQ2X16: {"iq2x16", Quant, superLen, 146, schemeCodec(IQ2X16)},
	IQ3X:   {"iq3x", Quant, superLen, 138, schemeCodec(IQ3X)},
	IQ3SX:  {"iq3sx", Quant, superLen, 138, schemeCodec(IQ3SX)},

	IQ1_S:   {"iq1_s", Quant, superLen, 50, expandedCodec(IQ1_S)},
	IQ1_M:   {"iq1_m", Quant, superLen, 56, expandedCodec(IQ1_M)},
	IQ2_XXS: {"iq2_xxs", Quant, superLen, 66, expandedCodec(IQ2_XXS)},
	IQ2_XS:  {"iq2_xs", Quant, superLen, 74, expandedCodec(IQ2_XS)},
	IQ2_S:   {"iq2_s", Quant, superLen, 82, expandedCodec(IQ2_S)},
	IQ3_XXS: {"iq3_xxs", Quant, superLen, 98, expandedCodec(IQ3_XXS)},
	IQ3_S:   {"iq3_s", Quant, superLen, 110, expandedCodec(IQ3_S)},
	TQ1_0:   {"tq1_0", Quant, superLen, 54, expandedCodec(TQ1_0)},
	TQ2_0:   {"tq2_0", Quant, superLen, 66, expandedCodec(TQ2_0)},
}

// Valid reports whether d is one of the declared dtypes.
func (d DType) Valid() bool { return d > Invalid && d < NumDTypes }

// String returns the name in the text form, such as "q4_0".
func (d DType) String() string {
	if !d.Valid() {
		return fmt.Sprintf("dtype(%d)", uint8(d))
	}
	return table[d].name
}

// Parse returns the dtype with the name that String gives.
func Parse(name string) (DType, error) {
	for d := range NumDTypes {
		if d.Valid() && table[d].name == name {
			return d, nil
		}
	}
	return Invalid, fmt.Errorf("unknown dtype %q: the known ones are %s", name, names())
}

// names returns all names, for an error message.
func names() string {
	s := ""
	for d := range NumDTypes {
		if d.Valid() {
			s += ", " + table[d].name
		}
	}
	return s[len(", "):]
}

// Kind returns the kind of d: float, integer or quantized.
func (d DType) Kind() Kind { return d.info().kind }

// IsQuantized reports whether elements share a scale with their block.
func (d DType) IsQuantized() bool { return d.info().kind == Quant }

// IsActivation reports whether d is a format of quantized activations. Files and states have no elements of such formats,
// and there are no matrices of them.
func (d DType) IsActivation() bool { return d == Q8A || d == Q8A_K }

// IsFloat reports whether d is an unquantized float type.
func (d DType) IsFloat() bool { return d.info().kind == Float }

// IsInt reports whether d is an integer type; Bool is one.
func (d DType) IsInt() bool { return d.info().kind == Int }

// BlockElems returns the number of elements in a block, 1 for plain types.
func (d DType) BlockElems() int { return d.info().blockElems }

// BlockBytes returns the number of bytes of a block.
func (d DType) BlockBytes() int { return d.info().blockBytes }

// RowBytes returns the bytes of a row of n elements without gaps. n must be a multiple of BlockElems,
// which callers that read n from a file have to check.
func (d DType) RowBytes(n int) int {
	t := d.info()
	if n < 0 || n%t.blockElems != 0 {
		panic(fmt.Sprintf("dtype: internal error: a row of %d elements of %v is no whole number of blocks", n, d))
	}
	return n / t.blockElems * t.blockBytes
}

// Bytes returns the bytes of n elements stored without gaps. n is a number of rows, each a whole number
// of blocks.
func (d DType) Bytes(n int) int { return d.RowBytes(n) }

// info returns the entry of the table. A dtype outside the table is an internal error.
func (d DType) info() *info {
	if !d.Valid() {
		panic(fmt.Sprintf("dtype: internal error: %v", d))
	}
	return &table[d]
}
