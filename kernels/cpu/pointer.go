package cpu

import "unsafe"

// Sizes of elements and blocks in bytes, for addressing.
const (
	f32Bytes  = 4
	halfBytes = 2
	q8Bytes   = 34 // plain q8_0 block
	q4Bytes   = 18 // plain q4_0 block
	q8aBytes  = 48
	q8akBytes = 320
	blockLen  = 32  // elements of a quantized block
	superLen  = 256 // elements of the largest blocks
	panelRows = 16
)

// floats views n float32 at p.
func floats(p unsafe.Pointer, n int) []float32 { return unsafe.Slice((*float32)(p), n) }

// halves views n 16-bit floats at p.
func halves(p unsafe.Pointer, n int) []uint16 { return unsafe.Slice((*uint16)(p), n) }

// octets views n bytes at p.
func octets(p unsafe.Pointer, n int) []byte { return unsafe.Slice((*byte)(p), n) }

// floatAt returns the address of element i of float32 elements at p.
func floatAt(p unsafe.Pointer, i int) unsafe.Pointer { return unsafe.Add(p, i*f32Bytes) }

// halfAt returns the address of element i of 16-bit elements at p.
func halfAt(p unsafe.Pointer, i int) unsafe.Pointer { return unsafe.Add(p, i*halfBytes) }
