package runtime

import (
	"math/bits"
	"syscall"
	"unsafe"
)

// canBind reports whether the system binds threads to cores.
const canBind = true

// coreMask is a set of processors as sched_setaffinity(2) reads it, with room for as many as Linux can have.
type coreMask [8192 / bits.UintSize]uint

// add adds a processor to the set.
func (m *coreMask) add(core int) {
	if core/bits.UintSize < len(m) {
		m[core/bits.UintSize] |= 1 << (core % bits.UintSize)
	}
}

// cores returns the processors of the set in order.
func (m *coreMask) cores() (list []int) {
	for core := range len(m) * bits.UintSize {
		if m[core/bits.UintSize]>>(core%bits.UintSize)&1 == 1 {
			list = append(list, core)
		}
	}
	return list
}

// apply lets the calling thread run on these processors only. An empty set, and one that the system refuses, changes
// nothing.
func (m *coreMask) apply() {
	syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(*m), uintptr(unsafe.Pointer(m)))
}

// load makes m the set of processors on which the calling thread may run; empty if that is not known.
func (m *coreMask) load() {
	clear(m[:])
	syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(*m), uintptr(unsafe.Pointer(m)))
}
