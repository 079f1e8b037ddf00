//go:build !purego

package cpu

import "unsafe"

// Tiles in assembly of formats with a scheme: of one row of x, and with VNNI and for some formats with AVX2 of few
// rows, by format, and of more rows by the kind of expanded parts.

var avx2BlockMatMul = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{4, tileQ41AVX2r4p1}, {2, tileQ41AVX2r2p1}, {1, tileQ41AVX2r1p1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{4, tileQ50AVX2r4p1}, {2, tileQ50AVX2r2p1}, {1, tileQ50AVX2r1p1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{4, tileQ51AVX2r4p1}, {2, tileQ51AVX2r2p1}, {1, tileQ51AVX2r1p1}}}},
	formatQ2K:    {{panels: 1, tiles: []rowTile{{1, tileQ2KAVX2r1p1}}}},
	formatQ3K:    {{panels: 1, tiles: []rowTile{{1, tileQ3KAVX2r1p1}}}},
	formatQ4K:    {{panels: 1, tiles: []rowTile{{4, tileQ4KAVX2r4p1}, {2, tileQ4KAVX2r2p1}, {1, tileQ4KAVX2r1p1}}}},
	formatQ5K:    {{panels: 1, tiles: []rowTile{{4, tileQ5KAVX2r4p1}, {2, tileQ5KAVX2r2p1}, {1, tileQ5KAVX2r1p1}}}},
	formatQ6K:    {{panels: 1, tiles: []rowTile{{1, tileQ6KAVX2r1p1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{1, tileIQ4NLAVX2r1p1}}}},
	formatIQ4XS:  {{panels: 1, tiles: []rowTile{{1, tileIQ4XSAVX2r1p1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{4, tileMXFP4AVX2r4p1}, {2, tileMXFP4AVX2r2p1}, {1, tileMXFP4AVX2r1p1}}}},
	formatIQ2X:   {{panels: 1, tiles: []rowTile{{1, tileIQ2XAVX2r1p1}}}},
	formatIQ2X16: {{panels: 1, tiles: []rowTile{{1, tileIQ2X16AVX2r1p1}}}},
	formatIQ3X:   {{panels: 1, tiles: []rowTile{{1, tileIQ3XAVX2r1p1}}}},
	formatIQ3SX:  {{panels: 1, tiles: []rowTile{{4, tileIQ3SXAVX2r4p1}, {2, tileIQ3SXAVX2r2p1}, {1, tileIQ3SXAVX2r1p1}}}},
}

var avx2BlockSwiGLU = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{4, swigluQ41AVX2r4}, {2, swigluQ41AVX2r2}, {1, swigluQ41AVX2r1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{4, swigluQ50AVX2r4}, {2, swigluQ50AVX2r2}, {1, swigluQ50AVX2r1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{4, swigluQ51AVX2r4}, {2, swigluQ51AVX2r2}, {1, swigluQ51AVX2r1}}}},
	formatQ2K:    {{panels: 1, tiles: []rowTile{{1, swigluQ2KAVX2r1}}}},
	formatQ3K:    {{panels: 1, tiles: []rowTile{{1, swigluQ3KAVX2r1}}}},
	formatQ4K:    {{panels: 1, tiles: []rowTile{{4, swigluQ4KAVX2r4}, {2, swigluQ4KAVX2r2}, {1, swigluQ4KAVX2r1}}}},
	formatQ5K:    {{panels: 1, tiles: []rowTile{{4, swigluQ5KAVX2r4}, {2, swigluQ5KAVX2r2}, {1, swigluQ5KAVX2r1}}}},
	formatQ6K:    {{panels: 1, tiles: []rowTile{{1, swigluQ6KAVX2r1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{1, swigluIQ4NLAVX2r1}}}},
	formatIQ4XS:  {{panels: 1, tiles: []rowTile{{1, swigluIQ4XSAVX2r1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{4, swigluMXFP4AVX2r4}, {2, swigluMXFP4AVX2r2}, {1, swigluMXFP4AVX2r1}}}},
	formatIQ2X:   {{panels: 1, tiles: []rowTile{{1, swigluIQ2XAVX2r1}}}},
	formatIQ2X16: {{panels: 1, tiles: []rowTile{{1, swigluIQ2X16AVX2r1}}}},
	formatIQ3X:   {{panels: 1, tiles: []rowTile{{1, swigluIQ3XAVX2r1}}}},
	formatIQ3SX:  {{panels: 1, tiles: []rowTile{{4, swigluIQ3SXAVX2r4}, {2, swigluIQ3SXAVX2r2}, {1, swigluIQ3SXAVX2r1}}}},
}

var vnniBlockMatMul = [numFormats]tileSet{
	formatQ41:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ41VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ41VNNIr8p1}, {4, tileQ41VNNIr4p1}, {2, tileQ41VNNIr2p1}, {1, tileQ41VNNIr1p1}}}},
	formatQ50:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ50VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ50VNNIr8p1}, {4, tileQ50VNNIr4p1}, {2, tileQ50VNNIr2p1}, {1, tileQ50VNNIr1p1}}}},
	formatQ51:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ51VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ51VNNIr8p1}, {4, tileQ51VNNIr4p1}, {2, tileQ51VNNIr2p1}, {1, tileQ51VNNIr1p1}}}},
	formatQ2K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ2KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ2KVNNIr8p1}, {4, tileQ2KVNNIr4p1}, {2, tileQ2KVNNIr2p1}, {1, tileQ2KVNNIr1p1}}}},
	formatQ3K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ3KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ3KVNNIr8p1}, {4, tileQ3KVNNIr4p1}, {2, tileQ3KVNNIr2p1}, {1, tileQ3KVNNIr1p1}}}},
	formatQ4K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ4KVNNIr8p1}, {4, tileQ4KVNNIr4p1}, {2, tileQ4KVNNIr2p1}, {1, tileQ4KVNNIr1p1}}}},
	formatQ5K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ5KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ5KVNNIr8p1}, {4, tileQ5KVNNIr4p1}, {2, tileQ5KVNNIr2p1}, {1, tileQ5KVNNIr1p1}}}},
	formatQ6K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ6KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileQ6KVNNIr8p1}, {4, tileQ6KVNNIr4p1}, {2, tileQ6KVNNIr2p1}, {1, tileQ6KVNNIr1p1}}}},
	formatIQ4NL:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4NLVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ4NLVNNIr8p1}, {4, tileIQ4NLVNNIr4p1}, {2, tileIQ4NLVNNIr2p1}, {1, tileIQ4NLVNNIr1p1}}}},
	formatIQ4XS:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4XSVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ4XSVNNIr8p1}, {4, tileIQ4XSVNNIr4p1}, {2, tileIQ4XSVNNIr2p1}, {1, tileIQ4XSVNNIr1p1}}}},
	formatMXFP4:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileMXFP4VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileMXFP4VNNIr8p1}, {4, tileMXFP4VNNIr4p1}, {2, tileMXFP4VNNIr2p1}, {1, tileMXFP4VNNIr1p1}}}},
	formatIQ2X:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2XVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ2XVNNIr8p1}, {4, tileIQ2XVNNIr4p1}, {2, tileIQ2XVNNIr2p1}, {1, tileIQ2XVNNIr1p1}}}},
	formatIQ2X16: {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2X16VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ2X16VNNIr8p1}, {4, tileIQ2X16VNNIr4p1}, {2, tileIQ2X16VNNIr2p1}, {1, tileIQ2X16VNNIr1p1}}}},
	formatIQ3X:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3XVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ3XVNNIr8p1}, {4, tileIQ3XVNNIr4p1}, {2, tileIQ3XVNNIr2p1}, {1, tileIQ3XVNNIr1p1}}}},
	formatIQ3SX:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3SXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{8, tileIQ3SXVNNIr8p1}, {4, tileIQ3SXVNNIr4p1}, {2, tileIQ3SXVNNIr2p1}, {1, tileIQ3SXVNNIr1p1}}}},
}

