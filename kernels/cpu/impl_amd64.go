//go:build !purego

package cpu

import "github.com/ggmlc/ggmlc/kernels/cpu/tile"

// builtin lists the implementations of this build, with all tiles.
func builtin() []implementation {
	f := detect()
	generic := genericImplementation()
	wide := avx2Implementation(generic, f)
	wider := avx512Implementation(wide, f)
	bytes := vnniImplementation(wider, f)
	all := []implementation{
		generic, wide, avxVNNIImplementation(wide, f), wider, bytes, bf16Implementation(bytes, f), amxImplementation(bytes, f),
	}
	for i := range all {
		im := &all[i]
		narrow := im.narrow()
		if im.signed[formatQ8] == nil {
			im.quantizeBounded, im.normBounded = im.quantize, im.normQ8A
		}
		for _, w := range byteFormats {
			im.ahead[w], im.fewPlaces[w] = prefetchDistance(f, narrow, w), fewPlaces(f, narrow, w)
		}
		for _, w := range []format{formatF16, formatBF16} {
			im.ahead[w] = prefetchDistance(f, narrow, w)
		}
	}
	return all
}

// narrow reports whether its products of quantized weights take 256 bits.
func (im *implementation) narrow() bool {
	return im.name == tile.AVX2 || im.name == tile.AVXVNNI || im.name == tile.AVX512
}

// prefetchDistance returns how far before their use one row prefetches panels, in bytes, with tiles for AVX2 (narrow) or
// with VNNI; with 0 it asks for what it reads next anyway. Distances are measured (docs/measurements/generation.md): they depend on what memory gives to a
// core and on what a core can have outstanding. Zen 4's own prefetching is better than ours, which takes from what a core can have
// outstanding: from large pages two threads read at 0.95 to 1.0 of the read limit without, at 0.69 to 0.9 with 4096 bytes.
// On Zen 5 programs have 0.92 to 0.95 of the speed with 2048 that they have with 4096, while memory gives 80 GB/s; on AVX2, two places
// and 4096 have 1.07 to 1.2 of the speed of one place and 8192. On Sapphire Rapids programs of Q4_K_M have 0.79 and 0.85 of the read limit with 8192 bytes and
// AVX2 and with 4096 and VNNI, and 0.90 and 0.92 with these; older processors of Intel have not been measured so.
func prefetchDistance(f features, narrow bool, w format) int {
	switch {
	case f.zen4():
		return 0
	case w == formatF16 || w == formatBF16:
		return 2048
	case f.intel && narrow:
		return 2048
	case f.intel:
		return 1536
	case narrow && !f.zen5():
		return 8192
	}
	return 4096
}

// fewPlaces returns the number of places at which one row reads quantized weights at once, with tiles for AVX2 (narrow) or with
// VNNI; 0 for as many as tiles have panels. On Zen 4 q8_0 on AVX2 reads at 0.86 of the read limit at one place, 0.93 at two and
// 0.965 at four, superblocks at 0.96 to 0.99 at one and 0.90 to 0.98 at four.
func fewPlaces(f features, narrow bool, w format) int {
	switch {
	case f.intel:
		return 0
	case f.zen4() && narrow && w == formatQ8:
		return 4
	case narrow && !f.zen5():
		return 1
	}
	return 2
}

// avx2Implementation adds what is written for 256 bits.
func avx2Implementation(im implementation, f features) implementation {
	im.base, im.name, im.present = im.name, tile.AVX2, func() bool { return f.avx2 }
	im.tiles(&avx2MatMul, &avx2SwiGLU)
	im.blocks(&avx2BlockMatMul, &avx2BlockSwiGLU, &avx2Expanded)
	im.widened[formatBF16] = avx2Widened
	im.signed[formatQ8] = &avx2Q8
	im.prefetch = prefetchLines
	im.vectorsAVX2()
	return im
}

