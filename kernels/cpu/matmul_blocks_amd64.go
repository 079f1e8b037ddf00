//go:build !purego

package cpu

// Tiles in assembly of formats with a scheme: of one row of x by format, and of several rows by the kind of expanded
// parts.

var avx2BlockMatMul = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{1, tileQ41AVX2r1p1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{1, tileQ50AVX2r1p1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{1, tileQ51AVX2r1p1}}}},
	formatQ2K:    {{panels: 1, tiles: []rowTile{{1, tileQ2KAVX2r1p1}}}},
	formatQ3K:    {{panels: 1, tiles: []rowTile{{1, tileQ3KAVX2r1p1}}}},
	formatQ4K:    {{panels: 1, tiles: []rowTile{{1, tileQ4KAVX2r1p1}}}},
	formatQ5K:    {{panels: 1, tiles: []rowTile{{1, tileQ5KAVX2r1p1}}}},
	formatQ6K:    {{panels: 1, tiles: []rowTile{{1, tileQ6KAVX2r1p1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{1, tileIQ4NLAVX2r1p1}}}},
	formatIQ4XS:  {{panels: 1, tiles: []rowTile{{1, tileIQ4XSAVX2r1p1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{1, tileMXFP4AVX2r1p1}}}},
	formatIQ2X:   {{panels: 1, tiles: []rowTile{{1, tileIQ2XAVX2r1p1}}}},
	formatIQ2X16: {{panels: 1, tiles: []rowTile{{1, tileIQ2X16AVX2r1p1}}}},
	formatIQ3X:   {{panels: 1, tiles: []rowTile{{1, tileIQ3XAVX2r1p1}}}},
	formatIQ3SX:  {{panels: 1, tiles: []rowTile{{1, tileIQ3SXAVX2r1p1}}}},
}

var avx2BlockSwiGLU = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{1, swigluQ41AVX2r1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{1, swigluQ50AVX2r1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{1, swigluQ51AVX2r1}}}},
	formatQ2K:    {{panels: 1, tiles: []rowTile{{1, swigluQ2KAVX2r1}}}},
	formatQ3K:    {{panels: 1, tiles: []rowTile{{1, swigluQ3KAVX2r1}}}},
	formatQ4K:    {{panels: 1, tiles: []rowTile{{1, swigluQ4KAVX2r1}}}},
	formatQ5K:    {{panels: 1, tiles: []rowTile{{1, swigluQ5KAVX2r1}}}},
	formatQ6K:    {{panels: 1, tiles: []rowTile{{1, swigluQ6KAVX2r1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{1, swigluIQ4NLAVX2r1}}}},
	formatIQ4XS:  {{panels: 1, tiles: []rowTile{{1, swigluIQ4XSAVX2r1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{1, swigluMXFP4AVX2r1}}}},
	formatIQ2X:   {{panels: 1, tiles: []rowTile{{1, swigluIQ2XAVX2r1}}}},
	formatIQ2X16: {{panels: 1, tiles: []rowTile{{1, swigluIQ2X16AVX2r1}}}},
	formatIQ3X:   {{panels: 1, tiles: []rowTile{{1, swigluIQ3XAVX2r1}}}},
	formatIQ3SX:  {{panels: 1, tiles: []rowTile{{1, swigluIQ3SXAVX2r1}}}},
}

var vnniBlockMatMul = [numFormats]tileSet{
	formatQ41:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ41VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ41VNNIr1p1}}}},
	formatQ50:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ50VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ50VNNIr1p1}}}},
	formatQ51:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ51VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ51VNNIr1p1}}}},
	formatQ2K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ2KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ2KVNNIr1p1}}}},
	formatQ3K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ3KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ3KVNNIr1p1}}}},
	formatQ4K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ4KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ4KVNNIr1p1}}}},
	formatQ5K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ5KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ5KVNNIr1p1}}}},
	formatQ6K:    {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileQ6KVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileQ6KVNNIr1p1}}}},
	formatIQ4NL:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4NLVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ4NLVNNIr1p1}}}},
	formatIQ4XS:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ4XSVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ4XSVNNIr1p1}}}},
	formatMXFP4:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileMXFP4VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileMXFP4VNNIr1p1}}}},
	formatIQ2X:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2XVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ2XVNNIr1p1}}}},
	formatIQ2X16: {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ2X16VNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ2X16VNNIr1p1}}}},
	formatIQ3X:   {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3XVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ3XVNNIr1p1}}}},
	formatIQ3SX:  {{panels: 2, maxRows: 1, tiles: []rowTile{{1, tileIQ3SXVNNIr1p2}}}, {panels: 1, tiles: []rowTile{{1, tileIQ3SXVNNIr1p1}}}},
}

