//go:build !purego

package cpu

// The assembly tiles by format. With float weights a single row of x takes as many panels
// at once as hide the latency of its sums; integer sums of a block are short, and two panels
// are enough to read memory in two places (matvec). Up to 8 rows, those of sequences that
// generate together, take one panel at once, so that each panel is read and unpacked once:
// 8 rows by 2 panels of q4_0, as 6 and 2, take 9.1 ms where 8 by 1 take 5.2 (100 MiB). More rows take the largest tile
// that registers hold, or the one that loads least: with VNNI, 6 rows by 2 panels reach 0.75 of the peak, 4 by 2 0.73,
// 8 by 1 0.69 (Zen 5, one thread).

var avx2MatMul = [numFormats]tileSet{
	formatF32: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileF32AVX2r1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileF32AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{4, tileF32AVX2r4p1}, {2, tileF32AVX2r2p1}, {1, tileF32AVX2r1p1}}},
	},
	formatF16: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileF16AVX2r1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileF16AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{4, tileF16AVX2r4p1}, {2, tileF16AVX2r2p1}, {1, tileF16AVX2r1p1}}},
	},
	formatBF16: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileBF16AVX2r1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileBF16AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{1, tileBF16AVX2r1p1}}},
	},
	formatQ8: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ8AVX2r1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ8AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{1, tileQ8AVX2r1p1}}},
	},
	formatQ4: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ4AVX2r1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4AVX2r1p2}}},
		{panels: 1, ahead: true, tiles: []rowTile{{8, tileQ4AVX2r8p1}, {4, tileQ4AVX2r4p1}, {2, tileQ4AVX2r2p1}, {1, tileQ4AVX2r1p1}}},
	},
}

// avx2Widened is the tiles of bfloat16 for several rows of x.
var avx2Widened = []widenedTile{{6, widenedBF16AVX2r6p1}, {4, widenedBF16AVX2r4p1}, {2, widenedBF16AVX2r2p1}}

// avx2Q8 is the tiles of q8_0 for several rows of x.
var avx2Q8 = signedTiles{
	matmul: tileSet{
		{panels: 2, tiles: []rowTile{{2, tileSignsQ8AVX2r2p2}, {1, tileSignsQ8AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{2, tileSignsQ8AVX2r2p1}, {1, tileSignsQ8AVX2r1p1}}},
	},
	swiglu: tileSet{{panels: 1, tiles: []rowTile{{2, swigluSignsQ8AVX2r2}}}},
	boundedMatMul: tileSet{
		{panels: 2, tiles: []rowTile{{4, tileBoundedQ8AVX2r4p2}, {2, tileBoundedQ8AVX2r2p2}, {1, tileBoundedQ8AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{2, tileBoundedQ8AVX2r2p1}, {1, tileBoundedQ8AVX2r1p1}}},
	},
	boundedSwiGLU: tileSet{
		{panels: 1, tiles: []rowTile{{4, swigluBoundedQ8AVX2r4}, {2, swigluBoundedQ8AVX2r2}}},
	},
	take: takeSignsAVX2,
}

var avx2SwiGLU = [numFormats]tileSet{
	formatF32: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluF32AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{2, swigluF32AVX2r2}, {1, swigluF32AVX2r1}}},
	},
	formatF16: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluF16AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{2, swigluF16AVX2r2}, {1, swigluF16AVX2r1}}},
	},
	formatBF16: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluBF16AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{1, swigluBF16AVX2r1}}},
	},
	formatQ8: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ8AVX2r1p2}}},
		{panels: 1, tiles: []rowTile{{1, swigluQ8AVX2r1}}},
	},
	formatQ4: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ4AVX2r1p2}}},
		{panels: 1, ahead: true, tiles: []rowTile{{4, swigluQ4AVX2r4}, {2, swigluQ4AVX2r2}, {1, swigluQ4AVX2r1}}},
	},
}

