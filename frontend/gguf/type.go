package gguf

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// ValueType is the type of a key's value (enum gguf_type in ggml's gguf.h).
type ValueType uint32

// The value types.
const (
	Uint8 ValueType = iota
	Int8
	Uint16
	Int16
	Uint32
	Int32
	Float32
	Bool
	String
	Array
	Uint64
	Int64
	Float64
	numValueTypes
)

// valueTypes is indexed by ValueType. size is 0 for types of variable size.
var valueTypes = [numValueTypes]struct {
	name string
	size int
}{
	Uint8: {"u8", 1}, Int8: {"i8", 1}, Uint16: {"u16", 2}, Int16: {"i16", 2},
	Uint32: {"u32", 4}, Int32: {"i32", 4}, Float32: {"f32", 4}, Bool: {"bool", 1},
	String: {"string", 0}, Array: {"array", 0},
	Uint64: {"u64", 8}, Int64: {"i64", 8}, Float64: {"f64", 8},
}

// String returns the name, such as "u32".
func (t ValueType) String() string {
	if t >= numValueTypes {
		return fmt.Sprintf("value type %d", int32(t))
	}
	return valueTypes[t].name
}

// size returns the bytes of a value of fixed size, or 0 for other types.
func (t ValueType) size() int { return valueTypes[t].size }

// isInt reports whether t is an integer type.
func (t ValueType) isInt() bool {
	return t <= Int32 || t == Uint64 || t == Int64
}

// TensorType is the type of a tensor's elements (enum ggml_type in ggml.h).
type TensorType uint32

// Some of the tensor types, and NVFP4, which has no dtype.
const (
	TensorF32    TensorType = 0
	TensorF16    TensorType = 1
	TensorQ4_0   TensorType = 2
	TensorQ8_0   TensorType = 8
	TensorQ4_K   TensorType = 12
	TensorIQ2_XS TensorType = 17
	TensorI8     TensorType = 24
	TensorI32    TensorType = 26
	TensorI64    TensorType = 27
	TensorF64    TensorType = 28
	TensorBF16   TensorType = 30
	TensorTQ2_0  TensorType = 35
	TensorNVFP4  TensorType = 40
)

// tensorType describes one of ggml's types. If elems is 0, ggml has removed the type. If dtype is Invalid, this
// project cannot compute with it yet.
type tensorType struct {
	name  string
	elems int // in a block
	bytes int // of a block
	dtype dtype.DType
}

// tensorTypes is indexed by TensorType. Names are those of ggml's type_traits (ggml.c), block sizes those of the
// structs in ggml-common.h. ggml never used the numbers that are missing.
var tensorTypes = [...]tensorType{
	0:  {"f32", 1, 4, dtype.F32},
	1:  {"f16", 1, 2, dtype.F16},
	2:  {"q4_0", 32, 18, dtype.Q4_0},
	3:  {"q4_1", 32, 20, dtype.Q4_1},
	4:  {"q4_2", 0, 0, 0},
	5:  {"q4_3", 0, 0, 0},
	6:  {"q5_0", 32, 22, dtype.Q5_0},
	7:  {"q5_1", 32, 24, dtype.Q5_1},
	8:  {"q8_0", 32, 34, dtype.Q8_0},
	9:  {"q8_1", 32, 36, 0},
	10: {"q2_K", 256, 84, dtype.Q2_K},
	11: {"q3_K", 256, 110, dtype.Q3_K},
	12: {"q4_K", 256, 144, dtype.Q4_K},
	13: {"q5_K", 256, 176, dtype.Q5_K},
	14: {"q6_K", 256, 210, dtype.Q6_K},
	15: {"q8_K", 256, 292, 0},
	16: {"iq2_xxs", 256, 66, dtype.IQ2_XXS},
	17: {"iq2_xs", 256, 74, dtype.IQ2_XS},
	18: {"iq3_xxs", 256, 98, dtype.IQ3_XXS},
	19: {"iq1_s", 256, 50, dtype.IQ1_S},
	20: {"iq4_nl", 32, 18, dtype.IQ4_NL},
	21: {"iq3_s", 256, 110, dtype.IQ3_S},
	22: {"iq2_s", 256, 82, dtype.IQ2_S},
	23: {"iq4_xs", 256, 136, dtype.IQ4_XS},
	24: {"i8", 1, 1, dtype.I8},
	25: {"i16", 1, 2, 0},
	26: {"i32", 1, 4, dtype.I32},
	27: {"i64", 1, 8, dtype.I64},
	28: {"f64", 1, 8, dtype.F64},
	29: {"iq1_m", 256, 56, dtype.IQ1_M},
	30: {"bf16", 1, 2, dtype.BF16},
	31: {"q4_0_4_4", 0, 0, 0},
	32: {"q4_0_4_8", 0, 0, 0},
	33: {"q4_0_8_8", 0, 0, 0},
	34: {"tq1_0", 256, 54, dtype.TQ1_0},
	35: {"tq2_0", 256, 66, dtype.TQ2_0},
	36: {"iq4_nl_4_4", 0, 0, 0},
	37: {"iq4_nl_4_8", 0, 0, 0},
	38: {"iq4_nl_8_8", 0, 0, 0},
	39: {"mxfp4", 32, 17, dtype.MXFP4},
	40: {"nvfp4", 64, 36, 0},
	41: {"q1_0", 128, 18, 0},
	42: {"q2_0", 64, 18, 0},
}

