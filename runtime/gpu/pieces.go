package gpu

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// Piece is a run of contiguous bytes of a transfer. Its offsets count from the transfer's destination and source.
type Piece struct{ Dst, Src, N int }

// join appends a piece, or lengthens the last one if they are contiguous.
func join(list []Piece, p Piece) []Piece {
	if len(list) > 0 {
		if l := &list[len(list)-1]; l.Dst+l.N == p.Dst && l.Src+l.N == p.Src {
			l.N += p.N
			return list
		}
	}
	return append(list, p)
}

// Box appends the pieces of a transfer without picks.
func Box(list []Piece, t *runtime.Transfer) []Piece {
	if t.Dense() {
		return append(list, Piece{0, 0, t.Len()})
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
func line(list []Piece, t *runtime.Transfer, dst, src int) []Piece {
	if t.Stride[3] == t.Elem {
		return join(list, Piece{dst, src, t.Elem * t.Shape[3]})
	}
	for i := range t.Shape[3] {
		list = join(list, Piece{dst + i*t.Elem, src + i*t.Stride[3], t.Elem})
	}
	return list
}

// IndexBytes is the size of an index of picks.
const IndexBytes = 4

// Picked appends the pieces of the elements that an index names, each once.
func Picked(list []Piece, t *runtime.Transfer, index []byte) ([]Piece, error) {
	begin := len(list)
	for ; len(index) > 0; index = index[IndexBytes:] {
		n := int(int32(binary.NativeEndian.Uint32(index)))
		if n < 0 || n >= t.Shape[3] {
			return list, fmt.Errorf("element %d of %d is picked", n, t.Shape[3])
		}
		if p := (Piece{n * t.Elem, n * t.Elem, t.Elem}); !slices.Contains(list[begin:], p) {
			list = append(list, p)
		}
	}
	return list, nil
}

// Total returns the bytes of all pieces.
func Total(list []Piece) (n int) {
	for _, p := range list {
		n += p.N
	}
	return n
}

// CheckSpans returns an error if a transfer leaves its memories.
func CheckSpans(t *runtime.Transfer, b *runtime.Block) error {
	within := func(s runtime.Span, n int) error {
		if size := b.Memory[s.Memory].Bytes(); s.Offset < 0 || int64(s.Offset)+int64(n) > size {
			return fmt.Errorf("bytes %d to %d of %d of memory %d", s.Offset, s.Offset+n, size, s.Memory)
		}
		return nil
	}
	err := errors.Join(within(t.Dst, t.Len()), within(t.Src, t.Reach()))
	if t.Picks > 0 {
		err = errors.Join(err, within(t.Index, IndexBytes*t.Picks))
	}
	return err
}

// HostBytes returns the n bytes at a span if they are memory of the host, and nil otherwise.
func HostBytes(b *runtime.Block, s runtime.Span, n int) []byte {
	m, ok := b.Memory[s.Memory].(runtime.HostMemory)
	if !ok {
		return nil
	}
	return unsafe.Slice((*byte)(unsafe.Add(m.Base, s.Offset)), n)
}

// Gather copies pieces of memory of the host to a buffer, in which they are contiguous.
func Gather(to []byte, list []Piece, from []byte) {
	for _, p := range list {
		to = to[copy(to[:p.N], from[p.Src:]):]
	}
}

// Scatter copies pieces from a buffer, in which they are contiguous, to memory of the host.
func Scatter(to []byte, list []Piece, from []byte) {
	for _, p := range list {
		from = from[copy(to[p.Dst:p.Dst+p.N], from):]
	}
}

// Overlap reports whether two slices share bytes.
func Overlap(a, b []byte) bool {
	x, y := uintptr(unsafe.Pointer(unsafe.SliceData(a))), uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	return x < y+uintptr(len(b)) && y < x+uintptr(len(a))
}
