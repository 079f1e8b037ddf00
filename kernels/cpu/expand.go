package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Formats with a scheme (dtype.Scheme) differ in how bits are stored and in what scales are made of. Expanded, all
// are one of two: 32 k of a panel are unsigned bytes u with a float32 scale s and min m for each group of 32 or of 16,
// and an element is s·u - m. Products add, in order of k, what each such part gives:
//
//	d·(s·Σ q·u - m·Σ q)                                for one group
//	d·(s0·Σ q·u - m0·Σ q + s1·Σ q·u - m1·Σ q)          for two
//
// where q and d are those of the activations, and sums are exact integers. Scales and mins are exact in float32:
// products of a float16 and at most 8 bits. In pure Go an offset is a min of offset·s. Assembly takes it out of the
// integer sums (but that of iq2x16), and with AVX2 D out of the sums of q3_k and q6_k, which are then integers as a
// whole.
//
// One row of x, and with VNNI few rows, read panels as they are stored. More rows read a panel that is expanded once
// for all of them.

// part is 32 k of a panel in groups of 32. m is an eighth of the mins, as activations have eight times Σ q. Where
// assembly takes an offset out of the integer sums, there are no mins: VNNI leaves m as it is, AVX2 has the offset there.
type part struct {
	u    [blockLen / 4][panelRows][4]uint8
	s, m [1]lanes
}

// part16 is the same in groups of 16.
type part16 struct {
	u    [blockLen / 4][panelRows][4]uint8
	s, m [2]lanes
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
	return blockShape{d.BlockElems(), d.BlockElems() / blockLen * q8aBytes, d.PanelBlockBytes()}
}

// partBytes returns the size of an expanded part.
func partBytes(s *dtype.Scheme) int {
	if s.Group == blockLen {
		return int(unsafe.Sizeof(part{}))
	}
	return int(unsafe.Sizeof(part16{}))
}

// expandFunc expands blocks blocks of a panel to dst.
type expandFunc func(dst, panel unsafe.Pointer, blocks int)

// expansion is how products of several rows of x are computed with a format: a panel is expanded, then multiplied.
type expansion struct {
	least          [2]int // rows of x for which it is used, with one weight and with two; fewer have tiles that read panels as they are stored
	ask            bool   // tiles prefetch what is expanded next; those of swiglu also what is panelBytes after that: see following
	partBytes      int
	expand         expandFunc
	matmul, swiglu tileSet // of panels of parts
}

// genericExpand returns the expandFunc of a format.
func genericExpand(d dtype.DType) expandFunc {
	s := d.Scheme()
	return func(dst, panel unsafe.Pointer, blocks int) {
		for b := range blocks {
			expandBlock(s, unsafe.Add(dst, b*s.Subs()*partBytes(s)), octets(unsafe.Add(panel, b*s.PanelBytes()), s.PanelBytes()))
		}
	}
}

// expandBlock expands a block of a panel.
func expandBlock(s *dtype.Scheme, dst unsafe.Pointer, block []byte) {
	var d, m lanes
	for r := range panelRows {
		d[r] = s.Float(uint16(block[2*r]) | uint16(block[2*r+1])<<8)
		if s.Mins {
			m[r] = dtype.F16ToF32(uint16(block[32+2*r])|uint16(block[33+2*r])<<8) / 8
		}
	}
	planes := s.Planes()
	for p := range s.Subs() {
		from := block[s.PanelHead()+p*s.PanelSub():][:s.PanelSub()]
		to := unsafe.Add(dst, p*partBytes(s))
		expandBytes(s, planes, (*part)(to), from)
		if s.Group == blockLen {
			e := (*part)(to)
			expandScales(s, e.s[:], e.m[:], &d, &m, from)
		} else {
			e := (*part16)(to)
			expandScales(s, e.s[:], e.m[:], &d, &m, from)
		}
	}
}

