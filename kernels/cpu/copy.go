package cpu

import "unsafe"

// CopyStrided copies index range [r0, r1) of the outermost dimension of a rank-4 box from
// src to dst. Elements are elem bytes; shape counts elements, outermost dimension first
// (lower ranks put 1 in front); strides are bytes and may be 0 in src, which repeats. The
// pointers are those of element [0, 0, 0, 0]. src and dst do not overlap.
//
//go:noinline
func CopyStrided(dst, src unsafe.Pointer, elem int, shape, dstStride, srcStride *[4]int, r0, r1 int) {
	whole := dstStride[3] == elem && srcStride[3] == elem // innermost runs are contiguous
	for i := r0; i < r1; i++ {
		for j := range shape[1] {
			for k := range shape[2] {
				d := unsafe.Add(dst, i*dstStride[0]+j*dstStride[1]+k*dstStride[2])
				s := unsafe.Add(src, i*srcStride[0]+j*srcStride[1]+k*srcStride[2])
				if whole {
					copy(octets(d, shape[3]*elem), octets(s, shape[3]*elem))
				} else {
					copyLine(d, s, elem, shape[3], dstStride[3], srcStride[3])
				}
			}
		}
	}
}

// copyLine copies n elements at given distances; words, the common case, as such.
func copyLine(dst, src unsafe.Pointer, elem, n, dstStride, srcStride int) {
	for i := range n {
		d, s := unsafe.Add(dst, i*dstStride), unsafe.Add(src, i*srcStride)
		if elem == f32Bytes {
			*(*[f32Bytes]byte)(d) = *(*[f32Bytes]byte)(s)
		} else {
			copy(octets(d, elem), octets(s, elem))
		}
	}
}

// ConcatF32 joins the rows [r0, r1) of a f32 [*, A] and b f32 [*, B]: dst is f32 [*, A+B].
//
//go:noinline
func ConcatF32(dst, a, b unsafe.Pointer, shape ConcatShape, r0, r1 int) {
	for r := r0; r < r1; r++ {
		out := floats(floatAt(dst, r*(shape.A+shape.B)), shape.A+shape.B)
		copy(out, floats(floatAt(a, r*shape.A), shape.A))
		copy(out[shape.A:], floats(floatAt(b, r*shape.B), shape.B))
	}
}
