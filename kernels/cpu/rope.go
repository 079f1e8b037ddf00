package cpu

import (
	"math"
	"unsafe"
)

// RopeTableF32 fills rows [r0, r1) of dst f32 [*, half, 2] with the cosine and sine of
// pos[r]·freqs[i], times scale (1, but for YaRN's magnitude). pos is i32 [*] and freqs f32
// [half], in radians per position. Angles are computed in float64: at position 10⁵ a
// float32 angle is off by 0.004.
//
//go:noinline
func RopeTableF32(dst, pos, freqs unsafe.Pointer, half int, scale float32, r0, r1 int) {
	freq := floats(freqs, half)
	for r := r0; r < r1; r++ {
		at := float64(*(*int32)(floatAt(pos, r)))
		row := floats(floatAt(dst, r*half*2), half*2)
		for i, f := range freq {
			sin, cos := math.Sincos(at * float64(f))
			row[2*i] = float32(cos * float64(scale))
			row[2*i+1] = float32(sin * float64(scale))
		}
	}
}

// RopeF32 rotates pairs of the first 2*Pairs elements of each head by the angles in table,
// f32 [*, Pairs, 2] with one row per row of x, and copies the others. x and dst are f32
// [*, Heads, HeadLen]; it does rows [r0, r1) and heads [h0, h1). dst may be x.
//
//go:noinline
func RopeF32(dst, x, table unsafe.Pointer, shape RopeShape, r0, r1, h0, h1 int) {
	d, half := shape.HeadLen, shape.Pairs
	step, apart := 2, 1
	if shape.NeoX {
		step, apart = 1, half
	}
	for r := r0; r < r1; r++ {
		angles := floats(floatAt(table, r*half*2), half*2)
		for h := h0; h < h1; h++ {
			at := (r*shape.Heads + h) * d
			out, in := floats(floatAt(dst, at), d), floats(floatAt(x, at), d)
			rotate(out, in, angles, step, apart)
			copy(out[2*half:], in[2*half:])
		}
	}
}

// rotate rotates the pairs (i, i+apart) for i = 0, step, 2·step, …
func rotate(out, in, angles []float32, step, apart int) {
	for a, i := 0, 0; a+1 < len(angles); a, i = a+2, i+step {
		cos, sin := angles[a], angles[a+1]
		u, v := in[i], in[i+apart]
		out[i] = float32(u*cos) - float32(v*sin)
		out[i+apart] = float32(u*sin) + float32(v*cos)
	}
}
