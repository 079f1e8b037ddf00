package cpu

import "unsafe"

// Probes measure this machine's limits, which other speeds are compared with: each does
// nothing but one kind of work, with the best instructions of the active implementation.
// What they return divided by the time they take is the limit of one thread. A call with
// n = 100,000 lasts well below a millisecond.

// ProbeF32 runs n iterations of float32 multiply-adds and returns the operations done, two for
// each; 0 if the active implementation is pure Go.
func ProbeF32(n int) int {
	if n <= 0 || active.probe.f32 == nil {
		return 0
	}
	active.probe.f32(n)
	return n * active.probe.f32Ops
}

// ProbeInt8 runs n iterations of int8 multiply-adds and returns the operations done; 0 if the
// active implementation has no instruction for them.
func ProbeInt8(n int) int {
	if n <= 0 || active.probe.int8 == nil {
		return 0
	}
	active.probe.int8(n)
	return n * active.probe.int8Ops
}

// ProbeBF16 runs n iterations of bfloat16 multiply-adds and returns the operations done; 0 if the
// active implementation has no instruction for them.
func ProbeBF16(n int) int {
	if n <= 0 || active.probe.bf16 == nil {
		return 0
	}
	active.probe.bf16(n)
	return n * active.probe.bf16Ops
}

// Probe is a loop of n iterations that only multiplies and adds, and the operations of an
// iteration. Loop is nil where an implementation has no instruction for the kind of numbers.
type Probe struct {
	Loop func(n int)
	Ops  int
}

// BestProbes returns the probes of the implementation that is chosen at start, also if
// another one is active.
func BestProbes() (f32, int8, bf16 Probe) {
	p := &best().probe
	return Probe{p.f32, p.f32Ops}, Probe{p.int8, p.int8Ops}, Probe{p.bf16, p.bf16Ops}
}

// ProbeRead reads size bytes at p, size a multiple of 512. It reads one stream; what
// memory gives to several at once may be more.
func ProbeRead(p unsafe.Pointer, size int) {
	if size < 512 {
		return
	}
	if active.probe.read == nil {
		readGeneric(p, size)
		return
	}
	active.probe.read(p, size/512)
}

// probe is the limits' loops: iterations, and operations in an iteration.
type probe struct {
	f32, int8, bf16          func(n int)
	f32Ops, int8Ops, bf16Ops int
	read                     func(p unsafe.Pointer, n int) // n times 512 bytes
}

// readGeneric reads a word of each cache line.
func readGeneric(p unsafe.Pointer, size int) (sum uint64) {
	for at := 0; at < size; at += 64 {
		sum += *(*uint64)(unsafe.Add(p, at))
	}
	return sum
}
