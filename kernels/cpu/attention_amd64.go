//go:build !purego

package cpu

import "unsafe"

// attentionScores computes s[i][p] = scale · q[i]·k[p] for n heads and m positions.
func attentionScores(f cacheFormat, s *scores, q, k unsafe.Pointer, n, m, d, kRow int, scale float32) {
	switch level := attentionFor(f, d); {
	case level == attentionGeneric:
		attentionScoresGeneric(f, s, q, k, n, m, d, kRow, scale)
	case f == cacheQ8:
		attentionScoresQ8(s, q, k, n, m, d, kRow, scale)
	default:
		for i := range n {
			scoresRow(level, f, unsafe.Pointer(&s[i]), floatAt(q, i*d), k, m, d, kRow, scale)
		}
	}
}

// attentionMix adds Σp s[i][p]·v[p] to row i of dst for n heads and m positions.
func attentionMix(f cacheFormat, dst unsafe.Pointer, s *scores, v unsafe.Pointer, n, m, d, vRow int) {
	switch level := attentionFor(f, d); {
	case level == attentionGeneric:
		attentionMixGeneric(f, dst, s, v, n, m, d, vRow)
	case f == cacheQ8:
		attentionMixQ8(dst, s, v, n, m, d, vRow)
	default:
		for i := range n {
			mixRow(level, f, floatAt(dst, i*d), unsafe.Pointer(&s[i]), v, m, d, vRow)
		}
	}
}

// attentionFor returns the inner loops for a format and a length of rows.
func attentionFor(f cacheFormat, d int) attentionLevel {
	if f == cacheQ8 && d > longestDecoded || active.attention == attentionAVX2 && d%8 != 0 {
		return attentionGeneric
	}
	return active.attention
}

// scoresRow computes the scores of one head.
func scoresRow(level attentionLevel, f cacheFormat, s, q, k unsafe.Pointer, m, d, kRow int, scale float32) {
	switch {
	case level == attentionAVX2 && f == cacheF32:
		scoresF32AVX2(s, q, k, m, d, kRow, scale)
	case level == attentionAVX2:
		scoresF16AVX2(s, q, k, m, d, kRow, scale)
	case f == cacheF32:
		scoresF32AVX512(s, q, k, m, d, kRow, scale)
	default:
		scoresF16AVX512(s, q, k, m, d, kRow, scale)
	}
}

// mixRow adds to the result of one head.
func mixRow(level attentionLevel, f cacheFormat, dst, s, v unsafe.Pointer, m, d, vRow int) {
	switch {
	case level == attentionAVX2 && f == cacheF32:
		mixF32AVX2(dst, s, v, m, d, vRow)
	case level == attentionAVX2:
		mixF16AVX2(dst, s, v, m, d, vRow)
	case f == cacheF32:
		mixF32AVX512(dst, s, v, m, d, vRow)
	default:
		mixF16AVX512(dst, s, v, m, d, vRow)
	}
}

// Rows of a q8_0 cache are decoded some positions at a time, once for all heads of a group,
// to memory on the stack: longer rows take the pure-Go loops.
const (
	decodedRows    = 8
	longestDecoded = 256
)

// decoded is rows of a cache as float32.
type decoded [decodedRows * longestDecoded]float32

func attentionScoresQ8(s *scores, q, k unsafe.Pointer, n, m, d, kRow int, scale float32) {
	var rows decoded
	for p := 0; p < m; p += decodedRows {
		some := min(m-p, decodedRows)
		rows.fill(unsafe.Add(k, p*kRow), some*d)
		for i := range n {
			scoresRow(active.attention, cacheF32, unsafe.Pointer(&s[i][p]), floatAt(q, i*d), unsafe.Pointer(&rows), some, d, d*f32Bytes, scale)
		}
	}
}

func attentionMixQ8(dst unsafe.Pointer, s *scores, v unsafe.Pointer, n, m, d, vRow int) {
	var rows decoded
	for p := 0; p < m; p += decodedRows {
		some := min(m-p, decodedRows)
		rows.fill(unsafe.Add(v, p*vRow), some*d)
		for i := range n {
			mixRow(active.attention, cacheF32, floatAt(dst, i*d), unsafe.Pointer(&s[i][p]), unsafe.Pointer(&rows), some, d, d*f32Bytes)
		}
	}
}

// fill decodes n elements; rows of q8_0 follow each other without gaps.
func (r *decoded) fill(src unsafe.Pointer, n int) {
	if active.attention == attentionAVX2 {
		decodeQ8AVX2(unsafe.Pointer(r), src, n)
	} else {
		decodeQ8AVX512(unsafe.Pointer(r), src, n)
	}
}

func attentionMax(s *[chunkLen]float32, m int) float32 {
	switch active.attention {
	case attentionAVX512:
		return maxRowAVX512(unsafe.Pointer(s), m)
	case attentionAVX2:
		return maxRowAVX2(unsafe.Pointer(s), m)
	}
	return attentionMaxGeneric(s, m)
}

// attentionExp replaces m scores by e^(score-most) and returns their sum.
func attentionExp(s *[chunkLen]float32, m int, most float32) float32 {
	p := unsafe.Pointer(s)
	switch active.attention {
	case attentionAVX512:
		return expSumAVX512(p, p, m, most)
	case attentionAVX2:
		return expSumAVX2(p, p, m, most)
	}
	return attentionExpGeneric(s, m, most)
}
