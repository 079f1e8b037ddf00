//go:build unix

package scale

import (
	"syscall"
	"time"
)

// processTime returns the CPU time of the process, which other processes do not affect.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
