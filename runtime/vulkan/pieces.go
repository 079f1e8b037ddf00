package vulkan

import (
	"encoding/binary"
	"fmt"

	"github.com/ggmlc/ggmlc/runtime"
)

// piece is a run of contiguous bytes of a transfer. Its offsets count from the transfer's destination and source.
type piece struct{ dst, src, n int }

// join appends a piece, or lengthens the last one if they are contiguous.
func join(list []piece, p piece) []piece {
	if len(list) > 0 {
		if l := &list[len(list)-1]; l.dst+l.n == p.dst && l.src+l.n == p.src {
			l.n += p.n
			return list
		}
	}
	return append(list, p)
}

// box appends the pieces of a transfer without picks.
func box(list []piece, t *runtime.Transfer) []piece {
	if t.Dense() {
		return append(list, piece{0, 0, t.Len()})
	}
	at := 0
	for i := range t.Shape[0] {
		for j := range t.Shape[1] {
			for k := range t.Shape[2] {
				list = line(list, t, at, i*t.Stride[0]+j*t.Stride[1]+k*t.Stride[2])
				at += t.Elem * t.Shape[3]
			}
		}
	}
	return list
}

// line appends the pieces of a line of elements.
func line(list []piece, t *runtime.Transfer, dst, src int) []piece {
	if t.Stride[3] == t.Elem {
		return join(list, piece{dst, src, t.Elem * t.Shape[3]})
	}
	for i := range t.Shape[3] {
		list = join(list, piece{dst + i*t.Elem, src + i*t.Stride[3], t.Elem})
	}
	return list
}

// i32Bytes is the size of an index.
const i32Bytes = 4

// picked appends the pieces of the elements that an index names, each once.
func picked(list []piece, t *runtime.Transfer, index []byte) ([]piece, error) {
	begin := len(list)
	for ; len(index) > 0; index = index[i32Bytes:] {
		n := int(int32(binary.NativeEndian.Uint32(index)))
		if n < 0 || n >= t.Shape[3] {
			return list, fmt.Errorf("element %d of %d is picked", n, t.Shape[3])
		}
		if p := (piece{n * t.Elem, n * t.Elem, t.Elem}); !has(list[begin:], p) {
			list = append(list, p)
		}
	}
	return list, nil
}

func has(list []piece, p piece) bool {
	for _, q := range list {
		if q == p {
			return true
		}
	}
	return false
}

// total returns the bytes of all pieces.
func total(list []piece) (n int) {
	for _, p := range list {
		n += p.n
	}
	return n
}