// info returns the table's entry, or the zero entry for a number that is not in the table.
func (t TensorType) info() tensorType {
	if uint64(t) < uint64(len(tensorTypes)) {
		return tensorTypes[t]
	}
	return tensorType{}
}

// String returns ggml's name of the type, such as "q4_K".
func (t TensorType) String() string {
	if n := t.info().name; n != "" {
		return n
	}
	return fmt.Sprintf("type %d", int32(t))
}

// Block returns the elements and bytes of a block, or zeros for a type without a known size.
func (t TensorType) Block() (elems, bytes int) {
	i := t.info()
	return i.elems, i.bytes
}

// The types that ik_llama.cpp adds to those of ggml are in this range (its ggml.h of November 2026: q6_0 is 133,
// q8_k_r8 399). There are popular files of iq4_ks, iq5_k and others.
const (
	firstForkType TensorType = 133
	lastForkType  TensorType = 399
)

// check returns the reason why tensors of this type cannot be read, or nil if they can.
func (t TensorType) check() error {
	switch i := t.info(); {
	case i.name == "" && firstForkType <= t && t <= lastForkType:
		return fmt.Errorf("tensor type %d is none of ggml: files with types %d to %d are made by ik_llama.cpp: take a file with ggml's types, such as q4_K, or quantize the model again",
			int32(t), firstForkType, lastForkType)
	case i.name == "":
		return fmt.Errorf("tensor type %d is unknown: the file is damaged, or made by a newer ggml than this reader knows, whose last type is %d (%v)",
			int32(t), len(tensorTypes)-1, TensorType(len(tensorTypes)-1))
	case i.elems == 0:
		return fmt.Errorf("tensor type %d (%s) was removed from ggml: convert the model again", int32(t), i.name)
	}
	return nil
}

// DType returns the dtype that this project computes with, or an error that states what to do.
func (t TensorType) DType() (dtype.DType, error) {
	if err := t.check(); err != nil {
		return dtype.Invalid, err
	}
	if d := t.info().dtype; d.Valid() {
		return d, nil
	}
	near := ""
	if n, ok := nearest[t]; ok {
		near = fmt.Sprintf("%v, which is nearest, or another ", n)
	}
	return dtype.Invalid, fmt.Errorf("type %v is not supported yet: convert the model to %sone of %s", t, near, weightTypes())
}

// nearest are the types with a dtype that are most like those without.
var nearest = map[TensorType]TensorType{
	9:           TensorQ8_0, // q8_1
	15:          TensorQ8_0, // q8_K
	TensorNVFP4: 39,         // mxfp4
	41:          34,         // q1_0: tq1_0
	42:          35,         // q2_0: tq2_0
}

// weightTypes returns ggml's names of the float and block types that have a dtype, for an error message.
func weightTypes() string {
	s := ""
	for _, i := range tensorTypes {
		if i.dtype.Valid() && !i.dtype.IsInt() && i.dtype != dtype.F64 {
			s += ", " + i.name
		}
	}
	return s[len(", "):]
}

// TypeOf returns the tensor type that stores elements of d. Bool, U8, Q8A and Q8A_K have none.
func TypeOf(d dtype.DType) (TensorType, error) {
	for t, i := range tensorTypes {
		if d.Valid() && i.dtype == d {
			return TensorType(t), nil
		}
	}
	return 0, fmt.Errorf("GGUF has no tensor type for %v", d)
}
