package runtime

import "unsafe"

// poisonByte fills arenas in tests: four of it are a NaN as f32 and two of it as f16, so
// that a read before the first write shows in the results.
const poisonByte = 0xff

// arena is one allocation, aligned to Align. It is never moved or grown: emitted code
// holds pointers into it. Fresh memory comes from the operating system page by page as
// it is touched, so that the bound costs address space and not memory.
type arena struct {
	bytes []byte
}

// newArena allocates n zero bytes.
func newArena(n int64) arena {
	if n == 0 {
		return arena{}
	}
	raw := make([]byte, n+Align-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % Align
	return arena{raw[skip : int64(skip)+n : int64(skip)+n]}
}

// base is what emitted code adds its offsets to; nil for an empty arena.
func (a arena) base() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.bytes)) }

func (a arena) zero() { clear(a.bytes) }

func (a arena) poison() {
	for i := range a.bytes {
		a.bytes[i] = poisonByte
	}
}
