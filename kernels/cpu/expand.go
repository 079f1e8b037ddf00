package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Formats with a scheme (dtype.Scheme) differ in how bits are stored and in what scales are made of. Those with
// superblocks are in super.go. Expanded, all others are one: 32 k of a panel are unsigned bytes u with a float32 scale s
// and min m, and an element is s·u - m. Products add, in order of k, what each such part gives:
//
//	d·(s·Σ q·u - m·Σ q)
//
// where q and d are those of the activations, and sums are exact integers. In pure Go an offset is a min of offset·s.
// Assembly takes it out of the integer sums.
//
// One row of x, and with VNNI few rows, read panels as they are stored. More rows read a panel that is expanded once
// for all of them. Tiles of superblocks with VNNI always read panels as they are stored. Tile registers multiply many
// rows of all quantized formats: see squareFunc.

// part is 32 k of a panel. m is an eighth of the mins, as activations have eight times Σ q. Where assembly takes an
// offset out of the integer sums, there are no mins: VNNI leaves m as it is, AVX2 has the offset there.
type part struct {
	u    [blockLen / 4][panelRows][4]uint8
	s, m lanes
}

// schemed are the dtypes of the formats with a scheme.
var schemed = [numFormats]dtype.DType{
	formatQ41:    dtype.Q4_1,
	formatQ50:    dtype.Q5_0,
	formatQ51:    dtype.Q5_1,
	formatQ2K:    dtype.Q2_K,
	formatQ3K:    dtype.Q3_K,
	formatQ4K:    dtype.Q4_K,
	formatQ5K:    dtype.Q5_K,
	formatQ6K:    dtype.Q6_K,
	formatIQ4NL:  dtype.IQ4_NL,
	formatIQ4XS:  dtype.IQ4_XS,
	formatMXFP4:  dtype.MXFP4,
	formatIQ2X:   dtype.IQ2X,
	formatIQ2X16: dtype.IQ2X16,
	formatIQ3X:   dtype.IQ3X,
	formatIQ3SX:  dtype.IQ3SX,
}

// shapeOf returns the shape of a format with a scheme.
func shapeOf(d dtype.DType) blockShape {
	x := q8aBytes
	if d.Scheme().Super {
		x = q8akBytes
	}
	return blockShape{d.BlockElems(), x, d.PanelBlockBytes()}
}

// expandFunc expands blocks blocks of a panel to dst.
type expandFunc func(dst, panel unsafe.Pointer, blocks int)

// expansion is how products of several rows of x are computed with a format: a panel is expanded, then multiplied.
type expansion struct {
	least          [2]int // rows of x for which it is used, with one weight and with two; fewer have tiles that read panels as they are stored
	ask            bool   // tiles prefetch what is expanded next; those of swiglu also what is panelBytes after that: see following
	blockBytes     int    // of an expanded block of a panel
	expand         expandFunc
	matmul, swiglu tileSet // of expanded panels; without those of swiglu weights are multiplied in turn
}

// genericExpand returns the expandFunc of a format.
func genericExpand(s *dtype.Scheme) (expand expandFunc, blockBytes int) {
	if s.Super {
		blockBytes = int(unsafe.Sizeof(superBlock{}))
	} else {
		blockBytes = int(unsafe.Sizeof(part{}))
	}
	return func(dst, panel unsafe.Pointer, blocks int) {
		for b := range blocks {
			to, from := unsafe.Add(dst, b*blockBytes), octets(unsafe.Add(panel, b*s.PanelBytes()), s.PanelBytes())
			if s.Super {
				expandSuper(s, (*superBlock)(to), from)
			} else {
				expandPart(s, (*part)(to), from)
			}
		}
	}, blockBytes
}

// blockHead returns the numbers of 16 rows before the parts of a panel's block: D and M.
func blockHead(s *dtype.Scheme, block []byte) (d, m lanes) {
	for r := range panelRows {
		d[r] = s.Float(uint16(block[2*r]) | uint16(block[2*r+1])<<8)
		if s.Mins {
			m[r] = dtype.F16ToF32(uint16(block[32+2*r]) | uint16(block[33+2*r])<<8)
		}
	}
	return d, m
}

// expandPart expands a block of a panel.
func expandPart(s *dtype.Scheme, to *part, block []byte) {
	d, m := blockHead(s, block)
	expandBytes(s, s.Planes(), &to.u, block[s.PanelHead():])
	for r := range panelRows {
		to.s[r], to.m[r] = d[r], m[r]/8
		if !s.Mins {
			to.m[r] = float32(s.Offset) / 8 * d[r]
		}
	}
}