// expandBytes sets the elements of a part; those of both kinds of parts are at the same place. A word is four elements
// of a row.
func expandBytes(s *dtype.Scheme, planes []int, to *part, from []byte) {
	u := (*[blockLen / 4][panelRows]uint32)(unsafe.Pointer(&to.u))
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
func lookUp(values *[16]uint8, to *part) {
	for j := range to.u {
		for r := range to.u[j] {
			w := &to.u[j][r]
			w[0], w[1], w[2], w[3] = values[w[0]&15], values[w[1]&15], values[w[2]&15], values[w[3]&15]
		}
	}
}

// expandScales sets the scales and mins of a part; d and m are those of the block.
func expandScales(s *dtype.Scheme, scale, low []lanes, d, m *lanes, from []byte) {
	scales, mins := s.PanelScales()
	offset := float32(s.Offset) / 8
	for g := range scale {
		for r := range panelRows {
			x, y := d[r], m[r]
			if s.Super {
				x *= float32(int8(from[scales+g*panelRows+r]))
			}
			switch {
			case !s.Mins:
				y = offset * x
			case s.Super:
				y *= float32(int8(from[mins+g*panelRows+r]))
			}
			scale[g][r], low[g][r] = x, y
		}
	}
}

// genericBlockMatMul and genericBlockSwiGLU are the tiles of formats with a scheme.
func genericBlockMatMul(d dtype.DType) tileSet {
	s := d.Scheme()
	return single(func(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
		a := dotBlocks(s, x, w, blocks)
		a.store(dst, res, cols)
	})
}

func genericBlockSwiGLU(d dtype.DType) tileSet {
	s := d.Scheme()
	return single(func(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
		a, b := dotBlocks(s, x, gate, blocks), dotBlocks(s, x, up, blocks)
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
		all[f] = &expansion{
			partBytes: partBytes(s),
			expand:    genericExpand(d),
			matmul: single(func(dst, x, w, res unsafe.Pointer, _, _, parts, _, cols int, _ uintptr) {
				a := dotParts(s, x, w, parts)
				a.store(dst, res, cols)
			}),
			swiglu: single(func(dst, x, gate, up unsafe.Pointer, _, _, parts, _, cols int, _ uintptr) {
				a, b := dotParts(s, x, gate, parts), dotParts(s, x, up, parts)
				a.storeSwiGLU(dst, &b, cols)
			}),
		}
	}
	return all
}

// dotParts is the sums of one row of x with the rows of an expanded panel.
func dotParts(s *dtype.Scheme, x, w unsafe.Pointer, parts int) (a lanes) {
	a.addParts(s, x, w, parts)
	return a
}

// addParts adds the products of parts.
func (a *lanes) addParts(s *dtype.Scheme, x, w unsafe.Pointer, parts int) {
	size := partBytes(s)
	for i := range parts {
		v, from := (*q8aBlock)(unsafe.Add(x, i*q8aBytes)), unsafe.Add(w, i*size)
		if s.Group == blockLen {
			a.addPart(v, (*part)(from))
		} else {
			a.addPart16(v, (*part16)(from))
		}
	}
}

// dotBlocks is the sums of one row of x with the rows of a panel.
func dotBlocks(s *dtype.Scheme, x, w unsafe.Pointer, blocks int) (a lanes) {
	var parts [8]part16 // of a block; parts of one group are smaller
	for b := range blocks {
		expandBlock(s, unsafe.Pointer(&parts), octets(unsafe.Add(w, b*s.PanelBytes()), s.PanelBytes()))
		a.addParts(s, unsafe.Add(x, b*s.Subs()*q8aBytes), unsafe.Pointer(&parts), s.Subs())
	}
	return a
}

// addPart adds the products of a part.
func (a *lanes) addPart(v *q8aBlock, p *part) {
	sum8 := float32(startBits - v.start4)
	for r := range a {
		t := float32(dotWords(v.q[:], p.u[:], r)) * p.s[0][r]
		t -= float32(sum8 * p.m[0][r])
		a[r] += float32(t * v.d)
	}
}

// addPart16 adds the products of a part of two groups.
func (a *lanes) addPart16(v *q8aBlock, p *part16) {
	first := v.first
	second := float32(startBits-v.start4) - first
	for r := range a {
		t := float32(dotWords(v.q[:16], p.u[:4], r)) * p.s[0][r]
		t -= float32(first * p.m[0][r])
		t += float32(float32(dotWords(v.q[16:], p.u[4:], r)) * p.s[1][r])
		t -= float32(second * p.m[1][r])
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
