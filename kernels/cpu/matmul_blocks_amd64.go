//go:build !purego

package cpu

import "unsafe"

// Tiles in assembly of formats with a scheme: of one row of x, and with VNNI and for some formats with AVX2 of few
// rows, by format, and of more rows by the kind of expanded parts. Then the products of all quantized formats in tile
// registers.

var avx2BlockMatMul = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{4, tileQ41AVX2r4p1}, {2, tileQ41AVX2r2p1}, {1, tileQ41AVX2r1p1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{4, tileQ50AVX2r4p1}, {2, tileQ50AVX2r2p1}, {1, tileQ50AVX2r1p1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{4, tileQ51AVX2r4p1}, {2, tileQ51AVX2r2p1}, {1, tileQ51AVX2r1p1}}}},
	formatQ2K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ2KAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ2KAVX2r1p1}}}},
	formatQ3K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ3KAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ3KAVX2r1p1}}}},
	formatQ4K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4KAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{4, tileQ4KAVX2r4p1}, {2, tileQ4KAVX2r2p1}, {1, tileQ4KAVX2r1p1}}}},
	formatQ5K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ5KAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{4, tileQ5KAVX2r4p1}, {2, tileQ5KAVX2r2p1}, {1, tileQ5KAVX2r1p1}}}},
	formatQ6K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ6KAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ6KAVX2r1p1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{1, tileIQ4NLAVX2r1p1}}}},
	formatIQ4XS:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4XSAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ4XSAVX2r1p1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{4, tileMXFP4AVX2r4p1}, {2, tileMXFP4AVX2r2p1}, {1, tileMXFP4AVX2r1p1}}}},
	formatIQ2X:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2XAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ2XAVX2r1p1}}}},
	formatIQ2X16: {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2X16AVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ2X16AVX2r1p1}}}},
	formatIQ3X:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3XAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ3XAVX2r1p1}}}},
	formatIQ3SX:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3SXAVX2r1p2}}}, {panels: 1, tiles: []rowTile{{4, tileIQ3SXAVX2r4p1}, {2, tileIQ3SXAVX2r2p1}, {1, tileIQ3SXAVX2r1p1}}}},
}

var avx2BlockSwiGLU = [numFormats]tileSet{
	formatQ41:   {{panels: 1, tiles: []rowTile{{4, swigluQ41AVX2r4}, {2, swigluQ41AVX2r2}, {1, swigluQ41AVX2r1}}}},
	formatQ50:   {{panels: 1, tiles: []rowTile{{4, swigluQ50AVX2r4}, {2, swigluQ50AVX2r2}, {1, swigluQ50AVX2r1}}}},
	formatQ51:   {{panels: 1, tiles: []rowTile{{4, swigluQ51AVX2r4}, {2, swigluQ51AVX2r2}, {1, swigluQ51AVX2r1}}}},
	formatIQ4NL: {{panels: 1, tiles: []rowTile{{1, swigluIQ4NLAVX2r1}}}},
	formatMXFP4: {{panels: 1, tiles: []rowTile{{4, swigluMXFP4AVX2r4}, {2, swigluMXFP4AVX2r2}, {1, swigluMXFP4AVX2r1}}}},
}

