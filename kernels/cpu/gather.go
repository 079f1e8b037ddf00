package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// Gathers: rows of a table, chosen by index, as f32. All compute
//
//	dst[r, c] = table[idx[r], c] for rows [r0, r1) and columns [c0, c1)
//
// with dst f32 [*, n], idx i32 [*] and a table of n columns. For quantized tables n, c0 and
// c1 are multiples of the block length, 32 or 256. Indices are trusted to be rows of the table.

// GatherF32 gathers from a plain f32 table.
//
//go:noinline
func GatherF32(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		copy(target(dst, n, r, c0, c1), floats(floatAt(table, index(idx, r)*n+c0), c1-c0))
	}
}

// GatherF16 gathers from a plain f16 table.
//
//go:noinline
func GatherF16(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		active.f16ToF32(floatAt(dst, r*n+c0), halfAt(table, index(idx, r)*n+c0), c1-c0)
	}
}

// GatherBF16 gathers from a plain bf16 table.
//
//go:noinline
func GatherBF16(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		active.bf16ToF32(floatAt(dst, r*n+c0), halfAt(table, index(idx, r)*n+c0), c1-c0)
	}
}

// GatherQ8_0 gathers from a plain q8_0 table.
//
//go:noinline
func GatherQ8_0(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		row := unsafe.Add(table, (index(idx, r)*n+c0)/blockLen*q8Bytes)
		active.decodeQ8(floatAt(dst, r*n+c0), row, c1-c0)
	}
}

// GatherQ4_0 gathers from a plain q4_0 table.
//
//go:noinline
func GatherQ4_0(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		row := unsafe.Add(table, (index(idx, r)*n+c0)/blockLen*q4Bytes)
		active.decodeQ4(floatAt(dst, r*n+c0), row, c1-c0)
	}
}

// GatherR16F32 gathers from an f32 table in layout r16, such as an output matrix that is
// the embedding table as well.
//
//go:noinline
func GatherR16F32(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		panel, lane := place(idx, r)
		rows := unsafe.Slice((*lanes)(floatAt(table, panel*panelRows*n)), n)
		for i, v := range rows[c0:c1] {
			*(*float32)(floatAt(dst, r*n+c0+i)) = v[lane]
		}
	}
}

// GatherR16F16 gathers from an f16 table in layout r16.
//
//go:noinline
func GatherR16F16(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		panel, lane := place(idx, r)
		rows := unsafe.Slice((*[panelRows]uint16)(halfAt(table, panel*panelRows*n)), n)
		out := target(dst, n, r, c0, c1)
		for i, v := range rows[c0:c1] {
			out[i] = dtype.F16ToF32(v[lane])
		}
	}
}

// GatherR16BF16 gathers from a bf16 table in layout r16.
//
//go:noinline
func GatherR16BF16(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		panel, lane := place(idx, r)
		from := halfAt(table, panel*panelRows*n)
		out := target(dst, n, r, c0, c1)
		for i := range out {
			out[i] = dtype.BF16ToF32(*(*uint16)(halfAt(from, pairPlace(c0+i, n, lane))))
		}
	}
}

// GatherR16Q8_0 gathers from a q8_0 table in layout r16.
//
//go:noinline
func GatherR16Q8_0(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		panel, lane := place(idx, r)
		blocks := unsafe.Slice((*q8Panel)(unsafe.Add(table, panel*n/blockLen*panelRows*q8Bytes)), n/blockLen)
		for b := c0 / blockLen; b < c1/blockLen; b++ {
			blocks[b].decode((*[blockLen]float32)(floatAt(dst, r*n+b*blockLen)), lane)
		}
	}
}

// GatherR16Q4_0 gathers from a q4_0 table in layout r16.
//
//go:noinline
func GatherR16Q4_0(dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	for r := r0; r < r1; r++ {
		panel, lane := place(idx, r)
		blocks := unsafe.Slice((*q4Panel)(unsafe.Add(table, panel*n/blockLen*panelRows*q4Bytes)), n/blockLen)
		for b := c0 / blockLen; b < c1/blockLen; b++ {
			blocks[b].decode((*[blockLen]float32)(floatAt(dst, r*n+b*blockLen)), lane)
		}
	}
}

