package interp

import "fmt"

// access is a thread or several ones with their group, and the number of barriers that the group has passed; or a set
// of such that a later access is compared with. 0 is none.
//
//	bits 40 to 63: the group + 1, or manyGroups
//	bits 12 to 39: the number of barriers
//	bits  0 to 11: the thread, or manyThreads
type access uint64

const (
	manyThreads = 1<<12 - 1
	manyGroups  = 1<<24 - 1
	maxGroups   = manyGroups - 1
	maxPhases   = 1 << 28
)

func newAccess(group, phase, thread int) access {
	return access(group+1)<<40 | access(phase)<<12 | access(thread)
}

func (a access) group() int  { return int(a>>40) - 1 }
func (a access) thread() int { return int(a & manyThreads) }

// unordered reports whether one of the set a may run at the same time as the later access b, of another thread. Two
// accesses of several threads are of different ones.
func (a access) unordered(b access) bool {
	switch {
	case a == 0 || a == b && a.thread() != manyThreads:
		return false
	case a>>40 != b>>40:
		return true
	}
	return a>>12 == b>>12
}

// with returns the set a with the later access b. Accesses of the same group before an earlier barrier are
// dropped: they are ordered before every access that is unordered with b, except for accesses of other groups, which
// are unordered with b too.
func (a access) with(b access) access {
	switch {
	case a == 0 || a == b:
		return b
	case a>>40 != b>>40:
		return manyGroups << 40
	case a>>12 != b>>12:
		return b
	}
	return b | manyThreads
}

// String names the threads.
func (a access) String() string {
	switch {
	case a>>40 == manyGroups:
		return "several groups"
	case a.thread() == manyThreads:
		return fmt.Sprintf("several threads of group %d", a.group())
	}
	return fmt.Sprintf("group %d thread %d", a.group(), a.thread())
}

// mode is how memory is accessed.
type mode uint8

const (
	reads mode = iota
	writes
	atomics
	uniforms // reads of what nothing writes in the launch, by load_uniform and copy_async
	numModes
)

func (m mode) String() string {
	return [numModes]string{"read", "written", "changed by atomic_add", "read by load_uniform or copy_async"}[m]
}

// racing lists, for each mode, the modes that race with it if no barrier orders the two accesses. forbidden lists the
// modes that must not occur in the same launch.
var (
	racing    = [numModes][]mode{reads: {writes, atomics}, writes: {writes, reads, atomics}, atomics: {writes, reads}}
	forbidden = [numModes][]mode{writes: {uniforms}, atomics: {uniforms}, uniforms: {writes, atomics}}
)

// Accesses to device memory are recorded by page. A page is divided into cells of equal size, at most that of the
// smallest access, so that what is recorded is exact to the byte.
const (
	pageBits     = 12
	maxCellShift = 4 // 16 bytes
)

type page struct {
	shift int // log2 of the bytes of a cell
	cells []access
}

// pages are the accesses in one mode to an allocation; nil before the first. Pages are nil before their first.
type pages []*page

// cells returns the range of cells of the bytes; n is a power of 2 and at a multiple of it, so that one page has them.
func (p *page) span(at, n int) []access {
	at %= 1 << pageBits
	return p.cells[at>>p.shift : (at+n-1)>>p.shift+1]
}

// find returns the first cell of the bytes that holds accesses for which test is true, or 0.
func (p pages) find(at, n int, b access, test func(a, b access) bool) access {
	if p == nil || p[at>>pageBits] == nil {
		return 0
	}
	for _, a := range p[at>>pageBits].span(at, n) {
		if test(a, b) {
			return a
		}
	}
	return 0
}

// any is a test that is true of every access.
func (a access) any(access) bool { return a != 0 }

// add records an access to the bytes of an allocation of size bytes.
func (p *pages) add(at, n, size int, b access) {
	if *p == nil {
		*p = make(pages, (size-1)>>pageBits+1)
	}
	slot := &(*p)[at>>pageBits]
	shift := min(log2(n), maxCellShift)
	switch {
	case *slot == nil:
		*slot = &page{shift, make([]access, 1<<(pageBits-shift))}
	case (*slot).shift > shift:
		*slot = (*slot).refined(shift)
	}
	cells := (*slot).span(at, n)
	for i, a := range cells {
		cells[i] = a.with(b)
	}
}

// refined returns the page with smaller cells.
func (p *page) refined(shift int) *page {
	q := &page{shift, make([]access, 1<<(pageBits-shift))}
	for i := range q.cells {
		q.cells[i] = p.cells[i>>(p.shift-shift)]
	}
	return q
}

func log2(n int) int {
	s := 0
	for 1<<s < n {
		s++
	}
	return s
}