var vnniBlockMatMul = [numFormats]tileSet{
	formatQ41:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ41VNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ41VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ41VNNIr8p1}, {4, tileQ41VNNIr4p1}, {2, tileQ41VNNIr2p1}, {1, tileQ41VNNIr1p1}}}},
	formatQ50:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ50VNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ50VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ50VNNIr8p1}, {4, tileQ50VNNIr4p1}, {2, tileQ50VNNIr2p1}, {1, tileQ50VNNIr1p1}}}},
	formatQ51:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ51VNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ51VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ51VNNIr8p1}, {4, tileQ51VNNIr4p1}, {2, tileQ51VNNIr2p1}, {1, tileQ51VNNIr1p1}}}},
	formatQ2K:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ2KVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ2KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileQ2KVNNIr12p1}, {8, tileQ2KVNNIr8p1}, {4, tileQ2KVNNIr4p1}, {2, tileQ2KVNNIr2p1}, {1, tileQ2KVNNIr1p1}}}},
	formatQ3K:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ3KVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ3KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileQ3KVNNIr12p1}, {8, tileQ3KVNNIr8p1}, {4, tileQ3KVNNIr4p1}, {2, tileQ3KVNNIr2p1}, {1, tileQ3KVNNIr1p1}}}},
	formatQ4K:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ4KVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileQ4KVNNIr12p1}, {8, tileQ4KVNNIr8p1}, {4, tileQ4KVNNIr4p1}, {2, tileQ4KVNNIr2p1}, {1, tileQ4KVNNIr1p1}}}},
	formatQ5K:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ5KVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ5KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileQ5KVNNIr12p1}, {8, tileQ5KVNNIr8p1}, {4, tileQ5KVNNIr4p1}, {2, tileQ5KVNNIr2p1}, {1, tileQ5KVNNIr1p1}}}},
	formatQ6K:    {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileQ6KVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ6KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileQ6KVNNIr12p1}, {8, tileQ6KVNNIr8p1}, {4, tileQ6KVNNIr4p1}, {2, tileQ6KVNNIr2p1}, {1, tileQ6KVNNIr1p1}}}},
	formatIQ4NL:  {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileIQ4NLVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4NLVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ4NLVNNIr8p1}, {4, tileIQ4NLVNNIr4p1}, {2, tileIQ4NLVNNIr2p1}, {1, tileIQ4NLVNNIr1p1}}}},
	formatIQ4XS:  {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileIQ4XSVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4XSVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileIQ4XSVNNIr12p1}, {8, tileIQ4XSVNNIr8p1}, {4, tileIQ4XSVNNIr4p1}, {2, tileIQ4XSVNNIr2p1}, {1, tileIQ4XSVNNIr1p1}}}},
	formatMXFP4:  {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileMXFP4VNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileMXFP4VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileMXFP4VNNIr8p1}, {4, tileMXFP4VNNIr4p1}, {2, tileMXFP4VNNIr2p1}, {1, tileMXFP4VNNIr1p1}}}},
	formatIQ2X:   {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileIQ2XVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2XVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileIQ2XVNNIr12p1}, {8, tileIQ2XVNNIr8p1}, {4, tileIQ2XVNNIr4p1}, {2, tileIQ2XVNNIr2p1}, {1, tileIQ2XVNNIr1p1}}}},
	formatIQ2X16: {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileIQ2X16VNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2X16VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileIQ2X16VNNIr12p1}, {8, tileIQ2X16VNNIr8p1}, {4, tileIQ2X16VNNIr4p1}, {2, tileIQ2X16VNNIr2p1}, {1, tileIQ2X16VNNIr1p1}}}},
	formatIQ3X:   {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileIQ3XVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3XVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileIQ3XVNNIr12p1}, {8, tileIQ3XVNNIr8p1}, {4, tileIQ3XVNNIr4p1}, {2, tileIQ3XVNNIr2p1}, {1, tileIQ3XVNNIr1p1}}}},
	formatIQ3SX:  {{panels: 4, maxRows: 1, tiles: []rowTile{{1, tileIQ3SXVNNIr1p4}}}, {panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3SXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{12, tileIQ3SXVNNIr12p1}, {8, tileIQ3SXVNNIr8p1}, {4, tileIQ3SXVNNIr4p1}, {2, tileIQ3SXVNNIr2p1}, {1, tileIQ3SXVNNIr1p1}}}},
}

var vnniBlockSwiGLU = [numFormats]tileSet{
	formatQ41:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ41VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, swigluQ41VNNIr8}, {4, swigluQ41VNNIr4}, {2, swigluQ41VNNIr2}, {1, swigluQ41VNNIr1}}}},
	formatQ50:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ50VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, swigluQ50VNNIr8}, {4, swigluQ50VNNIr4}, {2, swigluQ50VNNIr2}, {1, swigluQ50VNNIr1}}}},
	formatQ51:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluQ51VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, swigluQ51VNNIr8}, {4, swigluQ51VNNIr4}, {2, swigluQ51VNNIr2}, {1, swigluQ51VNNIr1}}}},
	formatIQ4NL: {{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluIQ4NLVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, swigluIQ4NLVNNIr8}, {4, swigluIQ4NLVNNIr4}, {2, swigluIQ4NLVNNIr2}, {1, swigluIQ4NLVNNIr1}}}},
	formatMXFP4: {{panels: 2, maxRows: 1, tiles: []rowTile{{1, swigluMXFP4VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, swigluMXFP4VNNIr8}, {4, swigluMXFP4VNNIr4}, {2, swigluMXFP4VNNIr2}, {1, swigluMXFP4VNNIr1}}}},
}