// gatherBlocks gathers from a plain table of a format with a scheme. n, c0 and c1 are multiples of its block length.
func gatherBlocks(d dtype.DType, dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	bytes := d.RowBytes(c1 - c0)
	for r := r0; r < r1; r++ {
		row := unsafe.Add(table, d.RowBytes(index(idx, r)*n+c0))
		if err := dtype.DecodeFloat32(d, target(dst, n, r, c0, c1), octets(row, bytes)); err != nil {
			panic("cpu: internal error: " + err.Error())
		}
	}
}

// gatherPanels gathers from a table of a format with a scheme in layout r16.
func gatherPanels(d dtype.DType, dst, idx, table unsafe.Pointer, n, r0, r1, c0, c1 int) {
	s, blockLen, bytes := d.Scheme(), d.BlockElems(), d.PanelBlockBytes()
	var f dtype.Fields
	var row [superLen]float64
	for r := r0; r < r1; r++ {
		panel, lane := place(idx, r)
		for c := c0; c < c1; c += blockLen {
			tile.UnpackFields(s, &f, octets(unsafe.Add(table, (panel*n+c)/blockLen*bytes), bytes), lane)
			s.Elements(row[:blockLen], &f)
			out := target(dst, n, r, c, c+blockLen)
			for i := range out {
				out[i] = float32(row[i])
			}
		}
	}
}

// pairPlace returns the place in a panel of pairs of k of element i of n of a lane, in halves. The last
// element of an odd number has no partner.
func pairPlace(i, n, lane int) int {
	if i == n-1 && n%2 == 1 {
		return i*panelRows + lane
	}
	return i&^1*panelRows + 2*lane + i&1
}

// target views columns [c0, c1) of row r of an f32 matrix with n columns.
func target(dst unsafe.Pointer, n, r, c0, c1 int) []float32 {
	return floats(floatAt(dst, r*n+c0), c1-c0)
}

// index returns element r of an i32 vector.
func index(idx unsafe.Pointer, r int) int { return int(*(*int32)(floatAt(idx, r))) }

// place returns the panel and the lane within it of the row that idx[r] names.
func place(idx unsafe.Pointer, r int) (panel, lane int) {
	i := index(idx, r)
	return i / panelRows, i % panelRows
}

// decodeQ8Generic converts n elements of plain q8_0.
func decodeQ8Generic(dst, src unsafe.Pointer, n int) {
	for b := range n / blockLen {
		in := octets(unsafe.Add(src, b*q8Bytes), q8Bytes)
		d := dtype.F16ToF32(uint16(in[0]) | uint16(in[1])<<8)
		out := floats(floatAt(dst, b*blockLen), blockLen)
		for i, q := range in[2:] {
			out[i] = d * float32(int8(q))
		}
	}
}

// decodeQ4Generic converts n elements of plain q4_0.
func decodeQ4Generic(dst, src unsafe.Pointer, n int) {
	for b := range n / blockLen {
		in := octets(unsafe.Add(src, b*q4Bytes), q4Bytes)
		d := dtype.F16ToF32(uint16(in[0]) | uint16(in[1])<<8)
		out := floats(floatAt(dst, b*blockLen), blockLen)
		for i, q := range in[2:] {
			out[i] = d * float32(int(q&15)-8)
			out[i+blockLen/2] = d * float32(int(q>>4)-8)
		}
	}
}

// decode converts a block of one lane.
func (p *q8Panel) decode(out *[blockLen]float32, lane int) {
	d := dtype.F16ToF32(p.d[lane])
	for j := range p.q {
		for i, q := range p.q[j][lane] {
			out[4*j+i] = d * float32(int8(q^0x80))
		}
	}
}

// decode converts a block of one lane.
func (p *q4Panel) decode(out *[blockLen]float32, lane int) {
	d := dtype.F16ToF32(p.d[lane])
	for j := range p.q {
		for i, q := range p.q[j][lane] {
			out[4*j+i] = d * float32(int(q&15)-8)
			out[16+4*j+i] = d * float32(int(q>>4)-8)
		}
	}
}
