//go:build !purego

package runtime

import (
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

//go:noescape
func maddAVX512(n int)

//go:noescape
func maddAVX2(n int)

//go:noescape
func readAVX512(p unsafe.Pointer, stride, step, ahead, n int)

//go:noescape
func readAVX2(p unsafe.Pointer, stride, step, ahead, n int)

// probesHere chooses probes by the features of the processor, not by the kernels in use: the peak is that of the
// machine. It uses the probes of the kernels where they have one.
func probesHere() probes {
	has := func(f tile.Feature) bool { return slices.Contains(cpu.Available(), string(f)) }
	f32, int8, bf16 := cpu.BestProbes()
	p := probes{f32: arithmeticOf(f32), int8: arithmeticOf(int8), bf16: arithmeticOf(bf16)}
	switch {
	case has(tile.AVX512):
		p.read = readAVX512
		if int8.Loop == nil {
			p.int8 = arithmetic{maddAVX512, 8 * 64 * 2}
		}
	case has(tile.AVX2):
		p.int8, p.read = arithmetic{maddAVX2, 8 * 32 * 2}, readAVX2
	default:
		return scalarProbes
	}
	return p
}

func arithmeticOf(p cpu.Probe) arithmetic { return arithmetic{p.Loop, float64(p.Ops)} }
