//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package runtime

import (
	"os"
	"syscall"
)

// mapFile maps part of a file read-only. The pages are those of the system's page cache: they are not copied, and are
// shared by all processes that run this model. offset is a multiple of WeightsBoundary, and so of every page size.
func mapFile(f *os.File, offset, length int64) (b []byte, mapped bool, err error) {
	if int64(int(length)) != length {
		return nil, false, syscall.ENOMEM
	}
	b, err = syscall.Mmap(int(f.Fd()), offset, int(length), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		return nil, false, os.NewSyscallError("mmap", err)
	}
	adviseWeights(b)
	return b, true, nil
}

func unmapFile(b []byte) error { return os.NewSyscallError("munmap", syscall.Munmap(b)) }
