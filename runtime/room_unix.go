//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runtime

import (
	"os"
	"syscall"
)

// heapUnit is the number of bytes by which Go's heap grows (runtime/malloc.go, heapArenaBytes). Smaller arenas may
// come from memory that it already has.
const heapUnit = 64 << 20

// roomFor returns an error if the system does not provide n bytes. Go would end the process in that case, so the
// memory is requested from the system, and released, before Go requests it. Arenas remain Go's memory, because
// callers hold slices of them that may outlive the session.
func roomFor(n int64) error {
	if n < heapUnit {
		return nil
	}
	size := int((n + 2*heapUnit - 1) / heapUnit * heapUnit)
	if int64(size) < n {
		return syscall.ENOMEM
	}
	b, err := syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return os.NewSyscallError("mmap", err)
	}
	return os.NewSyscallError("munmap", syscall.Munmap(b))
}
