package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Formats with superblocks multiply activations of which 256 share a scale, q8a_k. A block adds
//
//	d·(D·Σ scale·Σ q·(u - offset) - M·Σ min·Σ q)
//
// where the sums over groups of 32 or 16 elements, and over the elements of a group, are exact integers of 32 bits. All
// implementations take these steps, assembly with fused multiply-adds.

// sum returns the sum of group g.
func (b *q8akBlock) sum(s *dtype.Scheme, g int) int32 {
	if s.Group == blockLen {
		return int32(b.sums32[g])
	}
	return int32(b.sums16[g])
}

// superBlock is an expanded block of a panel in pure Go; superLayout of _asm describes those in assembly.
type superBlock struct {
	parts [superLen / blockLen]superPart
	d, m  lanes
}

// superPart is 32 k of a panel. Formats with groups of 32 leave the second scales and mins as they are.
type superPart struct {
	u          [blockLen / 4][panelRows][4]uint8
	scale, min [2][panelRows]int8
}

// expandSuper expands a block of a panel.
func expandSuper(s *dtype.Scheme, to *superBlock, block []byte) {
	to.d, to.m = blockHead(s, block)
	planes := s.Planes()
	scales, mins := s.PanelScales()
	for p := range to.parts {
		part, from := &to.parts[p], block[s.PanelHead()+p*s.PanelSub():][:s.PanelSub()]
		expandBytes(s, planes, &part.u, from)
		for g := range blockLen / s.Group {
			for r := range panelRows {
				part.scale[g][r] = int8(from[scales+g*panelRows+r])
				if s.Mins {
					part.min[g][r] = int8(from[mins+g*panelRows+r])
				}
			}
		}
	}
}

// addSuper adds the products of a block.
func (a *lanes) addSuper(s *dtype.Scheme, v *q8akBlock, b *superBlock) {
	for r := range a {
		sum, low := b.dot(s, v, r)
		t := float32(float32(sum) * b.d[r])
		if s.Mins {
			t -= float32(float32(low) * b.m[r])
		}
		a[r] += float32(t * v.d)
	}
}

// dot returns the integer sums of row r: of products without their offset, and of the mins' part.
func (b *superBlock) dot(s *dtype.Scheme, v *q8akBlock, r int) (sum, low int32) {
	groups, words := blockLen/s.Group, s.Group/4
	for p := range b.parts {
		part := &b.parts[p]
		for g := range groups {
			x := v.sum(s, p*groups+g)
			dot := dotWords(v.q[p*blockLen+g*s.Group:][:s.Group], part.u[g*words:][:words], r)
			sum += int32(part.scale[g][r]) * (dot - int32(s.Offset)*x)
			low += int32(part.min[g][r]) * x
		}
	}
	return sum, low
}

// dotSuper is the sums of one row of x with the rows of an expanded panel.
func dotSuper(s *dtype.Scheme, x, w unsafe.Pointer, blocks int) (a lanes) {
	from := unsafe.Slice((*superBlock)(w), blocks)
	for i, v := range unsafe.Slice((*q8akBlock)(x), blocks) {
		a.addSuper(s, &v, &from[i])
	}
	return a
}

// dotStoredSuper is the sums of one row of x with the rows of a panel.
func dotStoredSuper(s *dtype.Scheme, x, w unsafe.Pointer, blocks int) (a lanes) {
	var block superBlock
	for i, v := range unsafe.Slice((*q8akBlock)(x), blocks) {
		expandSuper(s, &block, octets(unsafe.Add(w, i*s.PanelBytes()), s.PanelBytes()))
		a.addSuper(s, &v, &block)
	}
	return a
}