// avx2Few is the most rows of x that read panels of a format with a scheme as they are stored with AVX2, if the format
// has such tiles. Of q4_k, which takes the least to unpack, mostFew do: 12 and 16 rows have 1.07 of the speed on Zen 3.
const avx2Few = 4

// avxVNNIFew is the most rows of x that read panels of superblocks as they are stored with AVX-VNNI.
const avxVNNIFew = 8

// The tiles of expanded panels for AVX2; pairKinds and superPairKinds of _asm describe the kinds.
var (
	avx2Nibbles = expansion{
		least:      [2]int{avx2Few + 1, avx2Few + 1},
		ask:        true,
		blockBytes: int(unsafe.Sizeof(part{})),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileNibblesAVX2r6p1}, {2, tileNibblesAVX2r2p1}, {1, tileNibblesAVX2r1p1}}}},
	}
	avx2Bytes = expansion{
		least:      [2]int{avx2Few + 1, avx2Few + 1},
		ask:        true,
		blockBytes: int(unsafe.Sizeof(part{})),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileBytesAVX2r6p1}, {2, tileBytesAVX2r2p1}, {1, tileBytesAVX2r1p1}}}},
	}
	avx2Shifted = expansion{
		least:      [2]int{avx2Few + 1, avx2Few + 1},
		ask:        true,
		blockBytes: int(unsafe.Sizeof(part{})),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileShiftedAVX2r6p1}, {2, tileShiftedAVX2r2p1}, {1, tileShiftedAVX2r1p1}}}},
	}
	avx2Signed = expansion{
		ask:        true,
		blockBytes: signedPartBytes,
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{4, tileSignedAVX2r4p1}, {2, tileSignedAVX2r2p1}, {1, tileSignedAVX2r1p1}}}},
	}
	avx2Q4 = expansion{
		least:      [2]int{mostFew/2 + 1, mostFew/4 + 1},
		ask:        true,
		blockBytes: scaledPartBytes,
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tilePairQ4AVX2r6p1}, {2, tilePairQ4AVX2r2p1}, {1, tilePairQ4AVX2r1p1}}}},
		swiglu:     tileSet{{panels: 1, tiles: []rowTile{{6, swigluPairQ4AVX2r6}, {2, swigluPairQ4AVX2r2}, {1, swigluPairQ4AVX2r1}}}},
	}
	avx2SuperNibbles = expansion{
		least:      [2]int{mostFew + 1, mostFew + 1},
		ask:        true,
		blockBytes: superBytes(1, superMins),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileSuperNibblesAVX2r6p1}, {2, tileSuperNibblesAVX2r2p1}, {1, tileSuperNibblesAVX2r1p1}}}},
	}
	avx2SuperBytes = expansion{
		least:      [2]int{avx2Few + 1, avx2Few + 1},
		ask:        true,
		blockBytes: superBytes(1, superMins),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileSuperBytesAVX2r6p1}, {2, tileSuperBytesAVX2r2p1}, {1, tileSuperBytesAVX2r1p1}}}},
	}
	avx2SuperShifted = expansion{
		least:      [2]int{avx2Few + 1, avx2Few + 1},
		ask:        true,
		blockBytes: superBytes(1, superPlain),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileSuperShiftedAVX2r6p1}, {2, tileSuperShiftedAVX2r2p1}, {1, tileSuperShiftedAVX2r1p1}}}},
	}
	avx2SuperCrumbs16 = expansion{
		ask:        true,
		blockBytes: superBytes(2, superMins),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileSuperCrumbs16AVX2r6p1}, {2, tileSuperCrumbs16AVX2r2p1}, {1, tileSuperCrumbs16AVX2r1p1}}}},
	}
	avx2SuperSmall16 = expansion{
		ask:        true,
		blockBytes: superBytes(2, superPlain),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileSuperSmall16AVX2r6p1}, {2, tileSuperSmall16AVX2r2p1}, {1, tileSuperSmall16AVX2r1p1}}}},
	}
	avx2SuperScaled16 = expansion{
		ask:        true,
		blockBytes: superBytes(2, superPlain),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{4, tileSuperScaled16AVX2r4p1}, {2, tileSuperScaled16AVX2r2p1}, {1, tileSuperScaled16AVX2r1p1}}}},
	}
	avx2SuperLarge16 = expansion{
		ask:        true,
		blockBytes: superBytes(2, superPlain),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{4, tileSuperLarge16AVX2r4p1}, {2, tileSuperLarge16AVX2r2p1}, {1, tileSuperLarge16AVX2r1p1}}}},
	}
	avxVNNISuperBytes    = avx2SuperBytes.from(avxVNNIFew + 1)
	avxVNNISuperScaled16 = avx2SuperScaled16.from(avx2Few + 1)
	avxVNNISuperSigned   = expansion{
		least:      [2]int{avxVNNIFew + 1, avxVNNIFew + 1},
		ask:        true,
		blockBytes: superBytes(1, superPlain),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{6, tileSuperSignedAVXVNNIr6p1}, {2, tileSuperSignedAVXVNNIr2p1}, {1, tileSuperSignedAVXVNNIr1p1}}}},
	}
	avx2SuperSigned = expansion{
		ask:        true,
		blockBytes: superBytes(1, superSigned),
		matmul:     tileSet{{panels: 1, tiles: []rowTile{{4, tileSuperSignedAVX2r4p1}, {2, tileSuperSignedAVX2r2p1}, {1, tileSuperSignedAVX2r1p1}}}},
	}
)

