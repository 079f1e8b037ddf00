package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// attentionScoresGeneric computes s[i][p] = scale · q[i]·k[p] for n heads and m positions.
func attentionScoresGeneric(f cacheFormat, s *scores, q, k unsafe.Pointer, n, m, d, kRow int, scale float32) {
	for p := range m {
		row := unsafe.Add(k, p*kRow)
		for i := range n {
			s[i][p] = scale * dotCache(f, floats(floatAt(q, i*d), d), row)
		}
	}
}

// dotCache is the inner product of x and a row of a state.
func dotCache(f cacheFormat, x []float32, row unsafe.Pointer) (sum float32) {
	for i, v := range x {
		sum += float32(v * cacheElement(f, row, i))
	}
	return sum
}

// cacheElement reads element i of a row of a state.
func cacheElement(f cacheFormat, row unsafe.Pointer, i int) float32 {
	switch f {
	case cacheF32:
		return *(*float32)(floatAt(row, i))
	case cacheF16:
		return dtype.F16ToF32(*(*uint16)(halfAt(row, i)))
	default:
		block := unsafe.Add(row, i/blockLen*q8Bytes)
		q := *(*int8)(unsafe.Add(block, 2+i%blockLen))
		return dtype.F16ToF32(*(*uint16)(block)) * float32(q)
	}
}

// attentionMixGeneric adds Σp s[i][p]·v[p] to row i of dst for n heads and m positions.
func attentionMixGeneric(f cacheFormat, dst unsafe.Pointer, s *scores, v unsafe.Pointer, n, m, d, vRow int) {
	for p := range m {
		row := unsafe.Add(v, p*vRow)
		for i := range n {
			weight := s[i][p]
			for j := range d {
				out := (*float32)(floatAt(dst, i*d+j))
				*out += float32(weight * cacheElement(f, row, j))
			}
		}
	}
}

func attentionMaxGeneric(s *[chunkLen]float32, m int) float32 {
	most := s[0]
	for _, v := range s[1:m] {
		most = max(most, v)
	}
	return most
}

func attentionExpGeneric(s *[chunkLen]float32, m int, most float32) (sum float32) {
	for i, v := range s[:m] {
		s[i] = exp(v - most)
		sum += s[i]
	}
	return sum
}