var vnniBlockSwiGLU = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{8, swigluQ41VNNIr8}, {4, swigluQ41VNNIr4}, {2, swigluQ41VNNIr2}, {1, swigluQ41VNNIr1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{8, swigluQ50VNNIr8}, {4, swigluQ50VNNIr4}, {2, swigluQ50VNNIr2}, {1, swigluQ50VNNIr1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{8, swigluQ51VNNIr8}, {4, swigluQ51VNNIr4}, {2, swigluQ51VNNIr2}, {1, swigluQ51VNNIr1}}}},
	formatQ2K:    {{panels: 1, tiles: []rowTile{{4, swigluQ2KVNNIr4}, {2, swigluQ2KVNNIr2}, {1, swigluQ2KVNNIr1}}}},
	formatQ3K:    {{panels: 1, tiles: []rowTile{{4, swigluQ3KVNNIr4}, {2, swigluQ3KVNNIr2}, {1, swigluQ3KVNNIr1}}}},
	formatQ4K:    {{panels: 1, tiles: []rowTile{{8, swigluQ4KVNNIr8}, {4, swigluQ4KVNNIr4}, {2, swigluQ4KVNNIr2}, {1, swigluQ4KVNNIr1}}}},
	formatQ5K:    {{panels: 1, tiles: []rowTile{{8, swigluQ5KVNNIr8}, {4, swigluQ5KVNNIr4}, {2, swigluQ5KVNNIr2}, {1, swigluQ5KVNNIr1}}}},
	formatQ6K:    {{panels: 1, tiles: []rowTile{{4, swigluQ6KVNNIr4}, {2, swigluQ6KVNNIr2}, {1, swigluQ6KVNNIr1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{8, swigluIQ4NLVNNIr8}, {4, swigluIQ4NLVNNIr4}, {2, swigluIQ4NLVNNIr2}, {1, swigluIQ4NLVNNIr1}}}},
	formatIQ4XS:  {{panels: 1, tiles: []rowTile{{8, swigluIQ4XSVNNIr8}, {4, swigluIQ4XSVNNIr4}, {2, swigluIQ4XSVNNIr2}, {1, swigluIQ4XSVNNIr1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{8, swigluMXFP4VNNIr8}, {4, swigluMXFP4VNNIr4}, {2, swigluMXFP4VNNIr2}, {1, swigluMXFP4VNNIr1}}}},
	formatIQ2X:   {{panels: 1, tiles: []rowTile{{8, swigluIQ2XVNNIr8}, {4, swigluIQ2XVNNIr4}, {2, swigluIQ2XVNNIr2}, {1, swigluIQ2XVNNIr1}}}},
	formatIQ2X16: {{panels: 1, tiles: []rowTile{{4, swigluIQ2X16VNNIr4}, {2, swigluIQ2X16VNNIr2}, {1, swigluIQ2X16VNNIr1}}}},
	formatIQ3X:   {{panels: 1, tiles: []rowTile{{8, swigluIQ3XVNNIr8}, {4, swigluIQ3XVNNIr4}, {2, swigluIQ3XVNNIr2}, {1, swigluIQ3XVNNIr1}}}},
	formatIQ3SX:  {{panels: 1, tiles: []rowTile{{8, swigluIQ3SXVNNIr8}, {4, swigluIQ3SXVNNIr4}, {2, swigluIQ3SXVNNIr2}, {1, swigluIQ3SXVNNIr1}}}},
}

// avx2Few is the most rows of x that read panels of a format with a scheme as they are stored with AVX2, if the format
// has such tiles.
const avx2Few = 4

// The tiles of expanded parts for AVX2; pairKinds of _asm describes the kinds.
var (
	avx2Nibbles = expansion{
		least:     [2]int{avx2Few + 1, avx2Few + 1},
		ask:       true,
		partBytes: int(unsafe.Sizeof(part{})),
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{6, tileNibblesAVX2r6p1}, {2, tileNibblesAVX2r2p1}, {1, tileNibblesAVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{6, swigluNibblesAVX2r6}, {2, swigluNibblesAVX2r2}, {1, swigluNibblesAVX2r1}}}},
	}
	avx2Bytes = expansion{
		least:     [2]int{avx2Few + 1, avx2Few + 1},
		ask:       true,
		partBytes: int(unsafe.Sizeof(part{})),
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{6, tileBytesAVX2r6p1}, {2, tileBytesAVX2r2p1}, {1, tileBytesAVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{6, swigluBytesAVX2r6}, {2, swigluBytesAVX2r2}, {1, swigluBytesAVX2r1}}}},
	}
	avx2Shifted = expansion{
		least:     [2]int{avx2Few + 1, avx2Few + 1},
		ask:       true,
		partBytes: int(unsafe.Sizeof(part{})),
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{6, tileShiftedAVX2r6p1}, {2, tileShiftedAVX2r2p1}, {1, tileShiftedAVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{6, swigluShiftedAVX2r6}, {2, swigluShiftedAVX2r2}, {1, swigluShiftedAVX2r1}}}},
	}
	avx2Crumbs16 = expansion{
		ask:       true,
		partBytes: int(unsafe.Sizeof(part16{})),
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{6, tileCrumbs16AVX2r6p1}, {2, tileCrumbs16AVX2r2p1}, {1, tileCrumbs16AVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{6, swigluCrumbs16AVX2r6}, {2, swigluCrumbs16AVX2r2}, {1, swigluCrumbs16AVX2r1}}}},
	}
	avx2Scaled16 = expansion{
		ask:       true,
		partBytes: int(unsafe.Sizeof(part16{})),
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{4, tileScaled16AVX2r4p1}, {2, tileScaled16AVX2r2p1}, {1, tileScaled16AVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{4, swigluScaled16AVX2r4}, {2, swigluScaled16AVX2r2}, {1, swigluScaled16AVX2r1}}}},
	}
	avx2Large16 = expansion{
		ask:       true,
		partBytes: int(unsafe.Sizeof(part16{})),
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{6, tileLarge16AVX2r6p1}, {2, tileLarge16AVX2r2p1}, {1, tileLarge16AVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{6, swigluLarge16AVX2r6}, {2, swigluLarge16AVX2r2}, {1, swigluLarge16AVX2r1}}}},
	}
	avx2Signed = expansion{
		ask:       true,
		partBytes: signedPartBytes,
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{4, tileSignedAVX2r4p1}, {2, tileSignedAVX2r2p1}, {1, tileSignedAVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{4, swigluSignedAVX2r4}, {2, swigluSignedAVX2r2}, {1, swigluSignedAVX2r1}}}},
	}
	avx2Q8 = expansion{
		least:     [2]int{mostFew/2 + 1, mostFew/4 + 1},
		ask:       true,
		partBytes: signedPartBytes,
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{4, tilePairQ8AVX2r4p1}, {2, tilePairQ8AVX2r2p1}, {1, tilePairQ8AVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{4, swigluPairQ8AVX2r4}, {2, swigluPairQ8AVX2r2}, {1, swigluPairQ8AVX2r1}}}},
	}
	avx2Q4 = expansion{
		least:     [2]int{mostFew/2 + 1, mostFew/4 + 1},
		ask:       true,
		partBytes: scaledPartBytes,
		matmul:    tileSet{{panels: 1, tiles: []rowTile{{6, tilePairQ4AVX2r6p1}, {2, tilePairQ4AVX2r2p1}, {1, tilePairQ4AVX2r1p1}}}},
		swiglu:    tileSet{{panels: 1, tiles: []rowTile{{6, swigluPairQ4AVX2r6}, {2, swigluPairQ4AVX2r2}, {1, swigluPairQ4AVX2r1}}}},
	}
)

