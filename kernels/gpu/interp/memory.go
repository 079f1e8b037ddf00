package interp

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// Addresses of allocations are spread bytes away from each other. Offsets of 32-bit indices times the size of an
// element do not lead from one to another.
const (
	spreadBits = 40
	spread     = 1 << spreadBits
)

// Memory is device memory: allocations with large gaps between them, so that an address outside of them is noticed. It
// keeps which bytes are defined.
type Memory struct {
	allocations []*allocation // the address of number n is (n+1)*spread
}

// NewMemory returns memory without allocations.
func NewMemory() *Memory { return new(Memory) }

type allocation struct {
	data    []byte
	defined []uint64 // one bit for each byte
}

// Alloc returns the address of new memory, which is a multiple of 256. Its contents are undefined.
func (m *Memory) Alloc(bytes int) uint64 {
	if bytes < 0 || int64(bytes) >= spread/2 {
		panic(fmt.Sprintf("interp: allocation of %d bytes", bytes))
	}
	m.allocations = append(m.allocations, &allocation{data: make([]byte, bytes), defined: make([]uint64, (bytes+63)/64)})
	return uint64(len(m.allocations)) * spread
}

// Share returns the address of memory of the host, whose bytes count as defined.
func (m *Memory) Share(data []byte) uint64 {
	address := m.Alloc(0)
	defined := slices.Repeat([]uint64{math.MaxUint64}, (len(data)+63)/64)
	m.allocations[len(m.allocations)-1] = &allocation{data, defined}
	return address
}

// Write stores data, from the host, and makes its bytes defined. The bytes have to be in an allocation.
func (m *Memory) Write(address uint64, data []byte) {
	n, at, ok := m.locate(address, len(data))
	if !ok {
		panic(fmt.Sprintf("interp: the host writes %d bytes at %#x: outside of the allocations", len(data), address))
	}
	a := m.allocations[n]
	copy(a.data[at:], data)
	a.eachWord(at, len(data), func(word *uint64, bytes uint64) { *word |= bytes })
}

// Forget makes the contents of the allocation at an address undefined.
func (m *Memory) Forget(address uint64) { clear(m.allocation(address).defined) }

// Free removes the allocation at an address. No other one takes its place.
func (m *Memory) Free(address uint64) {
	m.allocation(address)
	m.allocations[address>>spreadBits-1] = nil
}

// allocation returns the one that begins at an address.
func (m *Memory) allocation(address uint64) *allocation {
	n, at, ok := m.locate(address, 0)
	if !ok || at != 0 {
		panic(fmt.Sprintf("interp: no allocation begins at %#x", address))
	}
	return m.allocations[n]
}

// Read fills data from memory. It is an error if a byte was never written.
func (m *Memory) Read(address uint64, data []byte) error {
	n, at, ok := m.locate(address, len(data))
	if !ok {
		return fmt.Errorf("interp: the host reads %d bytes at %#x: outside of the allocations", len(data), address)
	}
	a, defined := m.allocations[n], true
	a.eachWord(at, len(data), func(word *uint64, bytes uint64) { defined = defined && *word&bytes == bytes })
	if !defined {
		for a.isDefined(at, 1) {
			at++
		}
		return fmt.Errorf("interp: byte %d of allocation %d was never written", at, n)
	}
	copy(data, a.data[at:])
	return nil
}

// locate returns the allocation that has n bytes at an address, and where they begin in it. If none has them, ok is
// false.
func (m *Memory) locate(address uint64, n int) (number, at int, ok bool) {
	number = int(address>>spreadBits) - 1
	at = int(address % spread)
	if number < 0 || number >= len(m.allocations) || m.allocations[number] == nil {
		return number, at, false
	}
	return number, at, at+n <= len(m.allocations[number].data)
}

// mask returns the bits of n bytes from at on in their word of defined bits. They do not cross a word.
func mask(at, n int) uint64 { return (1<<n - 1) << (at % 64) }

// define makes n bytes defined, isDefined reports whether they are; n is a power of 2 up to 32, and at a multiple.
func (a *allocation) define(at, n int) { a.defined[at/64] |= mask(at, n) }

func (a *allocation) isDefined(at, n int) bool { return a.defined[at/64]&mask(at, n) == mask(at, n) }

// eachWord calls visit for each word of defined bits that n bytes have, with the bits of these bytes.
func (a *allocation) eachWord(at, n int, visit func(word *uint64, bytes uint64)) {
	for end := at + n; at < end; {
		here := min(end-at, 64-at%64)
		visit(&a.defined[at/64], mask(at, here))
		at += here
	}
}

// firstUndefined returns the first of n bytes that is undefined.
func (a *allocation) firstUndefined(at, n int) int {
	return at + bits.TrailingZeros64(^(a.defined[at/64] >> (at % 64)))
}

// describe tells where an address is that locate does not find.
func (m *Memory) describe(number, at int) string {
	if number < 0 || number >= len(m.allocations) || m.allocations[number] == nil {
		return "no allocation is there"
	}
	return fmt.Sprintf("byte %d of allocation %d, which has %d", at, number, len(m.allocations[number].data))
}
