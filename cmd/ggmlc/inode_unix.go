//go:build unix

package main

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inode identifies a file: its file system, and its number there.
func inode(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Dev, " ", st.Ino)
	}
	return ""
}

// owner returns the user that a file belongs to, if that is known.
func owner(info fs.FileInfo) (id int, known bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), true
	}
	return 0, false
}