// Parts of kinds that only AVX2 has: bytes and scales, or signs, magnitudes, a sum for each row and scales.
const (
	scaledPartBytes = panelRows*blockLen + panelRows*f32Bytes
	signedPartBytes = 2 * scaledPartBytes
)

var (
	vnniParts = expansion{
		least:     [2]int{mostFew + 1, mostFew + 1},
		partBytes: int(unsafe.Sizeof(part{})),
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{6, tilePartVNNIr6p2}, {4, tilePartVNNIr4p2}, {2, tilePartVNNIr2p2}, {1, tilePartVNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartVNNIr8p1}, {4, tilePartVNNIr4p1}, {2, tilePartVNNIr2p1}, {1, tilePartVNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{6, swigluPartVNNIr6}, {4, swigluPartVNNIr4}, {2, swigluPartVNNIr2}, {1, swigluPartVNNIr1}}}},
	}
	vnniParts16 = expansion{
		least:     [2]int{mostFew + 1, mostFew + 1},
		partBytes: int(unsafe.Sizeof(part16{})),
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{4, tilePart16VNNIr4p2}, {2, tilePart16VNNIr2p2}, {1, tilePart16VNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePart16VNNIr8p1}, {4, tilePart16VNNIr4p1}, {2, tilePart16VNNIr2p1}, {1, tilePart16VNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{4, swigluPart16VNNIr4}, {2, swigluPart16VNNIr2}, {1, swigluPart16VNNIr1}}}},
	}
	vnniPartsOffset16 = expansion{
		least:     [2]int{mostFew + 1, mostFew + 1},
		partBytes: int(unsafe.Sizeof(part16{})),
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{4, tilePartOffset16VNNIr4p2}, {2, tilePartOffset16VNNIr2p2}, {1, tilePartOffset16VNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartOffset16VNNIr8p1}, {4, tilePartOffset16VNNIr4p1}, {2, tilePartOffset16VNNIr2p1}, {1, tilePartOffset16VNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{4, swigluPartOffset16VNNIr4}, {2, swigluPartOffset16VNNIr2}, {1, swigluPartOffset16VNNIr1}}}},
	}
	vnniPartsOffset = expansion{
		least:     [2]int{mostFew + 1, mostFew + 1},
		partBytes: int(unsafe.Sizeof(part{})),
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{6, tilePartOffsetVNNIr6p2}, {4, tilePartOffsetVNNIr4p2}, {2, tilePartOffsetVNNIr2p2}, {1, tilePartOffsetVNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartOffsetVNNIr8p1}, {4, tilePartOffsetVNNIr4p1}, {2, tilePartOffsetVNNIr2p1}, {1, tilePartOffsetVNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{6, swigluPartOffsetVNNIr6}, {4, swigluPartOffsetVNNIr4}, {2, swigluPartOffsetVNNIr2}, {1, swigluPartOffsetVNNIr1}}}},
	}
)

