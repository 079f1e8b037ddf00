package cpu

import (
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

var genericAttention = attentionLoops{
	lanes: 1,
	tiles: &genericMatMul[formatF32],
	keys: [cacheQ8]panelsFunc{
		func(dst, k unsafe.Pointer, n, d, kRow int) { keyPanels(elementF32, dst, k, n, d, kRow) },
		func(dst, k unsafe.Pointer, n, d, kRow int) { keyPanels(elementF16, dst, k, n, d, kRow) },
	},
	values: [cacheQ8]panelsFunc{
		func(dst, v unsafe.Pointer, n, d, vRow int) { valuePanels(elementF32, dst, v, n, d, vRow) },
		func(dst, v unsafe.Pointer, n, d, vRow int) { valuePanels(elementF16, dst, v, n, d, vRow) },
	},
	weigh:    weighGeneric,
	exponent: 1,
}

// elementFunc reads element i of a row of a state.
type elementFunc func(row unsafe.Pointer, i int) float32

// keyPanels writes n keys of d elements, at distances of kRow bytes, as panels of 16 positions.
func keyPanels(element elementFunc, dst, k unsafe.Pointer, n, d, kRow int) {
	for p := range n {
		row := unsafe.Add(k, p*kRow)
		panel := unsafe.Slice((*lanes)(floatAt(dst, p/panelRows*panelRows*d)), d)
		for i := range panel {
			panel[i][p%panelRows] = element(row, i)
		}
	}
}

// valuePanels writes n values of d elements, at distances of vRow bytes, as panels of 16
// elements. Each panel has room for a chunk.
func valuePanels(element elementFunc, dst, v unsafe.Pointer, n, d, vRow int) {
	for p := range n {
		row := unsafe.Add(v, p*vRow)
		for i := range d {
			panel := (*[chunkLen]lanes)(floatAt(dst, i/panelRows*chunkLen*panelRows))
			panel[p][i%panelRows] = element(row, i)
		}
	}
}

func elementF32(row unsafe.Pointer, i int) float32 { return *(*float32)(floatAt(row, i)) }

func elementF16(row unsafe.Pointer, i int) float32 {
	return dtype.F16ToF32(*(*uint16)(halfAt(row, i)))
}

// weighGeneric replaces m scores in each of n rows, at distances of a chunk, by their weights
// e^(score-largest[i]) and adds these to sums[i]. A score above largest[i] first becomes
// largest[i]; then shrink[i] is the factor by which earlier weights are too large, and sums[i] is
// multiplied by it. In assembly, a score may exceed largest[i] by a small amount.
func weighGeneric(s, largest, sums, shrink unsafe.Pointer, n, m int) {
	sum, by := floats(sums, n), floats(shrink, n)
	for i, before := range floats(largest, n) {
		row := floats(floatAt(s, i*chunkLen), m)
		most := max(before, slices.Max(row))
		floats(largest, n)[i] = most
		by[i] = exp(before - most)
		sum[i] = float32(sum[i] * by[i])
		for j, v := range row {
			row[j] = exp(v - most)
			sum[i] += row[j]
		}
	}
}
