//go:build !purego

package cpu

import "math"

// few returns the loops for so many queries.
func few(heads int, f32, f16 scoresFunc, panels panelScoresFunc, mixF32, mixF16 mixFunc, mixQ8 mixQ8Func) fewLoops {
	return fewLoops{heads, [cacheQ8]scoresFunc{f32, f16}, panels, [cacheQ8]mixFunc{mixF32, mixF16}, mixQ8}
}

var avx2Attention = attentionLoops{
	lanes:  8,
	tiles:  &avx2MatMul[formatF32],
	keys:   [cacheQ8]panelsFunc{keysF32AVX2, keysF16AVX2},
	values: [cacheQ8]panelsFunc{valuesF32AVX2, valuesF16AVX2},
	few: []fewLoops{
		few(4, scoresF32AVX2x4, scoresF16AVX2x4, panelScoresF16AVX2x4, mixF32AVX2x4, mixF16AVX2x4, nil),
		few(2, scoresF32AVX2x2, scoresF16AVX2x2, panelScoresF16AVX2x2, mixF32AVX2x2, mixF16AVX2x2, nil),
		few(1, scoresF32AVX2x1, scoresF16AVX2x1, panelScoresF16AVX2x1, mixF32AVX2x1, mixF16AVX2x1, nil),
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
		few(4, scoresF32AVX512x4, scoresF16AVX512x4, panelScoresF16AVX512x4, mixF32AVX512x4, mixF16AVX512x4, mixQ8AVX512x4),
		few(2, scoresF32AVX512x2, scoresF16AVX512x2, panelScoresF16AVX512x2, mixF32AVX512x2, mixF16AVX512x2, mixQ8AVX512x2),
		few(1, scoresF32AVX512x1, scoresF16AVX512x1, panelScoresF16AVX512x1, mixF32AVX512x1, mixF16AVX512x1, mixQ8AVX512x1),
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

// dotAttention rounds what it multiplies to bfloat16. It is for keys in panels: rows are never transposed.
var dotAttention = attentionLoops{
	lanes:  16,
	tiles:  &dotMatMul,
	values: [cacheQ8]panelsFunc{valuePairsF32, valuePairsF16},
	few: []fewLoops{
		few(4, nil, nil, panelScoresDOTx4, mixF32DOTx4, mixF16DOTx4, mixQ8DOTx4),
		few(2, nil, nil, panelScoresDOTx2, mixF32DOTx2, mixF16DOTx2, mixQ8DOTx2),
		few(1, nil, nil, panelScoresDOTx1, mixF32DOTx1, mixF16DOTx1, mixQ8DOTx1),
	},
	weigh:    weighDOT,
	exponent: math.Log2E,
	keyPairs: keyPairs,
}