// expandBytes sets the elements of a part. A word is four elements of a row.
func expandBytes(s *dtype.Scheme, planes []int, to *[blockLen / 4][panelRows][4]uint8, from []byte) {
	u := (*[blockLen / 4][panelRows]uint32)(unsafe.Pointer(to))
	clear(u[:])
	low := 0
	for _, bits := range planes {
		plane := unsafe.Slice((*[panelRows]uint32)(unsafe.Pointer(unsafe.SliceData(from))), bits)
		only := (uint32(1)<<bits - 1) * 0x01010101
		for j := range u {
			shift := bits * (j / bits)
			for r, w := range plane[j%bits] {
				u[j][r] |= w >> shift & only << low
			}
		}
		from, low = from[bits*lineBytes:], low+bits
	}
	if s.Values != nil {
		lookUp(s.Values, to)
	}
}

// lookUp replaces indices by values.
func lookUp(values *[16]uint8, to *[blockLen / 4][panelRows][4]uint8) {
	for j := range to {
		for r := range to[j] {
			w := &to[j][r]
			w[0], w[1], w[2], w[3] = values[w[0]&15], values[w[1]&15], values[w[2]&15], values[w[3]&15]
		}
	}
}

// genericBlockMatMul and genericBlockSwiGLU are the tiles of formats with a scheme.
func genericBlockMatMul(d dtype.DType) tileSet {
	if s := d.Scheme(); s.Super {
		return dotTiles(s, dotStoredSuper)
	}
	return dotTiles(d.Scheme(), dotBlocks)
}

func genericBlockSwiGLU(d dtype.DType) tileSet { return dotSwiGLUTiles(d.Scheme(), dotBlocks) }

// dotFunc is the sums of one row of x with the rows of a panel.
type dotFunc func(s *dtype.Scheme, x, w unsafe.Pointer, blocks int) lanes

// dotTiles and dotSwiGLUTiles return the tiles of one row that dot gives.
func dotTiles(s *dtype.Scheme, dot dotFunc) tileSet {
	return single(func(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
		a := dot(s, x, w, blocks)
		a.store(dst, res, cols)
	})
}

func dotSwiGLUTiles(s *dtype.Scheme, dot dotFunc) tileSet {
	return single(func(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
		a, b := dot(s, x, gate, blocks), dot(s, x, up, blocks)
		a.storeSwiGLU(dst, &b, cols)
	})
}

// genericExpanded are the expansions of formats with a scheme.
func genericExpanded() (all [numFormats]*expansion) {
	for f, d := range schemed {
		s := d.Scheme()
		if s == nil {
			continue
		}
		expand, bytes := genericExpand(s)
		e := &expansion{blockBytes: bytes, expand: expand}
		if s.Super {
			e.matmul = dotTiles(s, dotSuper)
		} else {
			e.matmul, e.swiglu = dotTiles(s, dotParts), dotSwiGLUTiles(s, dotParts)
		}
		all[f] = e
	}
	return all
}

// dotParts is the sums of one row of x with the rows of an expanded panel.
func dotParts(_ *dtype.Scheme, x, w unsafe.Pointer, parts int) (a lanes) {
	from := unsafe.Slice((*part)(w), parts)
	for i, v := range unsafe.Slice((*q8aBlock)(x), parts) {
		a.addPart(&v, &from[i])
	}
	return a
}

// dotBlocks is the sums of one row of x with the rows of a panel.
func dotBlocks(s *dtype.Scheme, x, w unsafe.Pointer, blocks int) (a lanes) {
	var p part
	for i, v := range unsafe.Slice((*q8aBlock)(x), blocks) {
		expandPart(s, &p, octets(unsafe.Add(w, i*s.PanelBytes()), s.PanelBytes()))
		a.addPart(&v, &p)
	}
	return a
}

// addPart adds the products of a part.
func (a *lanes) addPart(v *q8aBlock, p *part) {
	sum8 := float32(startBits - v.start4)
	for r := range a {
		t := float32(dotWords(v.q[:], p.u[:], r)) * p.s[r]
		t -= float32(sum8 * p.m[r])
		a[r] += float32(t * v.d)
	}
}

// dotWords is the sum of products of q with row r of u.
func dotWords(q []int8, u [][panelRows][4]uint8, r int) (sum int32) {
	for j := range u {
		w := &u[j][r]
		for i, y := range q[4*j : 4*j+4] {
			sum += int32(y) * int32(w[i])
		}
	}
	return sum
}
