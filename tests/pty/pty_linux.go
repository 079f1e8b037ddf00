// Package pty opens pseudo-terminals for tests.
package pty

import (
	"fmt"
	"os"
	"syscall"
	"testing"
	"unsafe"
)

// Open returns both ends of a pseudo-terminal: what a user types and sees, and what a program opens. It has 24 rows.
func Open(t testing.TB, columns int) (user, program *os.File) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("skip: no pseudo-terminals: ", err)
	}
	t.Cleanup(func() { user.Close() })
	var number uint32
	var unlocked int32
	size := [4]uint16{24, uint16(columns)}
	request(t, user, syscall.TIOCSPTLCK, unsafe.Pointer(&unlocked))
	request(t, user, syscall.TIOCGPTN, unsafe.Pointer(&number))
	request(t, user, syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	program, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { program.Close() })
	return user, program
}

func request(t testing.TB, f *os.File, what uintptr, value unsafe.Pointer) {
	t.Helper()
	c, err := f.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	c.Control(func(fd uintptr) {
		if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, what, uintptr(value)); errno != 0 {
			t.Fatal(errno)
		}
	})
}