var avxVNNIMatMul = [numFormats]tileSet{
	formatQ8: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ8AVXVNNIr1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ8AVXVNNIr1p2}}},
		{panels: 1, ahead: true, tiles: []rowTile{{8, tileQ8AVXVNNIr8p1}, {4, tileQ8AVXVNNIr4p1}, {2, tileQ8AVXVNNIr2p1}, {1, tileQ8AVXVNNIr1p1}}},
	},
	formatQ4: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ4AVXVNNIr1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4AVXVNNIr1p2}}},
		{panels: 1, ahead: true, tiles: []rowTile{{8, tileQ4AVXVNNIr8p1}, {4, tileQ4AVXVNNIr4p1}, {2, tileQ4AVXVNNIr2p1}, {1, tileQ4AVXVNNIr1p1}}},
	},
	formatQ4K:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4KAVXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{4, tileQ4KAVXVNNIr4p1}, {2, tileQ4KAVXVNNIr2p1}, {1, tileQ4KAVXVNNIr1p1}}}},
	formatQ5K:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ5KAVXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{4, tileQ5KAVXVNNIr4p1}, {2, tileQ5KAVXVNNIr2p1}, {1, tileQ5KAVXVNNIr1p1}}}},
	formatQ6K:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ6KAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{4, tileQ6KAVXVNNIr4p1}, {2, tileQ6KAVXVNNIr2p1}, {1, tileQ6KAVX2r1p1}}}},
	formatIQ4XS: {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4XSAVXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{4, tileIQ4XSAVXVNNIr4p1}, {2, tileIQ4XSAVXVNNIr2p1}, {1, tileIQ4XSAVXVNNIr1p1}}}},
	formatIQ2X:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2XAVXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{4, tileIQ2XAVXVNNIr4p1}, {2, tileIQ2XAVXVNNIr2p1}, {1, tileIQ2XAVXVNNIr1p1}}}},
	formatIQ3X:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3XAVXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{4, tileIQ3XAVXVNNIr4p1}, {2, tileIQ3XAVXVNNIr2p1}, {1, tileIQ3XAVXVNNIr1p1}}}},
}

var avxVNNISwiGLU = [numFormats]tileSet{
	formatQ8: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ8AVXVNNIr1p2}}},
		{panels: 1, ahead: true, tiles: []rowTile{{4, swigluQ8AVXVNNIr4}, {2, swigluQ8AVXVNNIr2}, {1, swigluQ8AVXVNNIr1}}},
	},
	formatQ4: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ4AVXVNNIr1p2}}},
		{panels: 1, ahead: true, tiles: []rowTile{{4, swigluQ4AVXVNNIr4}, {2, swigluQ4AVXVNNIr2}, {1, swigluQ4AVXVNNIr1}}},
	},
}

var avx512MatMul = [numFormats]tileSet{
	formatF32: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileF32AVX512r1p4}}},
		{panels: 2, tiles: []rowTile{{8, tileF32AVX512r8p2}, {4, tileF32AVX512r4p2}, {2, tileF32AVX512r2p2}, {1, tileF32AVX512r1p2}}},
		{panels: 1, tiles: []rowTile{{8, tileF32AVX512r8p1}, {4, tileF32AVX512r4p1}, {2, tileF32AVX512r2p1}, {1, tileF32AVX512r1p1}}},
	},
	formatF16: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileF16AVX512r1p4}}},
		{panels: 2, tiles: []rowTile{{8, tileF16AVX512r8p2}, {4, tileF16AVX512r4p2}, {2, tileF16AVX512r2p2}, {1, tileF16AVX512r1p2}}},
		{panels: 1, tiles: []rowTile{{8, tileF16AVX512r8p1}, {4, tileF16AVX512r4p1}, {2, tileF16AVX512r2p1}, {1, tileF16AVX512r1p1}}},
	},
	formatBF16: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileBF16AVX512r1p4}}},
		{panels: 2, tiles: []rowTile{{8, tileBF16AVX512r8p2}, {4, tileBF16AVX512r4p2}, {2, tileBF16AVX512r2p2}, {1, tileBF16AVX512r1p2}}},
		{panels: 1, tiles: []rowTile{{8, tileBF16AVX512r8p1}, {4, tileBF16AVX512r4p1}, {2, tileBF16AVX512r2p1}, {1, tileBF16AVX512r1p1}}},
	},
	formatQ8: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ8VNNIr1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ8VNNIr1p2}}},
		{panels: 1, maxRows: 1, tiles: []rowTile{{1, tileQ8VNNIr1p1}}},
		{panels: 1, maxRows: mostFew / 2, tiles: []rowTile{{8, tileQ8VNNIr8p1}, {4, tileQ8VNNIr4p1}, {2, tileQ8VNNIr2p1}, {1, tileQ8VNNIr1p1}}},
		{panels: 2, tiles: []rowTile{{6, tileQ8VNNIr6p2}, {4, tileQ8VNNIr4p2}, {2, tileQ8VNNIr2p2}, {1, tileQ8VNNIr1p2}}},
		{panels: 1, tiles: []rowTile{{8, tileQ8VNNIr8p1}, {4, tileQ8VNNIr4p1}, {2, tileQ8VNNIr2p1}, {1, tileQ8VNNIr1p1}}},
	},
	formatQ4: {
		{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ4VNNIr1p4}}},
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4VNNIr1p2}}},
		{panels: 1, maxRows: 1, tiles: []rowTile{{1, tileQ4VNNIr1p1}}},
		{panels: 1, maxRows: mostFew, tiles: []rowTile{{8, tileQ4VNNIr8p1}, {4, tileQ4VNNIr4p1}, {2, tileQ4VNNIr2p1}, {1, tileQ4VNNIr1p1}}},
		{panels: 2, tiles: []rowTile{{6, tileQ4VNNIr6p2}, {4, tileQ4VNNIr4p2}, {2, tileQ4VNNIr2p2}, {1, tileQ4VNNIr1p2}}},
		{panels: 1, tiles: []rowTile{{8, tileQ4VNNIr8p1}, {4, tileQ4VNNIr4p1}, {2, tileQ4VNNIr2p1}, {1, tileQ4VNNIr1p1}}},
	},
}