// with returns the expansion with the function that expands a format.
func (e expansion) with(f expandFunc) *expansion {
	e.expand = f
	return &e
}

var avx2Expanded = [numFormats]*expansion{
	formatQ8: avx2Q8.with(expandQ8AVX2),
	formatQ4: avx2Q4.with(expandQ4AVX2),

	formatQ41:    avx2Nibbles.with(expandQ41AVX2),
	formatQ50:    avx2Shifted.with(expandQ50AVX2),
	formatQ51:    avx2Bytes.with(expandQ51AVX2),
	formatQ2K:    avx2Crumbs16.with(expandQ2KAVX2),
	formatQ3K:    avx2Scaled16.with(expandQ3KAVX2),
	formatQ4K:    avx2Nibbles.with(expandQ4KAVX2),
	formatQ5K:    avx2Bytes.with(expandQ5KAVX2),
	formatQ6K:    avx2Scaled16.with(expandQ6KAVX2),
	formatIQ4NL:  avx2Signed.with(expandIQ4NLAVX2),
	formatIQ4XS:  avx2Signed.with(expandIQ4XSAVX2),
	formatMXFP4:  avx2Shifted.with(expandMXFP4AVX2),
	formatIQ2X:   avx2Signed.with(expandIQ2XAVX2),
	formatIQ2X16: avx2Large16.with(expandIQ2X16AVX2),
	formatIQ3X:   avx2Signed.with(expandIQ3XAVX2),
	formatIQ3SX:  avx2Shifted.with(expandIQ3SXAVX2),
}

