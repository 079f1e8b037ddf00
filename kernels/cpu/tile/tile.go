// Package tile is the data that compiler and kernels share: the tiles of matrix products, the layout of
// packed weights in memory, and the owners of the ranges of a result. The compiler packs with it,
// kernels and their tests read with it.
package tile

import "github.com/ggmlc/ggmlc/ir/dtype"

// Feature names what a processor must have for an implementation. Its values are the
// names that --cpu and GGMLC_REQUIRE take.
type Feature string

// The implementations' features, from the least to the most demanding. Each one's set
// includes the one before it, but that AVX512 does without AVXVNNI and AMX without AVX512BF16.
const (
	Generic    Feature = "generic"    // nothing: pure Go
	AVX2       Feature = "avx2"       // AVX2, FMA and F16C
	AVXVNNI    Feature = "avxvnni"    // AVX-VNNI as well, which processors have that lack AVX-512
	AVX512     Feature = "avx512"     // AVX-512 F, BW, DQ and VL as well
	AVX512VNNI Feature = "avx512vnni" // AVX-512 VNNI as well
	AVX512BF16 Feature = "avx512bf16" // AVX-512 BF16 as well
	AMX        Feature = "amx"        // tile registers with bfloat16 and bytes: AMX-TILE, AMX-BF16 and AMX-INT8
)

// Tile is one register tile of y[t, n] = Σk x[t, k]·w[n, k].
type Tile struct {
	Weight     dtype.DType  // dtype of w
	Activation dtype.DType  // dtype of x
	Layout     dtype.Layout // of w
	Feature    Feature
	M0         int // rows of x in the largest tile; smaller ones exist down to 1
	K0         int // step along k

	// N and V are the rows of w of all tiles, for several rows of x and for one. The defaults among
	// them are predicted (Choices). Formats with a scheme, and q8_0 with AVX2, have no choice of tiles for several rows.
	N, V []int
}

