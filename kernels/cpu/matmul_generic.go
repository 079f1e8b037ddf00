package cpu

import (
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// single makes a tile set of one function for one row and one panel.
func single(f tileFunc) tileSet {
	return tileSet{{panels: 1, tiles: []rowTile{{1, f}}}}
}

var genericMatMul = [numFormats]tileSet{
	formatF32:  single(tileF32Generic),
	formatF16:  single(tileF16Generic),
	formatBF16: single(tileBF16Generic),
	formatQ8:   single(tileQ8Generic),
	formatQ4:   single(tileQ4Generic),

	formatQ41:    genericBlockMatMul(dtype.Q4_1),
	formatQ50:    genericBlockMatMul(dtype.Q5_0),
	formatQ51:    genericBlockMatMul(dtype.Q5_1),
	formatQ2K:    genericBlockMatMul(dtype.Q2_K),
	formatQ3K:    genericBlockMatMul(dtype.Q3_K),
	formatQ4K:    genericBlockMatMul(dtype.Q4_K),
	formatQ5K:    genericBlockMatMul(dtype.Q5_K),
	formatQ6K:    genericBlockMatMul(dtype.Q6_K),
	formatIQ4NL:  genericBlockMatMul(dtype.IQ4_NL),
	formatIQ4XS:  genericBlockMatMul(dtype.IQ4_XS),
	formatMXFP4:  genericBlockMatMul(dtype.MXFP4),
	formatIQ2X:   genericBlockMatMul(dtype.IQ2X),
	formatIQ2X16: genericBlockMatMul(dtype.IQ2X16),
	formatIQ3X:   genericBlockMatMul(dtype.IQ3X),
	formatIQ3SX:  genericBlockMatMul(dtype.IQ3SX),
}

var genericSwiGLU = [numFormats]tileSet{
	formatF32:  single(swigluF32Generic),
	formatF16:  single(swigluF16Generic),
	formatBF16: single(swigluBF16Generic),
	formatQ8:   single(swigluQ8Generic),
	formatQ4:   single(swigluQ4Generic),

	formatQ41:   genericBlockSwiGLU(dtype.Q4_1),
	formatQ50:   genericBlockSwiGLU(dtype.Q5_0),
	formatQ51:   genericBlockSwiGLU(dtype.Q5_1),
	formatIQ4NL: genericBlockSwiGLU(dtype.IQ4_NL),
	formatMXFP4: genericBlockSwiGLU(dtype.MXFP4),
}

// lanes is the sums of one row of x with the rows of a panel.
type lanes [panelRows]float32

func tileF32Generic(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a := dotF32(x, w, blocks)
	a.store(dst, res, cols)
}

func tileF16Generic(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a := dotF16(x, w, blocks)
	a.store(dst, res, cols)
}

func tileBF16Generic(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a := dotBF16(x, w, blocks)
	a.store(dst, res, cols)
}

func tileQ8Generic(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a := dotQ8(x, w, blocks)
	a.store(dst, res, cols)
}

func tileQ4Generic(dst, x, w, res unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a := dotQ4(x, w, blocks)
	a.store(dst, res, cols)
}

func swigluF32Generic(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a, b := dotF32(x, gate, blocks), dotF32(x, up, blocks)
	a.storeSwiGLU(dst, &b, cols)
}

func swigluF16Generic(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a, b := dotF16(x, gate, blocks), dotF16(x, up, blocks)
	a.storeSwiGLU(dst, &b, cols)
}

func swigluBF16Generic(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a, b := dotBF16(x, gate, blocks), dotBF16(x, up, blocks)
	a.storeSwiGLU(dst, &b, cols)
}

func swigluQ8Generic(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a, b := dotQ8(x, gate, blocks), dotQ8(x, up, blocks)
	a.storeSwiGLU(dst, &b, cols)
}

func swigluQ4Generic(dst, x, gate, up unsafe.Pointer, _, _, blocks, _, cols int, _ uintptr) {
	a, b := dotQ4(x, gate, blocks), dotQ4(x, up, blocks)
	a.storeSwiGLU(dst, &b, cols)
}

// store writes cols sums, plus res if that is not nil.
func (a *lanes) store(dst, res unsafe.Pointer, cols int) {
	out := floats(dst, cols)
	if res == nil {
		copy(out, a[:])
		return
	}
	for i, v := range floats(res, cols) {
		out[i] = v + a[i]
	}
}

// storeSwiGLU writes silu(a)*up for cols columns.
func (a *lanes) storeSwiGLU(dst unsafe.Pointer, up *lanes, cols int) {
	out := floats(dst, cols)
	for i := range out {
		out[i] = silu(a[i]) * up[i]
	}
}

// partLen returns how many of k products of float32 are added up at a time: sums of k are sums of such partial sums.
// The rounding errors of a chain of n additions grow like √n.
func partLen(k int) int {
	if k < longRow {
		return 16
	}
	return 64
}

// longRow is the length of rows from which on partial sums are longer.
const longRow = 1024

func dotF32(x, w unsafe.Pointer, k int) (a lanes) {
	n := partLen(k)
	for at := 0; at < k; at += n {
		a.add(partF32(floatAt(x, at), floatAt(w, at*panelRows), min(n, k-at)))
	}
	return a
}

func dotF16(x, w unsafe.Pointer, k int) (a lanes) {
	n := partLen(k)
	for at := 0; at < k; at += n {
		a.add(partF16(floatAt(x, at), halfAt(w, at*panelRows), min(n, k-at)))
	}
	return a
}

// add adds partial sums.
func (a *lanes) add(part lanes) {
	for j, v := range part {
		a[j] += v
	}
}

func partF32(x, w unsafe.Pointer, k int) (a lanes) {
	panel := unsafe.Slice((*lanes)(w), k)
	for i, v := range floats(x, k) {
		p := &panel[i]
		for j := range a {
			a[j] += float32(v * p[j])
		}
	}
	return a
}

func partF16(x, w unsafe.Pointer, k int) (a lanes) {
	panel := unsafe.Slice((*[panelRows]uint16)(w), k)
	for i, v := range floats(x, k) {
		p := &panel[i]
		for j := range a {
			a[j] += float32(v * dtype.F16ToF32(p[j]))
		}
	}
	return a
}

// dotBF16 adds in the order of VDPBF16PS: of each pair of k the odd one first.
func dotBF16(x, w unsafe.Pointer, k int) (a lanes) {
	for i, v := range unsafe.Slice((*[2]uint16)(x), k/2) {
		p := (*[panelRows][2]uint16)(halfAt(w, 2*i*panelRows))
		first, second := dtype.BF16ToF32(v[0]), dtype.BF16ToF32(v[1])
		for j := range a {
			a[j] += float32(second * dtype.BF16ToF32(p[j][1]))
			a[j] += float32(first * dtype.BF16ToF32(p[j][0]))
		}
	}
	if k%2 == 1 {
		last := dtype.BF16ToF32(*(*uint16)(halfAt(x, k-1)))
		for j, v := range halves(halfAt(w, (k-1)*panelRows), panelRows) {
			a[j] += float32(last * dtype.BF16ToF32(v))
		}
	}
	return a
}

// q8aBlock is 32 activations: x ≈ d·q. See ir/dtype for the format.
type q8aBlock struct {
	q              [blockLen]int8
	d              float32
	start4, start8 int32 // bits of float32, to which sums of products are added
	zero           uint32
}

// startBits are those of 1.5·2^23.
const startBits = 0x4b400000

// q8Panel and q4Panel are a block of k of a panel; see package tile.
type q8Panel struct {
	q [blockLen / 4][panelRows][4]uint8
	d [panelRows]uint16
}

type q4Panel struct {
	q [blockLen / 8][panelRows][4]uint8
	d [panelRows]uint16
}

func dotQ8(x, w unsafe.Pointer, blocks int) (a lanes) {
	panel := unsafe.Slice((*q8Panel)(w), blocks)
	for b, v := range unsafe.Slice((*q8aBlock)(x), blocks) {
		p := &panel[b]
		for r := range a {
			sum := v.start8 - startBits
			for j := range p.q {
				q := &p.q[j][r]
				for i, y := range v.q[4*j : 4*j+4] {
					sum += int32(y) * int32(q[i])
				}
			}
			a[r] += float32(float32(float32(sum)*v.d) * dtype.F16ToF32(p.d[r]))
		}
	}
	return a
}

func dotQ4(x, w unsafe.Pointer, blocks int) (a lanes) {
	panel := unsafe.Slice((*q4Panel)(w), blocks)
	for b, v := range unsafe.Slice((*q8aBlock)(x), blocks) {
		p := &panel[b]
		for r := range a {
			sum := v.start4 - startBits
			for j := range p.q {
				q := &p.q[j][r]
				for i, y := range v.q[4*j : 4*j+4] {
					sum += int32(y)*int32(q[i]&15) + int32(v.q[16+4*j+i])*int32(q[i]>>4)
				}
			}
			a[r] += float32(float32(float32(sum)*v.d) * dtype.F16ToF32(p.d[r]))
		}
	}
	return a
}