var vnniExpanded = [numFormats]*expansion{
	formatQ41:    vnniParts.with(expandQ41VNNI),
	formatQ50:    vnniPartsOffset.with(expandQ50VNNI),
	formatQ51:    vnniParts.with(expandQ51VNNI),
	formatQ2K:    vnniParts16.with(expandQ2KVNNI),
	formatQ3K:    vnniPartsOffset16.with(expandQ3KVNNI),
	formatQ4K:    vnniParts.with(expandQ4KVNNI),
	formatQ5K:    vnniParts.with(expandQ5KVNNI),
	formatQ6K:    vnniPartsOffset16.with(expandQ6KVNNI),
	formatIQ4NL:  vnniPartsOffset.with(expandIQ4NLVNNI),
	formatIQ4XS:  vnniPartsOffset.with(expandIQ4XSVNNI),
	formatMXFP4:  vnniPartsOffset.with(expandMXFP4VNNI),
	formatIQ2X:   vnniPartsOffset.with(expandIQ2XVNNI),
	formatIQ2X16: vnniParts16.with(expandIQ2X16VNNI),
	formatIQ3X:   vnniPartsOffset.with(expandIQ3XVNNI),
	formatIQ3SX:  vnniPartsOffset.with(expandIQ3SXVNNI),
}

// blocks replaces the tiles of formats with a scheme.
func (im *implementation) blocks(matmul, swiglu *[numFormats]tileSet, expanded *[numFormats]*expansion) {
	im.tiles(matmul, swiglu)
	im.expanded = *expanded
}
