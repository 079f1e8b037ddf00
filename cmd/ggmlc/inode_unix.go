//go:build unix

package main

import (
	"io/fs"
	"syscall"
)

// inode identifies a file within its file system.
func inode(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Ino
	}
	return 0
}