// Parts of kinds that only AVX2 has: bytes and scales, or signs, magnitudes, a sum for each row and scales.
const (
	scaledPartBytes = panelRows*blockLen + panelRows*f32Bytes
	signedPartBytes = 2 * scaledPartBytes
)

// superKind is what an expanded superblock has beside bytes and scales; superLayout of _asm describes it.
type superKind int

const (
	superPlain  superKind = iota // corrections and D
	superMins                    // and M
	superSigned                  // magnitudes, what integer sums begin with, D
)

// superBytes returns the bytes of an expanded superblock whose parts have 1 or 2 groups.
func superBytes(groups int, k superKind) int {
	const parts, line = superLen / blockLen, panelRows * f32Bytes
	part, corrections, heads := panelRows*blockLen+groups*line, parts/2*groups, 1
	switch k {
	case superMins:
		heads = 2
	case superSigned:
		part, corrections, heads = 2*panelRows*blockLen+line, 0, 2
	}
	return parts*part + (corrections+heads)*line
}

var (
	vnniParts = expansion{
		least:      [2]int{mostFew + 1, mostFew + 1},
		blockBytes: int(unsafe.Sizeof(part{})),
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{6, tilePartVNNIr6p2}, {4, tilePartVNNIr4p2}, {2, tilePartVNNIr2p2}, {1, tilePartVNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartVNNIr8p1}, {4, tilePartVNNIr4p1}, {2, tilePartVNNIr2p1}, {1, tilePartVNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{6, swigluPartVNNIr6}, {4, swigluPartVNNIr4}, {2, swigluPartVNNIr2}, {1, swigluPartVNNIr1}}}},
	}
	vnniPartsOffset = expansion{
		least:      [2]int{mostFew + 1, mostFew + 1},
		blockBytes: int(unsafe.Sizeof(part{})),
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{6, tilePartOffsetVNNIr6p2}, {4, tilePartOffsetVNNIr4p2}, {2, tilePartOffsetVNNIr2p2}, {1, tilePartOffsetVNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartOffsetVNNIr8p1}, {4, tilePartOffsetVNNIr4p1}, {2, tilePartOffsetVNNIr2p1}, {1, tilePartOffsetVNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{6, swigluPartOffsetVNNIr6}, {4, swigluPartOffsetVNNIr4}, {2, swigluPartOffsetVNNIr2}, {1, swigluPartOffsetVNNIr1}}}},
	}
)

// from returns the expansion for that many rows and more.
func (e expansion) from(rows int) expansion {
	e.least = [2]int{rows, rows}
	return e
}

// with returns the expansion with the function that expands a format.
func (e expansion) with(f expandFunc) *expansion {
	e.expand = f
	return &e
}

var avx2Expanded = [numFormats]*expansion{
	formatQ4: avx2Q4.with(expandQ4AVX2),

	formatQ41:    avx2Nibbles.with(expandQ41AVX2),
	formatQ50:    avx2Shifted.with(expandQ50AVX2),
	formatQ51:    avx2Bytes.with(expandQ51AVX2),
	formatQ2K:    avx2SuperCrumbs16.with(expandQ2KAVX2),
	formatQ3K:    avx2SuperSmall16.with(expandQ3KAVX2),
	formatQ4K:    avx2SuperNibbles.with(expandQ4KAVX2),
	formatQ5K:    avx2SuperBytes.with(expandQ5KAVX2),
	formatQ6K:    avx2SuperScaled16.with(expandQ6KAVX2),
	formatIQ4NL:  avx2Signed.with(expandIQ4NLAVX2),
	formatIQ4XS:  avx2SuperSigned.with(expandIQ4XSAVX2),
	formatMXFP4:  avx2Shifted.with(expandMXFP4AVX2),
	formatIQ2X:   avx2SuperSigned.with(expandIQ2XAVX2),
	formatIQ2X16: avx2SuperLarge16.with(expandIQ2X16AVX2),
	formatIQ3X:   avx2SuperSigned.with(expandIQ3XAVX2),
	formatIQ3SX:  avx2SuperShifted.with(expandIQ3SXAVX2),
}