var vnniBlockSwiGLU = [numFormats]tileSet{
	formatQ41:    {{panels: 1, tiles: []rowTile{{1, swigluQ41VNNIr1}}}},
	formatQ50:    {{panels: 1, tiles: []rowTile{{1, swigluQ50VNNIr1}}}},
	formatQ51:    {{panels: 1, tiles: []rowTile{{1, swigluQ51VNNIr1}}}},
	formatQ2K:    {{panels: 1, tiles: []rowTile{{1, swigluQ2KVNNIr1}}}},
	formatQ3K:    {{panels: 1, tiles: []rowTile{{1, swigluQ3KVNNIr1}}}},
	formatQ4K:    {{panels: 1, tiles: []rowTile{{1, swigluQ4KVNNIr1}}}},
	formatQ5K:    {{panels: 1, tiles: []rowTile{{1, swigluQ5KVNNIr1}}}},
	formatQ6K:    {{panels: 1, tiles: []rowTile{{1, swigluQ6KVNNIr1}}}},
	formatIQ4NL:  {{panels: 1, tiles: []rowTile{{1, swigluIQ4NLVNNIr1}}}},
	formatIQ4XS:  {{panels: 1, tiles: []rowTile{{1, swigluIQ4XSVNNIr1}}}},
	formatMXFP4:  {{panels: 1, tiles: []rowTile{{1, swigluMXFP4VNNIr1}}}},
	formatIQ2X:   {{panels: 1, tiles: []rowTile{{1, swigluIQ2XVNNIr1}}}},
	formatIQ2X16: {{panels: 1, tiles: []rowTile{{1, swigluIQ2X16VNNIr1}}}},
	formatIQ3X:   {{panels: 1, tiles: []rowTile{{1, swigluIQ3XVNNIr1}}}},
	formatIQ3SX:  {{panels: 1, tiles: []rowTile{{1, swigluIQ3SXVNNIr1}}}},
}

var (
	avx2Parts = expansion{
		matmul: tileSet{
			{panels: 1, tiles: []rowTile{{4, tilePartAVX2r4p1}, {2, tilePartAVX2r2p1}, {1, tilePartAVX2r1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{2, swigluPartAVX2r2}, {1, swigluPartAVX2r1}}}},
	}
	avx2Parts16 = expansion{
		matmul: tileSet{
			{panels: 1, tiles: []rowTile{{3, tilePart16AVX2r3p1}, {2, tilePart16AVX2r2p1}, {1, tilePart16AVX2r1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{2, swigluPart16AVX2r2}, {1, swigluPart16AVX2r1}}}},
	}
	avx2Parts16Large = expansion{
		matmul: tileSet{
			{panels: 1, tiles: []rowTile{{3, tilePart16LargeAVX2r3p1}, {2, tilePart16LargeAVX2r2p1}, {1, tilePart16LargeAVX2r1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{2, swigluPart16LargeAVX2r2}, {1, swigluPart16LargeAVX2r1}}}},
	}
	avx2PartsSigned = expansion{
		matmul: tileSet{
			{panels: 1, tiles: []rowTile{{4, tilePartSignedAVX2r4p1}, {2, tilePartSignedAVX2r2p1}, {1, tilePartSignedAVX2r1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{2, swigluPartSignedAVX2r2}, {1, swigluPartSignedAVX2r1}}}},
	}
	vnniParts = expansion{
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{6, tilePartVNNIr6p2}, {4, tilePartVNNIr4p2}, {2, tilePartVNNIr2p2}, {1, tilePartVNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartVNNIr8p1}, {4, tilePartVNNIr4p1}, {2, tilePartVNNIr2p1}, {1, tilePartVNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{6, swigluPartVNNIr6}, {4, swigluPartVNNIr4}, {2, swigluPartVNNIr2}, {1, swigluPartVNNIr1}}}},
	}
	vnniParts16 = expansion{
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{4, tilePart16VNNIr4p2}, {2, tilePart16VNNIr2p2}, {1, tilePart16VNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePart16VNNIr8p1}, {4, tilePart16VNNIr4p1}, {2, tilePart16VNNIr2p1}, {1, tilePart16VNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{4, swigluPart16VNNIr4}, {2, swigluPart16VNNIr2}, {1, swigluPart16VNNIr1}}}},
	}
	vnniPartsSigned = expansion{
		matmul: tileSet{
			{panels: 2, tiles: []rowTile{{6, tilePartSignedVNNIr6p2}, {4, tilePartSignedVNNIr4p2}, {2, tilePartSignedVNNIr2p2}, {1, tilePartSignedVNNIr1p2}}},
			{panels: 1, tiles: []rowTile{{8, tilePartSignedVNNIr8p1}, {4, tilePartSignedVNNIr4p1}, {2, tilePartSignedVNNIr2p1}, {1, tilePartSignedVNNIr1p1}}},
		},
		swiglu: tileSet{{panels: 1, tiles: []rowTile{{6, swigluPartSignedVNNIr6}, {4, swigluPartSignedVNNIr4}, {2, swigluPartSignedVNNIr2}, {1, swigluPartSignedVNNIr1}}}},
	}
)

