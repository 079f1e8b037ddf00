//go:build unix

package cmd

import (
	"fmt"
	"io/fs"
	"syscall"
)

// inode identifies a file by its file system and its number there.
func inode(info fs.FileInfo) string {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprint(st.Dev, " ", st.Ino)
	}
	return ""
}

// owner returns the user to whom a file belongs.
func owner(info fs.FileInfo) (id int, known bool) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(st.Uid), true
	}
	return 0, false
}
