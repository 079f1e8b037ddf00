//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runtime

import (
	"os"
	"syscall"
)

// heapUnit is what Go's heap grows by, in bytes (runtime/malloc.go, heapArenaBytes): smaller
// arenas come out of memory that it may have.
const heapUnit = 64 << 20

// roomFor reports that the system does not give n bytes. Go ends the process then, so they are
// asked for and given back before Go is asked. Arenas are Go's memory all the same: callers have
// slices of them that may outlive the session.
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
