//go:build !(linux || openbsd || dragonfly || solaris || darwin || freebsd || netbsd)

package cmd

import "io/fs"

// changeTime returns 0: the time is not available on this system.
func changeTime(fs.FileInfo) int64 { return 0 }
