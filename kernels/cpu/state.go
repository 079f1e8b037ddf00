package cpu

import "unsafe"

// Writes into a state, a KV cache [S, heads, ctx, d]: for rows [r0, r1) and heads [h0, h1),
//
//	state[slot[r], h, pos[r], :] = x[r, h, :]
//
// with x f32 [*, heads, d] and slot, pos i32 [*]. Slots and positions are trusted.

// StateWriteF32 writes to an f32 state.
//
//go:noinline
func StateWriteF32(state, x, slot, pos unsafe.Pointer, heads, ctx, d, r0, r1, h0, h1 int) {
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := stateRow(slot, pos, heads, ctx, r, h)
			copy(floats(floatAt(state, at*d), d), floats(floatAt(x, (r*heads+h)*d), d))
		}
	}
}

// StateWriteF16 writes to an f16 state, rounding to nearest, ties to even.
//
//go:noinline
func StateWriteF16(state, x, slot, pos unsafe.Pointer, heads, ctx, d, r0, r1, h0, h1 int) {
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := stateRow(slot, pos, heads, ctx, r, h)
			active.f32ToF16(halfAt(state, at*d), floatAt(x, (r*heads+h)*d), d)
		}
	}
}

// StateWriteQ8_0 writes to a state of plain q8_0 rows; d is a multiple of 32.
//
//go:noinline
func StateWriteQ8_0(state, x, slot, pos unsafe.Pointer, heads, ctx, d, r0, r1, h0, h1 int) {
	for r := r0; r < r1; r++ {
		for h := h0; h < h1; h++ {
			at := stateRow(slot, pos, heads, ctx, r, h)
			quantizeQ8(unsafe.Add(state, at*(d/blockLen*q8Bytes)), floatAt(x, (r*heads+h)*d), d)
		}
	}
}

// stateRow returns the number of the row of d elements that head h of row r is written to.
func stateRow(slot, pos unsafe.Pointer, heads, ctx, r, h int) int {
	return (index(slot, r)*heads+h)*ctx + index(pos, r)
}
