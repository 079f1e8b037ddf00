package dtype

import "fmt"

// Plane is a part of a block that layout Planar stores separately. A row of a matrix in that layout is its
// planes, one after the other. A plane has the part of each block of the row, in order and without gaps, and then zeros
// up to a multiple of PlaneAlign. The bytes of a part are those of a plain block.
//
// Example: a row of 64 elements of q4_0 is two blocks, each of a scale of 2 bytes and 16 bytes of quants.
//
//	plain    s0 s0 q0 … q0   s1 s1 q1 … q1           36 bytes, of which quants begin at 2 and 20
//	planar   q0 … q0 q1 … q1   s0 s0 s1 s1 0 … 0     48 bytes, of which quants begin at 0 and 16
//
// Rows of a multiple of 512 elements, which most models have, take the same bytes in both if blocks have 32 elements.
// If they have 256, the last plane is of 2 or 4 bytes a block, so that rows take up to 14 more.
type Plane struct {
	Offset, Bytes int // in a plain block
}

// PlaneAlign is the number of bytes of which the address of each plane is a multiple: those of the longest load of a
// thread of a GPU. Values in layout Planar begin at such addresses.
const PlaneAlign = 16

// planes are the planes of the dtypes that have layout Planar, those with the longest parts first. Blocks of q5_1,
// q4_k, q5_k and iq4_xs begin at multiples of 8 or 16 bytes, so that threads make long loads from plain rows.
var planes = [NumDTypes][]Plane{
	Q8_0: {{2, 32}, {0, 2}},
	Q4_0: {{2, 16}, {0, 2}},

	Q4_1:   {{4, 16}, {0, 4}},
	Q5_0:   {{6, 16}, {2, 4}, {0, 2}},
	IQ4_NL: {{2, 16}, {0, 2}},
	MXFP4:  {{1, 16}, {0, 1}},
	Q2_K:   {{16, 64}, {0, 16}, {80, 4}},
	Q3_K:   {{32, 64}, {0, 32}, {96, 12}, {108, 2}},
	Q6_K:   {{0, 128}, {128, 64}, {192, 16}, {208, 2}},
}

// Planes returns the parts of a block that layout Planar separates, in the order in which a row has their planes; nil
// if d does not have the layout. Callers must not modify them.
func (d DType) Planes() []Plane {
	if !d.Valid() {
		return nil
	}
	return planes[d]
}

// planarBytes returns the bytes of a row of that many blocks in layout Planar.
func planarBytes(d DType, blocks int64) (n int64) {
	for _, p := range planes[d] {
		n += planeBytes(p, blocks)
	}
	return n
}

// planeBytes returns the bytes of a plane of that many blocks.
func planeBytes(p Plane, blocks int64) int64 {
	return (blocks*int64(p.Bytes) + PlaneAlign - 1) / PlaneAlign * PlaneAlign
}

// PlaneAt returns where plane number i begins in a row of k elements in layout Planar.
func (d DType) PlaneAt(i, k int) (at int) {
	for _, p := range planes[d][:i] {
		at += int(planeBytes(p, int64(k/d.BlockElems())))
	}
	return at
}

// PackPlanes converts rows of k elements of d from layout Plain to Planar. The lengths must be exactly the PackedBytes
// of the two layouts.
func PackPlanes(d DType, dst, src []byte, rows, k int) {
	if int64(len(dst)) != PackedBytes(d, Planar, int64(rows), int64(k)) || int64(len(src)) != PackedBytes(d, Plain, int64(rows), int64(k)) {
		panic(fmt.Sprintf("dtype: internal error: %d rows of %d %v do not go from %d to %d bytes", rows, k, d, len(src), len(dst)))
	}
	blocks, blockBytes := k/d.BlockElems(), d.BlockBytes()
	for range rows {
		for _, p := range planes[d] {
			plane := dst[:planeBytes(p, int64(blocks))]
			for b := range blocks {
				copy(plane[b*p.Bytes:][:p.Bytes], src[b*blockBytes+p.Offset:])
			}
			clear(plane[blocks*p.Bytes:])
			dst = dst[len(plane):]
		}
		src = src[blocks*blockBytes:]
	}
}