// with returns the expansion with the function that expands a format.
func (e expansion) with(f expandFunc) *expansion {
	e.expand = f
	return &e
}

var avx2Expanded = [numFormats]*expansion{
	formatQ41:    avx2Parts.with(expandQ41AVX2),
	formatQ50:    avx2Parts.with(expandQ50AVX2),
	formatQ51:    avx2Parts.with(expandQ51AVX2),
	formatQ2K:    avx2Parts16.with(expandQ2KAVX2),
	formatQ3K:    avx2Parts16.with(expandQ3KAVX2),
	formatQ4K:    avx2Parts.with(expandQ4KAVX2),
	formatQ5K:    avx2Parts.with(expandQ5KAVX2),
	formatQ6K:    avx2Parts16.with(expandQ6KAVX2),
	formatIQ4NL:  avx2PartsSigned.with(expandIQ4NLAVX2),
	formatIQ4XS:  avx2PartsSigned.with(expandIQ4XSAVX2),
	formatMXFP4:  avx2Parts.with(expandMXFP4AVX2),
	formatIQ2X:   avx2PartsSigned.with(expandIQ2XAVX2),
	formatIQ2X16: avx2Parts16Large.with(expandIQ2X16AVX2),
	formatIQ3X:   avx2PartsSigned.with(expandIQ3XAVX2),
	formatIQ3SX:  avx2Parts.with(expandIQ3SXAVX2),
}

var vnniExpanded = [numFormats]*expansion{
	formatQ41:    vnniParts.with(expandQ41VNNI),
	formatQ50:    vnniParts.with(expandQ50VNNI),
	formatQ51:    vnniParts.with(expandQ51VNNI),
	formatQ2K:    vnniParts16.with(expandQ2KVNNI),
	formatQ3K:    vnniParts16.with(expandQ3KVNNI),
	formatQ4K:    vnniParts.with(expandQ4KVNNI),
	formatQ5K:    vnniParts.with(expandQ5KVNNI),
	formatQ6K:    vnniParts16.with(expandQ6KVNNI),
	formatIQ4NL:  vnniPartsSigned.with(expandIQ4NLVNNI),
	formatIQ4XS:  vnniPartsSigned.with(expandIQ4XSVNNI),
	formatMXFP4:  vnniParts.with(expandMXFP4VNNI),
	formatIQ2X:   vnniPartsSigned.with(expandIQ2XVNNI),
	formatIQ2X16: vnniParts16.with(expandIQ2X16VNNI),
	formatIQ3X:   vnniPartsSigned.with(expandIQ3XVNNI),
	formatIQ3SX:  vnniParts.with(expandIQ3SXVNNI),
}

// blocks replaces the tiles of formats with a scheme.
func (im *implementation) blocks(matmul, swiglu *[numFormats]tileSet, expanded *[numFormats]*expansion) {
	im.tiles(matmul, swiglu)
	im.expanded = *expanded
}
