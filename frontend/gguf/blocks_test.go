package gguf

import (
	"slices"
	"testing"
)

// TestBlocksHaveTheSizesOfTheirFields: tensors of types that no kernel computes with are still measured, so that
// the tensors after them are found. A block's bytes are the sum of its fields, as ggml-common.h declares them.
func TestBlocksHaveTheSizesOfTheirFields(t *testing.T) {
	const half, float = 2, 4
	bits := func(n, elems int) int { return n * elems / 8 }
	for name, want := range map[string][2]int{
		"q4_0":    {32, half + bits(4, 32)},
		"q4_1":    {32, half + half + bits(4, 32)},
		"q5_0":    {32, half + bits(1, 32) + bits(4, 32)},
		"q5_1":    {32, half + half + bits(1, 32) + bits(4, 32)},
		"q8_0":    {32, half + bits(8, 32)},
		"q8_1":    {32, half + half + bits(8, 32)},
		"q2_K":    {256, 256/16 + bits(2, 256) + half + half},
		"q3_K":    {256, bits(1, 256) + bits(2, 256) + 12 + half},
		"q4_K":    {256, half + half + 12 + bits(4, 256)},
		"q5_K":    {256, half + half + 12 + bits(1, 256) + bits(4, 256)},
		"q6_K":    {256, bits(4, 256) + bits(2, 256) + 256/16 + half},
		"q8_K":    {256, float + bits(8, 256) + 2*256/16},
		"iq2_xxs": {256, half + 2*256/8},
		"iq2_xs":  {256, half + 2*256/8 + 256/32},
		"iq2_s":   {256, half + bits(2, 256) + 256/32 + 256/32},
		"iq3_xxs": {256, half + 3*256/8},
		"iq3_s":   {256, half + 256/4 + 256/32 + 256/8 + 256/64},
		"iq1_s":   {256, half + 256/8 + 2*256/32},
		"iq1_m":   {256, 256/8 + 256/16 + 256/32},
		"iq4_nl":  {32, half + bits(4, 32)},
		"iq4_xs":  {256, half + 2 + 256/64 + bits(4, 256)},
		"tq1_0":   {256, (256-4*256/64)/5 + 256/64 + half},
		"tq2_0":   {256, bits(2, 256) + half},
		"mxfp4":   {32, 1 + bits(4, 32)},
		"nvfp4":   {64, 64/16 + bits(4, 64)},
		"i16":     {1, 2},
	} {
		typ := TensorType(slices.IndexFunc(tensorTypes[:], func(info tensorType) bool { return info.name == name }))
		if elems, bytes := typ.Block(); elems != want[0] || bytes != want[1] {
			t.Errorf("%s: %d elements in %d bytes, want %d in %d", name, elems, bytes, want[0], want[1])
		}
	}
	for i, info := range tensorTypes {
		if d := info.dtype; d.Valid() && (info.elems != d.BlockElems() || info.bytes != d.BlockBytes()) {
			t.Errorf("type %d, %s: %d elements in %d bytes, the dtype has %d in %d", i, info.name, info.elems, info.bytes, d.BlockElems(), d.BlockBytes())
		}
	}
}
