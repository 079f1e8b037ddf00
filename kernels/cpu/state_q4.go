package cpu

import (
	"math"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// StateWriteQ4_0 writes to a state of plain q4_0 rows; HeadLen is a multiple of 32.
//
//go:noinline
func StateWriteQ4_0(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	heads, d := shape.Heads, shape.HeadLen
	blocks := d / blockLen
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			to := unsafe.Slice((*[q4Bytes]byte)(unsafe.Add(state, shape.row(slot, pos, r, h)*blocks*q4Bytes)), blocks)
			from := unsafe.Slice((*[blockLen]float32)(floatAt(x, (r*heads+h)*d)), blocks)
			for i := range to {
				q := nibblesOf(&from[i])
				to[i][0], to[i][1] = byte(q.d), byte(q.d>>8)
				copy(to[i][2:], q.q[:])
			}
		}
	}
}

// StateWriteR16Q4_0 writes to a state of q4_0 in layout r16, each head of each sequence a matrix
// [Context, HeadLen]; HeadLen is a multiple of 32. It writes the same numbers as StateWriteQ4_0.
//
//go:noinline
func StateWriteR16Q4_0(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	heads, d := shape.Heads, shape.HeadLen
	blocks := d / blockLen
	for r := r0; r < r1; r++ {
		row := index(pos, r) % panelRows
		for h := h0; h < h1; h++ {
			to := unsafe.Slice((*q4Panel)(unsafe.Add(state, shape.panel(slot, pos, r, h)*blocks*panelRows*q4Bytes)), blocks)
			from := unsafe.Slice((*[blockLen]float32)(floatAt(x, (r*heads+h)*d)), blocks)
			for i := range to {
				q := nibblesOf(&from[i])
				to[i].d[row] = q.d
				for j := range to[i].q {
					copy(to[i].q[j][row][:], q.q[4*j:])
				}
			}
		}
	}
}

// nibbleBlock is the fields of a block of q4_0; see dtype.
type nibbleBlock struct {
	d uint16
	q [blockLen / 2]uint8
}

// nibblesOf quantizes a block as package dtype defines it: by the first element of the largest magnitude, which becomes
// -8. Where that is no number, all elements are 0 times the scale, so that a product with them is no number either.
func nibblesOf(x *[blockLen]float32) (b nibbleBlock) {
	d := extremeOf(x) / -8
	b.d = dtype.F32ToF16(d)
	id := 1 / d
	if d == 0 || id-id != 0 {
		id = 0
	}
	if d-d != 0 {
		for j := range b.q {
			b.q[j] = 0x88
		}
		return b
	}
	for j := range b.q {
		low, high := byte(float32(x[j]*id)+8.5), byte(float32(x[j+blockLen/2]*id)+8.5)
		b.q[j] = min(low, 15) | min(high, 15)<<4
	}
	return b
}

// extremeOf returns the first element of the largest magnitude, and NaN if there is one: its bits are larger than all
// others.
func extremeOf(x *[blockLen]float32) float32 {
	extreme := uint32(0)
	for _, v := range x {
		if b := math.Float32bits(v); b&^signBit > extreme&^signBit {
			extreme = b
		}
	}
	return math.Float32frombits(extreme)
}

// signBit is that of a float32.
const signBit = 1 << 31