var avx512SwiGLU = [numFormats]tileSet{
	formatF32: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluF32AVX512r1p2}}},
		{panels: 1, tiles: []rowTile{{8, swigluF32AVX512r8}, {4, swigluF32AVX512r4}, {2, swigluF32AVX512r2}, {1, swigluF32AVX512r1}}},
	},
	formatF16: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluF16AVX512r1p2}}},
		{panels: 1, tiles: []rowTile{{8, swigluF16AVX512r8}, {4, swigluF16AVX512r4}, {2, swigluF16AVX512r2}, {1, swigluF16AVX512r1}}},
	},
	formatBF16: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluBF16AVX512r1p2}}},
		{panels: 1, tiles: []rowTile{{8, swigluBF16AVX512r8}, {4, swigluBF16AVX512r4}, {2, swigluBF16AVX512r2}, {1, swigluBF16AVX512r1}}},
	},
	formatQ8: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ8VNNIr1p2}}},
		{panels: 1, maxRows: mostFew / 2, tiles: []rowTile{{8, swigluQ8VNNIr8}, {4, swigluQ8VNNIr4}, {2, swigluQ8VNNIr2}, {1, swigluQ8VNNIr1}}},
		{panels: 1, tiles: []rowTile{{6, swigluQ8VNNIr6}, {4, swigluQ8VNNIr4}, {2, swigluQ8VNNIr2}, {1, swigluQ8VNNIr1}}},
	},
	formatQ4: {
		{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ4VNNIr1p2}}},
		{panels: 1, maxRows: mostFew, tiles: []rowTile{{8, swigluQ4VNNIr8}, {4, swigluQ4VNNIr4}, {2, swigluQ4VNNIr2}, {1, swigluQ4VNNIr1}}},
		{panels: 1, tiles: []rowTile{{6, swigluQ4VNNIr6}, {4, swigluQ4VNNIr4}, {2, swigluQ4VNNIr2}, {1, swigluQ4VNNIr1}}},
	},
}

// dotMatMul and dotSwiGLU are the tiles of bfloat16 that use VDPBF16PS.
var dotMatMul = tileSet{
	{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileBF16DOTr1p4}}},
	{panels: 2, tiles: []rowTile{{12, tileBF16DOTr12p2}, {8, tileBF16DOTr8p2}, {4, tileBF16DOTr4p2}, {2, tileBF16DOTr2p2}, {1, tileBF16DOTr1p2}}},
	{panels: 1, tiles: []rowTile{{16, tileBF16DOTr16p1}, {8, tileBF16DOTr8p1}, {4, tileBF16DOTr4p1}, {2, tileBF16DOTr2p1}, {1, tileBF16DOTr1p1}}},
}

var dotSwiGLU = tileSet{
	{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluBF16DOTr1p2}}},
	{panels: 1, tiles: []rowTile{{12, swigluBF16DOTr12}, {8, swigluBF16DOTr8}, {4, swigluBF16DOTr4}, {2, swigluBF16DOTr2}, {1, swigluBF16DOTr1}}},
}

// amxMatMul and amxSwiGLU are the tiles of bfloat16 in tile registers, for k a multiple of deepLen.
var amxMatMul = tileSet{
	{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileBF16AMXr1p4}}},
	{panels: 2, tiles: []rowTile{{32, tileBF16AMXr32p2}, {16, tileBF16AMXr16p2}, {8, tileBF16AMXr8p2}, {4, tileBF16AMXr4p2}, {2, tileBF16AMXr2p2}, {1, tileBF16AMXr1p2}}},
	{panels: 1, tiles: []rowTile{{32, tileBF16AMXr32p1}, {16, tileBF16AMXr16p1}, {8, tileBF16AMXr8p1}, {4, tileBF16AMXr4p1}, {2, tileBF16AMXr2p1}, {1, tileBF16AMXr1p1}}},
}

var amxSwiGLU = tileSet{
	{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluBF16AMXr1p2}}},
	{panels: 1, tiles: []rowTile{{32, swigluBF16AMXr32}, {16, swigluBF16AMXr16}, {8, swigluBF16AMXr8}, {4, swigluBF16AMXr4}, {2, swigluBF16AMXr2}, {1, swigluBF16AMXr1}}},
}
