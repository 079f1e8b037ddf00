// Package kirtest makes random kernels for tests of what runs or prints them. They are well-typed, terminate, stay
// within their memory and have no races.
package kirtest

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// Case is a kernel with what to run it on. Its arguments are in (the address of In), out (the address of Out bytes, all
// 0 when the kernel begins) and n.
type Case struct {
	Kernel  *kir.Kernel
	Groups  int
	In      []byte
	Out     int
	N       int32
	Results []Result
}

// Result is an array in the memory at out. Threads that do not reach the store leave their element 0.
type Result struct {
	Offset int
	Type   kir.Type
	Len    int
}

// Options tell what random kernels may do.
type Options struct {
	Caps    kir.Caps
	Threads int  // of a workgroup; if 0 it is 64, or what slabs need
	Size    int  // statements; 12 if 0
	Inexact bool // operations whose results depend on the device, so that those of two must not be compared
}

// elements are the scalars of each kind in In.
const elements = 256

// inKinds are the kinds in In, one after the other.
var inKinds = []kir.Kind{kir.U64, kir.F32, kir.I32, kir.U32, kir.F16, kir.BF16, kir.U16, kir.I8, kir.U8}

// regionOf returns where the elements of a kind begin.
func regionOf(k kir.Kind) int {
	at := 0
	for _, other := range inKinds {
		if other == k {
			break
		}
		at += elements * other.Bytes()
	}
	return at
}

// input returns random contents of In. Floats are multiples of 1/8 below 64, which all float kinds have.
func input(r *rand.Rand) []byte {
	var in []byte
	for _, k := range inKinds {
		for range elements {
			bits := binary.LittleEndian.AppendUint64(nil, scalarBits(r, k))
			in = append(in, bits[:k.Bytes()]...)
		}
	}
	return in
}

// scalarBits returns the bits of a random number.
func scalarBits(r *rand.Rand, k kir.Kind) uint64 {
	eighths := float64(r.IntN(1024)-512) / 8
	switch k {
	case kir.Bool:
		return r.Uint64() & 1
	case kir.F32:
		return uint64(math.Float32bits(float32(eighths)))
	case kir.BF16:
		// 8 bits of precision: multiples of 1/2 below 64.
		return uint64(math.Float32bits(float32(math.Floor(eighths*2)/2)) >> 16)
	case kir.F16:
		return halfBits(eighths)
	case kir.U64:
		return r.Uint64() >> r.IntN(64)
	}
	mask := uint64(1)<<(8*k.Bytes()) - 1
	if r.IntN(2) == 0 {
		return uint64(r.IntN(40)-20) & mask
	}
	return r.Uint64() & mask
}

// halfBits returns a multiple of 1/8 below 64 as an f16.
func halfBits(x float64) uint64 {
	if x == 0 {
		return 0
	}
	fraction, exponent := math.Frexp(math.Abs(x))
	bits := uint64(exponent+14)<<10 + uint64(fraction*2048) - 1024
	if x < 0 {
		bits |= 1 << 15
	}
	return bits
}

// Machine has memory, and runs kernels on it, one after the other.
type Machine interface {
	Alloc(bytes int) uint64 // the address, aligned to 256
	Write(address uint64, data []byte)
	Read(address uint64, data []byte) error
	Run(k *kir.Kernel, groups int, args []uint64) error
}

// Run runs the kernel and returns the memory at out.
func (c *Case) Run(on Machine) ([]byte, error) {
	in, out := on.Alloc(len(c.In)), on.Alloc(c.Out)
	result := make([]byte, c.Out)
	on.Write(in, c.In)
	on.Write(out, result)
	if err := on.Run(c.Kernel, c.Groups, []uint64{in, out, uint64(uint32(c.N))}); err != nil {
		return nil, err
	}
	return result, on.Read(out, result)
}

// Compare returns the first difference between two contents of the memory at out. Floats are compared as numbers: zeros
// are equal, and so is NaN to NaN.
func (c *Case) Compare(want, got []byte) error {
	for _, res := range c.Results {
		size := res.Type.Kind.Bytes()
		for i := range res.Len * res.Type.Lanes {
			at := res.Offset + i*size
			w, g := load(want[at:], size), load(got[at:], size)
			if w != g && !sameFloat(res.Type.Kind, w, g) {
				return fmt.Errorf("element %d of the %v at %d: %#x instead of %#x", i, res.Type, res.Offset, g, w)
			}
		}
	}
	return nil
}

func load(b []byte, size int) uint64 {
	var full [8]byte
	copy(full[:], b[:size])
	return binary.LittleEndian.Uint64(full[:])
}

// sameFloat reports whether different bits are the same number.
func sameFloat(k kir.Kind, x, y uint64) bool {
	var infinity uint64 // without the sign; what is above is NaN
	switch k {
	case kir.F32:
		infinity = 0x7f800000
	case kir.F16:
		infinity = 0x7c00
	case kir.BF16:
		infinity = 0x7f80
	default:
		return false
	}
	magnitude := uint64(1)<<(8*k.Bytes()-1) - 1
	x, y = x&magnitude, y&magnitude
	return x == 0 && y == 0 || x > infinity && y > infinity
}
