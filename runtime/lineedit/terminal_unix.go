//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package lineedit

import (
	"os"
	"syscall"
	"unsafe"
)

// isTerminal returns an error if f is no terminal.
func isTerminal(f *os.File) error {
	var mode syscall.Termios
	return ioctl(f, getMode, unsafe.Pointer(&mode))
}

// singleKeys makes a terminal give single keys without showing them. Ctrl-C remains an interrupt. The function that it
// returns restores the mode.
func singleKeys(in, _ *os.File) (restore func(), err error) {
	var before syscall.Termios
	if err := ioctl(in, getMode, unsafe.Pointer(&before)); err != nil {
		return nil, err
	}
	mode := before
	mode.Lflag &^= syscall.ICANON | syscall.ECHO | syscall.IEXTEN
	mode.Iflag &^= syscall.ICRNL | syscall.INLCR | syscall.IGNCR | syscall.IXON | syscall.ISTRIP
	mode.Cc[syscall.VMIN], mode.Cc[syscall.VTIME] = 1, 0
	if err := ioctl(in, setMode, unsafe.Pointer(&mode)); err != nil {
		return nil, err
	}
	return func() { ioctl(in, setMode, unsafe.Pointer(&before)) }, nil
}

// size returns the size of a terminal, and 80 columns of 24 rows if it does not tell.
func size(f *os.File) (columns, rows int) {
	var s struct{ rows, columns, x, y uint16 } // winsize of the system
	if err := ioctl(f, syscall.TIOCGWINSZ, unsafe.Pointer(&s)); err != nil || s.columns == 0 || s.rows == 0 {
		return 80, 24
	}
	return int(s.columns), int(s.rows)
}

// ioctl does not use f.Fd, which would make reads of f block the thread for good.
func ioctl(f *os.File, request uintptr, value unsafe.Pointer) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var errno syscall.Errno
	err = c.Control(func(fd uintptr) {
		_, _, errno = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(value))
	})
	if err == nil && errno != 0 {
		err = os.NewSyscallError("ioctl", errno)
	}
	return err
}