// Table lists the tiles. A weight dtype has one activation dtype and one layout on all processors, as
// packed weights and planned sizes must not depend on the processor.
var Table = []Tile{
	{dtype.F32, dtype.F32, dtype.R16, Generic, 1, 1, []int{16}, []int{16}},
	{dtype.F32, dtype.F32, dtype.R16, AVX2, 4, 1, []int{16}, []int{64, 32, 16}},
	{dtype.F32, dtype.F32, dtype.R16, AVX512, 8, 1, []int{32, 16}, []int{64, 32, 16}},
	{dtype.F16, dtype.F32, dtype.R16, Generic, 1, 1, []int{16}, []int{16}},
	{dtype.F16, dtype.F32, dtype.R16, AVX2, 4, 1, []int{16}, []int{64, 32, 16}},
	{dtype.F16, dtype.F32, dtype.R16, AVX512, 8, 1, []int{32, 16}, []int{64, 32, 16}},
	{dtype.BF16, dtype.BF16, dtype.R16, Generic, 1, 1, []int{16}, []int{16}},
	{dtype.BF16, dtype.BF16, dtype.R16, AVX2, 6, 1, []int{16}, []int{64, 32, 16}},
	{dtype.BF16, dtype.BF16, dtype.R16, AVX512, 8, 1, []int{32, 16}, []int{64, 32, 16}},
	{dtype.BF16, dtype.BF16, dtype.R16, AVX512BF16, 12, 1, []int{32, 16}, []int{64, 32, 16}},
	{dtype.Q8_0, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.Q8_0, dtype.Q8A, dtype.R16, AVX2, 2, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q8_0, dtype.Q8A, dtype.R16, AVXVNNI, 8, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q8_0, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{32, 16}, []int{64, 32, 16}},
	{dtype.Q4_0, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.Q4_0, dtype.Q8A, dtype.R16, AVX2, 6, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q4_0, dtype.Q8A, dtype.R16, AVXVNNI, 8, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q4_0, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{32, 16}, []int{64, 32, 16}},
	{dtype.Q4_1, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.Q4_1, dtype.Q8A, dtype.R16, AVX2, 6, 32, []int{16}, []int{16}},
	{dtype.Q4_1, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q5_0, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.Q5_0, dtype.Q8A, dtype.R16, AVX2, 6, 32, []int{16}, []int{16}},
	{dtype.Q5_0, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q5_1, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.Q5_1, dtype.Q8A, dtype.R16, AVX2, 6, 32, []int{16}, []int{16}},
	{dtype.Q5_1, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{16}, []int{64, 32, 16}},
	{dtype.Q2_K, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.Q2_K, dtype.Q8A_K, dtype.R16, AVX2, 6, 256, []int{16}, []int{32, 16}},
	{dtype.Q2_K, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.Q3_K, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.Q3_K, dtype.Q8A_K, dtype.R16, AVX2, 6, 256, []int{16}, []int{32, 16}},
	{dtype.Q3_K, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.Q4_K, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.Q4_K, dtype.Q8A_K, dtype.R16, AVX2, 6, 256, []int{16}, []int{32, 16}},
	{dtype.Q4_K, dtype.Q8A_K, dtype.R16, AVXVNNI, 4, 256, []int{16}, []int{32, 16}},
	{dtype.Q4_K, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.Q5_K, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.Q5_K, dtype.Q8A_K, dtype.R16, AVX2, 6, 256, []int{16}, []int{32, 16}},
	{dtype.Q5_K, dtype.Q8A_K, dtype.R16, AVXVNNI, 6, 256, []int{16}, []int{32, 16}},
	{dtype.Q5_K, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.Q6_K, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.Q6_K, dtype.Q8A_K, dtype.R16, AVX2, 4, 256, []int{16}, []int{32, 16}},
	{dtype.Q6_K, dtype.Q8A_K, dtype.R16, AVXVNNI, 4, 256, []int{16}, []int{32, 16}},
	{dtype.Q6_K, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.IQ4_NL, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.IQ4_NL, dtype.Q8A, dtype.R16, AVX2, 4, 32, []int{16}, []int{16}},
	{dtype.IQ4_NL, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{16}, []int{64, 32, 16}},
	{dtype.IQ4_XS, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.IQ4_XS, dtype.Q8A_K, dtype.R16, AVX2, 4, 256, []int{16}, []int{32, 16}},
	{dtype.IQ4_XS, dtype.Q8A_K, dtype.R16, AVXVNNI, 6, 256, []int{16}, []int{32, 16}},
	{dtype.IQ4_XS, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.MXFP4, dtype.Q8A, dtype.R16, Generic, 1, 32, []int{16}, []int{16}},
	{dtype.MXFP4, dtype.Q8A, dtype.R16, AVX2, 6, 32, []int{16}, []int{16}},
	{dtype.MXFP4, dtype.Q8A, dtype.R16, AVX512VNNI, 6, 32, []int{16}, []int{64, 32, 16}},
	{dtype.IQ2X, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.IQ2X, dtype.Q8A_K, dtype.R16, AVX2, 4, 256, []int{16}, []int{32, 16}},
	{dtype.IQ2X, dtype.Q8A_K, dtype.R16, AVXVNNI, 6, 256, []int{16}, []int{32, 16}},
	{dtype.IQ2X, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.IQ2X16, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.IQ2X16, dtype.Q8A_K, dtype.R16, AVX2, 4, 256, []int{16}, []int{32, 16}},
	{dtype.IQ2X16, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.IQ3X, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.IQ3X, dtype.Q8A_K, dtype.R16, AVX2, 4, 256, []int{16}, []int{32, 16}},
	{dtype.IQ3X, dtype.Q8A_K, dtype.R16, AVXVNNI, 6, 256, []int{16}, []int{32, 16}},
	{dtype.IQ3X, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
	{dtype.IQ3SX, dtype.Q8A_K, dtype.R16, Generic, 1, 256, []int{16}, []int{16}},
	{dtype.IQ3SX, dtype.Q8A_K, dtype.R16, AVX2, 6, 256, []int{16}, []int{32, 16}},
	{dtype.IQ3SX, dtype.Q8A_K, dtype.R16, AVX512VNNI, 12, 256, []int{16}, []int{64, 32, 16}},
}

// Activation returns the dtype that x must have for weights of dtype w, and false if
// there is no matrix product for w.
func Activation(w dtype.DType) (dtype.DType, bool) {
	for i := range Table {
		if Table[i].Weight == w {
			return Table[i].Activation, true
		}
	}
	return dtype.Invalid, false
}

// ColumnGranule is the granule of columns of a matrix product's result: the rows of a
// panel of weights. Ranges of columns begin at its multiples.
const ColumnGranule = dtype.PanelRows

// BlockGranule is the granule of columns where one operand or the result is quantized:
// a block's elements share a scale.
const BlockGranule = 32
