//go:build !amd64 || purego

package cpu

import "unsafe"

func attentionScores(f cacheFormat, s *scores, q, k unsafe.Pointer, n, m, d, kRow int, scale float32) {
	attentionScoresGeneric(f, s, q, k, n, m, d, kRow, scale)
}

func attentionMix(f cacheFormat, dst unsafe.Pointer, s *scores, v unsafe.Pointer, n, m, d, vRow int) {
	attentionMixGeneric(f, dst, s, v, n, m, d, vRow)
}

func attentionMax(s *[chunkLen]float32, m int) float32 { return attentionMaxGeneric(s, m) }

func attentionExp(s *[chunkLen]float32, m int, most float32) float32 {
	return attentionExpGeneric(s, m, most)
}
