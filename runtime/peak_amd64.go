//go:build !purego

package runtime

import (
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

//go:noescape
func fmaAVX512(n int)

//go:noescape
func fmaAVX2(n int)

//go:noescape
func dotVNNI(n int)

//go:noescape
func dotBF16(n int)

//go:noescape
func maddAVX512(n int)

//go:noescape
func maddAVX2(n int)

//go:noescape
func readAVX512(p unsafe.Pointer, stride, step, n int)

//go:noescape
func readAVX2(p unsafe.Pointer, stride, step, n int)

// probesHere chooses by what the processor has, not by the kernels in use: the peak is
// the machine's.
func probesHere() probes {
	has := func(f tile.Feature) bool { return slices.Contains(cpu.Available(), string(f)) }
	switch {
	case has(tile.AVX512BF16):
		return probes{f32: arithmetic{fmaAVX512, 12 * 16 * 2}, int8: arithmetic{dotVNNI, 12 * 64 * 2}, bf16: arithmetic{dotBF16, 24 * 32 * 2}, read: readAVX512}
	case has(tile.AVX512VNNI):
		return probes{f32: arithmetic{fmaAVX512, 12 * 16 * 2}, int8: arithmetic{dotVNNI, 12 * 64 * 2}, read: readAVX512}
	case has(tile.AVX512):
		return probes{f32: arithmetic{fmaAVX512, 12 * 16 * 2}, int8: arithmetic{maddAVX512, 8 * 64 * 2}, read: readAVX512}
	case has(tile.AVX2):
		return probes{f32: arithmetic{fmaAVX2, 12 * 8 * 2}, int8: arithmetic{maddAVX2, 8 * 32 * 2}, read: readAVX2}
	}
	return scalarProbes
}
