package cpu

import (
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// Writes into a state, such as a KV cache: for rows [r0, r1) and heads [h0, h1),
//
//	state[slot[r], h, pos[r] mod Context, :] = x[r, h, :]
//
// with x f32 [*, Heads, HeadLen] and slot, pos i32 [*]. Slots and positions are trusted. Positions beyond Context need
// a Context that is a multiple of the rows of a panel.

// StateWriteF32 writes to an f32 state.
//
//go:noinline
func StateWriteF32(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	heads, d := shape.Heads, shape.HeadLen
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := shape.row(slot, pos, r, h)
			copy(floats(floatAt(state, at*d), d), floats(floatAt(x, (r*heads+h)*d), d))
		}
	}
}

// StateWriteF16 writes to an f16 state, rounding to nearest, ties to even.
//
//go:noinline
func StateWriteF16(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	heads, d := shape.Heads, shape.HeadLen
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := shape.row(slot, pos, r, h)
			active.f32ToF16(halfAt(state, at*d), floatAt(x, (r*heads+h)*d), d)
		}
	}
}

// StateWriteR16F16 writes to an f16 state in layout r16, each head of each sequence a matrix
// [Context, HeadLen]. It writes the same numbers as StateWriteF16.
//
//go:noinline
func StateWriteR16F16(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	s := spareHalves.Get().(*halfPanel)
	heads, d := shape.Heads, shape.HeadLen
	turn := attentionFor(d, d).keys[cacheF32]
	for r := r0; r < r1; {
		p, n := index(pos, r), panelRun(slot, pos, r, r1)
		for h := h0; h < h1; h++ {
			panel := shape.panel(slot, pos, r, h)
			to := unsafe.Slice((*halfColumn)(halfAt(state, panel*d*panelRows)), d)
			if from := floatAt(x, (r*heads+h)*d); n == 1 {
				s.writeRow(to, from, p%panelRows)
			} else {
				s.write(to, from, heads*d*f32Bytes, turn)
			}
		}
		r += n
	}
	spareHalves.Put(s)
}

// panelRun returns panelRows if that many rows from r on, below r1, fill a panel, and 1 otherwise.
func panelRun(slot, pos unsafe.Pointer, r, r1 int) int {
	p := index(pos, r)
	if r+panelRows > r1 || p%panelRows != 0 {
		return 1
	}
	for i := 1; i < panelRows; i++ {
		if index(slot, r+i) != index(slot, r) || index(pos, r+i) != p+i {
			return 1
		}
	}
	return panelRows
}

// halfColumn is one element of each row of a panel of f16.
type halfColumn [panelRows]uint16

// halfPanel is numbers that are written to panels next: some columns, and some elements of a row.
type halfPanel struct {
	columns [64]lanes
	row     [256]uint16
}

// spareHalves holds them between calls, as spareBlocks does.
var spareHalves = sync.Pool{New: func() any { return new(halfPanel) }}

// writeRow rounds x to a row of a panel: two of its elements are in one line.
func (s *halfPanel) writeRow(dst []halfColumn, x unsafe.Pointer, row int) {
	for at := 0; at < len(dst); at += len(s.row) {
		part := dst[at:min(at+len(s.row), len(dst))]
		active.f32ToF16(unsafe.Pointer(&s.row), floatAt(x, at), len(part))
		for i, v := range s.row[:len(part)] {
			part[i][row] = v
		}
	}
}

// write rounds 16 rows of x, at a distance of stride bytes, to a panel. They are transposed as keys are.
func (s *halfPanel) write(dst []halfColumn, x unsafe.Pointer, stride int, turn panelsFunc) {
	for at := 0; at < len(dst); at += len(s.columns) {
		part := dst[at:min(at+len(s.columns), len(dst))]
		turn(unsafe.Pointer(&s.columns), floatAt(x, at), panelRows, len(part), stride)
		active.f32ToF16(unsafe.Pointer(&part[0]), unsafe.Pointer(&s.columns), len(part)*panelRows)
	}
}

