package tile

import (
	"encoding/binary"
	"fmt"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// The bytes of a panel of layout r16, rows 0 to 15 of a matrix [16, k]:
//
//	f32        for each k: 16 f32, one per row
//	f16        for each k: 16 halves, one per row
//	bf16       for each pair of k, 64 bytes: of each row its two halves, k = 2i and 2i+1,
//	           which is what VDPBF16PS takes; a last k without a partner: 16 halves
//	q8_0       for each block of 32 k, 544 bytes: 8 groups of 64 bytes, then 16 f16
//	           scales. Group j holds, for each row, its elements k = 4j to 4j+3, each as
//	           the byte q XOR 0x80, which is q+128 unsigned: what VPDPBUSD takes
//	q4_0       for each block of 32 k, 288 bytes: 4 groups of 64 bytes, then 16 f16
//	           scales. Group j holds, for each row, bytes 4j to 4j+3 of the plain block:
//	           low nibbles are k = 4j to 4j+3, high ones k = 16+4j to 16+4j+3, each the
//	           value plus 8
//	others     see blocks.go
//
// A panel of fewer rows is padded with elements of value zero, whose bytes are
// those of a plain block of zero bytes in this layout.
const (
	rows16    = dtype.PanelRows
	lineBytes = 64 // one group, and one cache line
)

var le = binary.LittleEndian

// PanelBytes returns the size of a panel of k elements per row of d.
func PanelBytes(d dtype.DType, k int) int {
	return int(dtype.PackedBytes(d, dtype.R16, rows16, int64(k)))
}

// PackPanel converts rows plain rows (1 to 16) of k elements of d in src to one panel in
// dst. The lengths must be exactly rows*d.RowBytes(k) and PanelBytes(d, k).
func PackPanel(d dtype.DType, dst, src []byte, rows, k int) {
	checkPanel(d, dst, src, rows, k)
	if s := d.Scheme(); s != nil {
		packSchemed(s, dst, src, rows, k/d.BlockElems(), d.BlockBytes())
		return
	}
	if rows < rows16 {
		clear(dst)
	}
	switch d {
	case dtype.F32:
		pack4(dst, src, rows, k)
	case dtype.F16:
		pack2(dst, src, rows, k)
	case dtype.BF16:
		packPairs(dst, src, rows, k)
	case dtype.Q8_0:
		packBlocks(dst, src, rows, k/32, q8Groups, q8Flip)
	case dtype.Q4_0:
		packBlocks(dst, src, rows, k/32, q4Groups, 0)
	}
}

// UnpackPanel is the inverse of PackPanel: it writes rows plain rows to dst. Padding is
// not looked at.
func UnpackPanel(d dtype.DType, dst, src []byte, rows, k int) {
	checkPanel(d, src, dst, rows, k)
	if s := d.Scheme(); s != nil {
		unpackSchemed(s, dst, src, rows, k/d.BlockElems(), d.BlockBytes())
		return
	}
	switch d {
	case dtype.F32:
		unpack4(dst, src, rows, k)
	case dtype.F16:
		unpack2(dst, src, rows, k)
	case dtype.BF16:
		unpackPairs(dst, src, rows, k)
	case dtype.Q8_0:
		unpackBlocks(dst, src, rows, k/32, q8Groups, q8Flip)
	case dtype.Q4_0:
		unpackBlocks(dst, src, rows, k/32, q4Groups, 0)
	}
}

// Pack converts a plain [n, k] matrix of d to layout r16. The lengths must be exactly the
// PackedBytes of the two layouts.
func Pack(d dtype.DType, dst, src []byte, n, k int) {
	each(d, dst, src, n, k, PackPanel)
}

// Unpack converts an [n, k] matrix of d in layout r16 to plain rows.
func Unpack(d dtype.DType, dst, src []byte, n, k int) {
	each(d, src, dst, n, k, func(d dtype.DType, panel, plain []byte, rows, k int) {
		UnpackPanel(d, plain, panel, rows, k)
	})
}

// each calls f for every panel with its packed and plain bytes.
func each(d dtype.DType, packed, plain []byte, n, k int, f func(d dtype.DType, packed, plain []byte, rows, k int)) {
	panel, row := PanelBytes(d, k), d.RowBytes(k)
	for n > 0 {
		rows := min(n, rows16)
		f(d, packed[:panel], plain[:rows*row], rows, k)
		packed, plain, n = packed[panel:], plain[rows*row:], n-rows
	}
}

// checkPanel panics on lengths that do not fit, before anything is written.
func checkPanel(d dtype.DType, panel, plain []byte, rows, k int) {
	if rows < 1 || rows > rows16 || len(panel) != PanelBytes(d, k) || len(plain) != rows*d.RowBytes(k) {
		panic(fmt.Sprintf("tile: internal error: %d rows of %d %v do not go from %d to %d bytes",
			rows, k, d, len(plain), len(panel)))
	}
}

// The quantized formats' groups per block and what their words are XORed with.
const (
	q8Groups = 8
	q4Groups = 4
	q8Flip   = 0x80808080
)

// packBlocks transposes blocks of a scale and groups 4-byte words: word j of row r goes to
// place r of group j. It reads each row's block in one go and writes within one panel
// block, which stays in the first-level cache.
func packBlocks(dst, src []byte, rows, blocks, groups int, flip uint32) {
	plain, panel := 2+4*groups, groups*lineBytes+2*rows16
	if rows < rows16 && flip != 0 {
		fillWords(dst, blocks, groups, flip)
	}
	for r := range rows {
		row := src[r*blocks*plain:][:blocks*plain]
		at := r * 4
		for b := 0; b < blocks; b++ {
			in, out := row[b*plain:][:plain], dst[b*panel:][:panel]
			scale := out[groups*lineBytes+2*r:]
			scale[0], scale[1] = in[0], in[1]
			for j, o := 2, at; j+4 <= len(in); j, o = j+4, o+lineBytes {
				le.PutUint32(out[o:o+4], le.Uint32(in[j:j+4])^flip)
			}
		}
	}
}

// fillWords gives every element of a panel the byte of zero.
func fillWords(dst []byte, blocks, groups int, word uint32) {
	panel := groups*lineBytes + 2*rows16
	for b := range blocks {
		out := dst[b*panel:][:groups*lineBytes]
		for i := 0; i < len(out); i += 4 {
			le.PutUint32(out[i:], word)
		}
	}
}

// unpackBlocks is the inverse of packBlocks.
func unpackBlocks(dst, src []byte, rows, blocks, groups int, flip uint32) {
	plain, panel := 2+4*groups, groups*lineBytes+2*rows16
	for r := range rows {
		row := dst[r*blocks*plain:][:blocks*plain]
		for b := range blocks {
			out, in := row[b*plain:][:plain], src[b*panel:][:panel]
			copy(out[:2], in[groups*lineBytes+2*r:])
			for j := range groups {
				le.PutUint32(out[2+4*j:], le.Uint32(in[j*lineBytes+r*4:])^flip)
			}
		}
	}
}

// packPairs transposes pairs of 2-byte elements, then the last one of an odd number.
func packPairs(dst, src []byte, rows, k int) {
	even := k &^ 1
	packSquares(dst[:even*2*rows16], src, rows, even/2, k*2)
	if even == k {
		return
	}
	for r := range rows {
		copy(dst[even*2*rows16+2*r:][:2], src[(r*k+even)*2:])
	}
}

// unpackPairs is the inverse of packPairs.
func unpackPairs(dst, src []byte, rows, k int) {
	for r := range rows {
		for i := range k {
			at := i/2*lineBytes + r*4 + i%2*2
			if i == k-1 && k%2 == 1 {
				at = i*2*rows16 + r*2
			}
			copy(dst[(r*k+i)*2:][:2], src[at:])
		}
	}
}

// pack4 transposes 4-byte elements.
func pack4(dst, src []byte, rows, k int) { packSquares(dst, src, rows, k, k*4) }

// packSquares transposes words of 4 bytes, k of each row of rowBytes, in squares of 16 by 16: a square of the panel is
// 1 KiB and each row's part of it one cache line, so that long rows of a power of two, whose starts share a set of the
// cache, do not evict each other.
func packSquares(dst, src []byte, rows, k, rowBytes int) {
	for k0 := 0; k0 < k; k0 += 16 {
		width := min(16, k-k0)
		square := dst[k0*4*rows16:][:width*4*rows16]
		for r := range rows {
			in := src[r*rowBytes+k0*4:][:width*4]
			for i, o := 0, r*4; i+4 <= len(in); i, o = i+4, o+lineBytes {
				le.PutUint32(square[o:o+4], le.Uint32(in[i:i+4]))
			}
		}
	}
}

// unpack4 is the inverse of pack4.
func unpack4(dst, src []byte, rows, k int) {
	for r := range rows {
		for i := range k {
			le.PutUint32(dst[(r*k+i)*4:], le.Uint32(src[(i*rows16+r)*4:]))
		}
	}
}

// pack2 transposes 2-byte elements, in squares as packSquares.
func pack2(dst, src []byte, rows, k int) {
	for k0 := 0; k0 < k; k0 += 32 {
		width := min(32, k-k0)
		square := dst[k0*2*rows16:][:width*2*rows16]
		for r := range rows {
			in := src[(r*k+k0)*2:][:width*2]
			for i, o := 0, r*2; i+2 <= len(in); i, o = i+2, o+2*rows16 {
				le.PutUint16(square[o:o+2], le.Uint16(in[i:i+2]))
			}
		}
	}
}

// unpack2 is the inverse of pack2.
func unpack2(dst, src []byte, rows, k int) {
	for r := range rows {
		for i := range k {
			le.PutUint16(dst[(r*k+i)*2:], le.Uint16(src[(i*rows16+r)*2:]))
		}
	}
}
