//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package runtime

import (
	"fmt"
	"io"
	"os"
)

// mapFile reads the weights into memory: package syscall cannot map files here.
func mapFile(f *os.File, offset, length int64) (b []byte, mapped bool, err error) {
	b, err = readWhole(f, offset, length)
	return b, false, err
}

func unmapFile([]byte) error { return nil }

// readWhole implements mapFile on systems that cannot map files.
func readWhole(f io.ReaderAt, offset, length int64) ([]byte, error) {
	if int64(int(length)) != length {
		return nil, fmt.Errorf("%d bytes do not fit into this machine's address space", length)
	}
	a := newArena(length)
	if _, err := f.ReadAt(a.bytes, offset); err != nil {
		return nil, err
	}
	return a.bytes, nil
}