// avxVNNIImplementation adds the products of bytes for 256 bits, of formats that have magnitudes with AVX2 and of those
// that most files have.
func avxVNNIImplementation(im implementation, f features) implementation {
	im.base, im.name, im.present = im.name, tile.AVXVNNI, func() bool { return f.vexVNNI }
	im.tiles(&avxVNNIMatMul, &avxVNNISwiGLU)
	for _, f := range []format{formatQ8, formatQ4, formatQ4K} {
		im.signed[f], im.expanded[f] = nil, nil // reading panels as they are stored is as fast
	}
	im.expanded[formatIQ4XS] = avxVNNISuperSigned.with(expandIQ4XSAVXVNNI)
	im.expanded[formatIQ2X] = avxVNNISuperSigned.with(expandIQ2XAVXVNNI)
	im.expanded[formatIQ3X] = avxVNNISuperSigned.with(expandIQ3XAVXVNNI)
	im.expanded[formatQ5K] = avxVNNISuperBytes.with(expandQ5KAVX2)
	im.expanded[formatQ6K] = avxVNNISuperScaled16.with(expandQ6KAVX2)
	return im
}

// tiles replaces the tiles of the formats that the tables have.
func (im *implementation) tiles(matmul, swiglu *[numFormats]tileSet) {
	for f := range numFormats {
		if matmul[f] != nil {
			im.matmul[f], im.swiglu[f] = matmul[f], swiglu[f]
		}
	}
}

// avx512Implementation adds what is written for 512 bits. Quantized products stay with 256
// bits: without VNNI the wider registers gain little.
func avx512Implementation(im implementation, f features) implementation {
	im.base, im.name, im.present = im.name, tile.AVX512, func() bool { return f.avx512 }
	im.vectorsAVX512()
	for _, f := range []format{formatF32, formatF16, formatBF16} {
		im.matmul[f], im.swiglu[f] = avx512MatMul[f], avx512SwiGLU[f]
	}
	im.widened[formatBF16] = nil
	return im
}

// vnniImplementation adds the products of bytes.
func vnniImplementation(im implementation, f features) implementation {
	im.base, im.name, im.present = im.name, tile.AVX512VNNI, func() bool { return f.vnni }
	im.probe.int8, im.probe.int8Ops = peakDotVNNI, 12*64*2
	for _, f := range []format{formatQ8, formatQ4} {
		im.matmul[f], im.swiglu[f] = avx512MatMul[f], avx512SwiGLU[f]
	}
	im.blocks(&vnniBlockMatMul, &vnniBlockSwiGLU, &vnniExpanded)
	im.signed = [numFormats]*signedTiles{}
	return im
}

// bf16Implementation adds the products of bfloat16. On Intel's processors VDPBF16PS does half of what
// f32 multiply-adds do (Sapphire Rapids: 132 and 266 Gop/s, two threads), on AMD's twice as much.
func bf16Implementation(im implementation, f features) implementation {
	im.base, im.name, im.present = im.name, tile.AVX512BF16, func() bool { return f.bf16 }
	im.slow = f.intel
	im.probe.bf16, im.probe.bf16Ops = peakDotBF16, 24*32*2
	im.matmul[formatBF16], im.swiglu[formatBF16] = dotMatMul, dotSwiGLU
	im.roundedAttention = &dotAttention
	return im
}

// amxImplementation adds products of bfloat16, and with many rows those of quantized weights, in tile registers. Attention
// stays as it is: processors with tile registers are those where VDPBF16PS is slow.
func amxImplementation(im implementation, f features) implementation {
	im.base, im.name, im.present = im.name, tile.AMX, func() bool { return f.amx }
	im.probe.bf16, im.probe.bf16Ops = peakTileBF16, 4*16*16*32*2
	im.probe.int8, im.probe.int8Ops = peakTileInt8, 4*16*16*64*2
	im.deepMatMul[formatBF16], im.deepSwiGLU[formatBF16] = amxMatMul, amxSwiGLU
	im.squares = amxSquares
	return im
}
