//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package cmd

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder opens a folder and tries to lock it. held reports whether it succeeded. File systems without locks count
// as if it did.
func lockFolder(dir string, kind lockKind) (f *os.File, held bool, err error) {
	if f, err = os.Open(dir); err != nil {
		return nil, false, err
	}
	how := syscall.LOCK_SH
	if kind == alone {
		how = syscall.LOCK_EX
	}
	err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
	return f, !errors.Is(err, syscall.EWOULDBLOCK), nil
}
