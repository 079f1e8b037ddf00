package dtype

import (
	"bytes"
	"testing"
)

// TestPackPlanes packs two rows of three blocks, whose bytes are numbered, and compares every byte.
func TestPackPlanes(t *testing.T) {
	for _, d := range []DType{Q4_0, Q8_0} {
		const rows, blocks = 2, 3
		quants := d.BlockBytes() - 2
		var plain, want []byte
		number := func(row, block, i int) byte { return byte(100*row + 33*block + i) }
		for r := range rows {
			for b := range blocks {
				for i := range d.BlockBytes() {
					plain = append(plain, number(r, b, i))
				}
			}
			for b := range blocks {
				for i := range quants {
					want = append(want, number(r, b, 2+i))
				}
			}
			for b := range blocks {
				want = append(want, number(r, b, 0), number(r, b, 1))
			}
			want = append(want, make([]byte, 16-2*blocks)...)
		}
		got := bytes.Repeat([]byte{0xaa}, len(want))
		PackPlanes(d, got, plain, rows, 32*blocks)
		if !bytes.Equal(got, want) {
			t.Errorf("%v: got\n% x, want\n% x", d, got, want)
		}
		if at := d.PlaneAt(1, 32*blocks); at != blocks*quants {
			t.Errorf("%v: scales begin at %d, want %d", d, at, blocks*quants)
		}
	}
}

// TestPlanesAreAligned has rows of all numbers of blocks: each plane begins at a multiple of PlaneAlign and has room
// for its parts, and rows of whole 512 elements in blocks of 32 have no padding.
func TestPlanesAreAligned(t *testing.T) {
	for d := range NumDTypes {
		for blocks := range 40 {
			if d.Planes() == nil {
				continue
			}
			k, end := blocks*d.BlockElems(), 0
			for i, p := range d.Planes() {
				at := d.PlaneAt(i, k)
				if at < end || at%PlaneAlign != 0 {
					t.Errorf("%v, %d elements: plane %d begins at %d, and the one before ends at %d", d, k, i, at, end)
				}
				end = at + blocks*p.Bytes
			}
			row := int(PackedBytes(d, Planar, 1, int64(k)))
			exact := k%512 == 0 && d.BlockElems() == 32
			if row < end || row-end >= PlaneAlign || row%PlaneAlign != 0 || exact && row != d.RowBytes(k) {
				t.Errorf("%v, %d elements: a row has %d bytes, its planes end at %d", d, k, row, end)
			}
		}
	}
}

// TestPlanesHaveAllBytesOfABlock counts how often each byte of a block is in a plane.
func TestPlanesHaveAllBytesOfABlock(t *testing.T) {
	for d := range NumDTypes {
		if d.Planes() == nil {
			continue
		}
		seen := make([]int, d.BlockBytes())
		for _, p := range d.Planes() {
			for i := range p.Bytes {
				seen[p.Offset+i]++
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("%v: byte %d of a block is in %d planes", d, i, n)
			}
		}
	}
}

func TestPackPlanesPanicsOnOtherLengths(t *testing.T) {
	for _, c := range []struct{ dst, src int }{{48, 35}, {47, 36}, {64, 36}, {48, 54}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("PackPlanes takes %d bytes to %d", c.src, c.dst)
				}
			}()
			PackPlanes(Q4_0, make([]byte, c.dst), make([]byte, c.src), 1, 64)
		}()
	}
}
