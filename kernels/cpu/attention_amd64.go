//go:build !purego

package cpu

import "unsafe"

// attentionScores computes s[i][p] = scale · q[i]·k[p] for n heads and m positions.
func attentionScores(f cacheFormat, s *scores, q, k unsafe.Pointer, n, m, d, kRow int, scale float32) {
	level := attentionFor(f, d)
	if level == attentionGeneric {
		attentionScoresGeneric(f, s, q, k, n, m, d, kRow, scale)
		return
	}
	for i := range n {
		row, to := floatAt(q, i*d), unsafe.Pointer(&s[i])
		switch {
		case level == attentionAVX2 && f == cacheF32:
			scoresF32AVX2(to, row, k, m, d, kRow, scale)
		case level == attentionAVX2:
			scoresF16AVX2(to, row, k, m, d, kRow, scale)
		case f == cacheF32:
			scoresF32AVX512(to, row, k, m, d, kRow, scale)
		default:
			scoresF16AVX512(to, row, k, m, d, kRow, scale)
		}
	}
}

// attentionMix adds Σp s[i][p]·v[p] to row i of dst for n heads and m positions.
func attentionMix(f cacheFormat, dst unsafe.Pointer, s *scores, v unsafe.Pointer, n, m, d, vRow int) {
	level := attentionFor(f, d)
	if level == attentionGeneric {
		attentionMixGeneric(f, dst, s, v, n, m, d, vRow)
		return
	}
	for i := range n {
		row, from := floatAt(dst, i*d), unsafe.Pointer(&s[i])
		switch {
		case level == attentionAVX2 && f == cacheF32:
			mixF32AVX2(row, from, v, m, d, vRow)
		case level == attentionAVX2:
			mixF16AVX2(row, from, v, m, d, vRow)
		case f == cacheF32:
			mixF32AVX512(row, from, v, m, d, vRow)
		default:
			mixF16AVX512(row, from, v, m, d, vRow)
		}
	}
}

// attentionFor returns the inner loops for a format and a length of rows.
func attentionFor(f cacheFormat, d int) attentionLevel {
	if f == cacheQ8 || active.attention == attentionAVX2 && d%8 != 0 {
		return attentionGeneric
	}
	return active.attention
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
