package runtime

import (
	"fmt"
	"os"
	"unsafe"
)

// poisonByte fills arenas in tests. Four of these bytes are a NaN as f32, and two are a NaN as f16, so a read before
// the first write shows in the results.
const poisonByte = 0xff

// arena is one allocation that begins at a page and shares no page with other memory, so that devices can import it.
// It is never moved or grown, since emitted code holds pointers into it. The operating system provides fresh memory
// page by page as it is touched: an arena sized for the upper bounds costs address space, not memory.
type arena struct {
	bytes []byte
}

// newArena allocates n zero bytes.
func newArena(n int64) arena {
	if n == 0 {
		return arena{}
	}
	raw := make([]byte, wholePages(n)+wholePages(1)-1)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % uintptr(os.Getpagesize())
	return arena{raw[skip : int64(skip)+n : int64(skip)+n]}
}

// wholePages rounds a size up to a multiple of the system's pages.
func wholePages(n int64) int64 {
	page := int64(os.Getpagesize())
	return (n + page - 1) / page * page
}

// allocateArena is newArena, but returns an error if the system does not provide the memory. purpose names its use in
// the error.
func allocateArena(n int64, purpose string) (arena, error) {
	if err := roomFor(n); err != nil {
		return arena{}, fmt.Errorf("%s of memory for %s: %w: end other programs, raise the limit of this one (ulimit -v), or compile for smaller sizes (--ctx, --batch)", gib(n), purpose, err)
	}
	return newArena(n), nil
}

// gib formats a number of bytes in GiB, or in MiB if it is small.
func gib(n int64) string {
	if n < 1<<30 {
		return fmt.Sprintf("%.3g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
}

// base returns the address to which emitted code adds its offsets, or nil for an empty arena.
func (a arena) base() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(a.bytes)) }

func (a arena) zero() { clear(a.bytes) }

func (a arena) poison() {
	for i := range a.bytes {
		a.bytes[i] = poisonByte
	}
}