var vnniExpanded = [numFormats]*expansion{
	formatQ41:   vnniParts.with(expandQ41VNNI),
	formatQ50:   vnniPartsOffset.with(expandQ50VNNI),
	formatQ51:   vnniParts.with(expandQ51VNNI),
	formatIQ4NL: vnniPartsOffset.with(expandIQ4NLVNNI),
	formatMXFP4: vnniPartsOffset.with(expandMXFP4VNNI),
}

// The products in tile registers; superSquareKinds and partSquareKinds of _asm describe the kinds.
var (
	amxMins     = superSquares(superMinsAMX, 1, true)
	amxMins16   = superSquares(superMins16AMX, 2, true)
	amxSigned   = superSquares(superSignedAMX, 1, false)
	amxSigned16 = superSquares(superSigned16AMX, 2, false)

	amxPartsPlain  = partSquares(partsPlainAMX, scaledPartBytes)
	amxPartsScaled = partSquares(partsScaledAMX, scaledPartBytes)
	amxPartsMins   = partSquares(partsMinsAMX, int(unsafe.Sizeof(part{})))
)

// superSquares returns the kernel for superblocks, whose parts have 1 or 2 groups. An expanded one is two planes of bytes,
// corrections, D, and M if there are mins.
func superSquares(run squareFunc, groups int, mins bool) squareKernel {
	const planes, line = 2 * superLen * panelRows, panelRows * f32Bytes
	heads := 1
	if mins {
		heads = 2
	}
	return squareKernel{
		least: squareRows, multiple: 1, once: 1,
		blockBytes: planes + (superLen/blockLen/2*groups+heads)*line, run: run, write: writeSquaresAVX512,
	}
}

// partSquares returns the kernel for blocks of 32. The second square has to be nearly whole: 24 rows of q8_0 have 0.9 of
// the speed that they have with VPDPBUSD.
func partSquares(run squareFunc, blockBytes int) squareKernel {
	return squareKernel{least: 2*squareRows - 3, multiple: 2, once: 8, blockBytes: blockBytes, run: run, write: writeSquaresAVX512}
}

// with returns the kernel with the function that expands a format.
func (s squareKernel) with(f expandFunc) *squareKernel {
	s.expand = f
	return &s
}

var amxSquares = [numFormats]*squareKernel{
	formatQ8:     amxPartsPlain.with(expandQ8AMX),
	formatQ4:     amxPartsPlain.with(expandQ4AMX),
	formatQ41:    amxPartsMins.with(expandQ41AMX),
	formatQ50:    amxPartsScaled.with(expandQ50AMX),
	formatQ51:    amxPartsMins.with(expandQ51AMX),
	formatQ2K:    amxMins16.with(expandQ2KAMX),
	formatQ3K:    amxSigned16.with(expandQ3KAMX),
	formatQ4K:    amxMins.with(expandQ4KAMX),
	formatQ5K:    amxMins.with(expandQ5KAMX),
	formatQ6K:    amxSigned16.with(expandQ6KAMX),
	formatIQ4NL:  amxPartsScaled.with(expandIQ4NLAMX),
	formatIQ4XS:  amxSigned.with(expandIQ4XSAMX),
	formatMXFP4:  amxPartsScaled.with(expandMXFP4AMX),
	formatIQ2X:   amxSigned.with(expandIQ2XAMX),
	formatIQ2X16: amxSigned16.with(expandIQ2X16AMX),
	formatIQ3X:   amxSigned.with(expandIQ3XAMX),
	formatIQ3SX:  amxSigned.with(expandIQ3SXAMX),
}

// blocks replaces the tiles of formats with a scheme.
func (im *implementation) blocks(matmul, swiglu *[numFormats]tileSet, expanded *[numFormats]*expansion) {
	im.tiles(matmul, swiglu)
	im.expanded = *expanded
}
