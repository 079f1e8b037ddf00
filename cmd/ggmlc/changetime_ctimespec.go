//go:build darwin || freebsd || netbsd

package main

import (
	"io/fs"
	"syscall"
)

// changeTime returns when a file, or what the system notes of it, was changed last, in
// nanoseconds.
func changeTime(info fs.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ctimespec.Nano()
	}
	return 0
}