// StateWriteQ8_0 writes to a state of plain q8_0 rows; HeadLen is a multiple of 32.
//
//go:noinline
func StateWriteQ8_0(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	q := spareBlocks.Get().(*quantized)
	heads, d := shape.Heads, shape.HeadLen
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := shape.row(slot, pos, r, h)
			q.writeRow(unsafe.Add(state, at*(d/blockLen*q8Bytes)), floatAt(x, (r*heads+h)*d), d)
		}
	}
	spareBlocks.Put(q)
}

// StateWriteR16Q8_0 writes to a state of q8_0 in layout r16, each head of each sequence a matrix
// [Context, HeadLen]; HeadLen is a multiple of 32. It writes the same numbers as StateWriteQ8_0.
//
//go:noinline
func StateWriteR16Q8_0(state, x, slot, pos unsafe.Pointer, shape StateShape, r0, r1, h0, h1 int) {
	q := spareBlocks.Get().(*quantized)
	heads, d := shape.Heads, shape.HeadLen
	blocks := d / blockLen
	for r := r0; r < r1; r++ {
		p := index(pos, r)
		for h := h0; h < h1; h++ {
			panel := shape.panel(slot, pos, r, h)
			to := unsafe.Slice((*q8Panel)(unsafe.Add(state, panel*blocks*panelRows*q8Bytes)), blocks)
			q.writePanel(to, floatAt(x, (r*heads+h)*d), p%panelRows)
		}
	}
	spareBlocks.Put(q)
}

// quantized is blocks that are written to a state next.
type quantized [8]q8aBlock

// spareBlocks holds them between calls: functions of tables take no pointer to the stack.
var spareBlocks = sync.Pool{New: func() any { return new(quantized) }}

// each quantizes n elements of x and calls write with the number of each block, its scale as f16 and its bytes. Bytes
// come from the unrounded scale, as ggml's do. Where the scale is no number they are 0 on every processor, so
// that a product with them is no number either.
func (q *quantized) each(x unsafe.Pointer, n int, write func(i int, d uint16, q *[blockLen]int8)) {
	for at := 0; at < n; at += len(q) * blockLen {
		part := min(n-at, len(q)*blockLen)
		active.quantize(unsafe.Pointer(q), floatAt(x, at), part)
		for i := range q[:part/blockLen] {
			b := &q[i]
			if b.d-b.d != 0 {
				clear(b.q[:])
			}
			write(at/blockLen+i, dtype.F32ToF16(b.d), &b.q)
		}
	}
}

// writeRow writes n elements as plain blocks.
func (q *quantized) writeRow(dst, x unsafe.Pointer, n int) {
	q.each(x, n, func(i int, d uint16, q *[blockLen]int8) {
		out := (*[q8Bytes]byte)(unsafe.Add(dst, i*q8Bytes))
		out[0], out[1] = byte(d), byte(d>>8)
		copy(out[2:], octets(unsafe.Pointer(q), blockLen))
	})
}

// writePanel writes a row of a panel, four elements at each place, with 128 added as package tile defines.
func (q *quantized) writePanel(dst []q8Panel, x unsafe.Pointer, row int) {
	q.each(x, len(dst)*blockLen, func(i int, d uint16, q *[blockLen]int8) {
		panel := &dst[i]
		panel.d[row] = d
		for j, word := range (*[blockLen / 4]uint32)(unsafe.Pointer(q)) {
			*(*uint32)(unsafe.Pointer(&panel.q[j][row])) = word ^ 0x80808080
		}
	})
}

// row returns the number of the row of a plain state that head h of row r of x is written to.
func (s StateShape) row(slot, pos unsafe.Pointer, r, h int) int {
	return (index(slot, r)*s.Heads+h)*s.Context + index(pos, r)%s.Context
}

// panel returns the number of the panel of a state in layout r16 that head h of row r of x is written to.
func (s StateShape) panel(slot, pos unsafe.Pointer, r, h int) int {
	return (index(slot, r)*s.Heads+h)*(wholePanels(s.Context)/panelRows) + index(pos, r)%s.Context/panelRows
}
