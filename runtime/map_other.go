//go:build !darwin && !dragonfly && !freebsd && !linux && !netbsd && !openbsd && !windows

package runtime

import "os"

// mapFile reads the weights into memory: package syscall cannot map files here.
func mapFile(f *os.File, offset, length int64) (b []byte, mapped bool, err error) {
	b, err = readWhole(f, offset, length)
	return b, false, err
}

func unmapFile([]byte) error { return nil }
