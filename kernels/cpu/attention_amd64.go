//go:build !purego

package cpu

import "math"

var avx2Attention = attentionLoops{
	lanes:  8,
	tiles:  &avx2MatMul[formatF32],
	keys:   [cacheQ8]panelsFunc{keysF32AVX2, keysF16AVX2},
	values: [cacheQ8]panelsFunc{valuesF32AVX2, valuesF16AVX2},
	few: []fewLoops{
		{4, [cacheQ8]scoresFunc{scoresF32AVX2x4, scoresF16AVX2x4}, [cacheQ8]mixFunc{mixF32AVX2x4, mixF16AVX2x4}},
		{2, [cacheQ8]scoresFunc{scoresF32AVX2x2, scoresF16AVX2x2}, [cacheQ8]mixFunc{mixF32AVX2x2, mixF16AVX2x2}},
		{1, [cacheQ8]scoresFunc{scoresF32AVX2x1, scoresF16AVX2x1}, [cacheQ8]mixFunc{mixF32AVX2x1, mixF16AVX2x1}},
	},
	weigh:    weighAVX2,
	exponent: math.Log2E,
}

var avx512Attention = attentionLoops{
	lanes:  16,
	tiles:  &avx512MatMul[formatF32],
	keys:   [cacheQ8]panelsFunc{keysF32AVX512, keysF16AVX512},
	values: [cacheQ8]panelsFunc{valuesF32AVX512, valuesF16AVX512},
	few: []fewLoops{
		{4, [cacheQ8]scoresFunc{scoresF32AVX512x4, scoresF16AVX512x4}, [cacheQ8]mixFunc{mixF32AVX512x4, mixF16AVX512x4}},
		{2, [cacheQ8]scoresFunc{scoresF32AVX512x2, scoresF16AVX512x2}, [cacheQ8]mixFunc{mixF32AVX512x2, mixF16AVX512x2}},
		{1, [cacheQ8]scoresFunc{scoresF32AVX512x1, scoresF16AVX512x1}, [cacheQ8]mixFunc{mixF32AVX512x1, mixF16AVX512x1}},
	},
	weigh:    weighAVX512,
	exponent: math.Log2E,
}

// avx512ShortAttention is for rows that do not fill registers.
var avx512ShortAttention = func() attentionLoops {
	l := avx2Attention
	l.tiles = &avx512MatMul[formatF32]
	return l
}()
