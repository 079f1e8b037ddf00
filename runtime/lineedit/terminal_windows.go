package lineedit

import (
	"os"
	"syscall"
	"unsafe"
)

var (
	kernel32            = syscall.NewLazyDLL("kernel32.dll")
	setConsoleMode      = kernel32.NewProc("SetConsoleMode")
	getConsoleScreenBuf = kernel32.NewProc("GetConsoleScreenBufferInfo")
)

// Modes of consoles (wincon.h).
const (
	lineInput       = 0x2
	echoInput       = 0x4
	virtualInput    = 0x200 // keys as the sequences of terminals
	processedOutput = 0x1
	virtualOutput   = 0x4 // sequences of terminals are obeyed
)

// isTerminal returns an error if f is no console.
func isTerminal(f *os.File) error {
	var mode uint32
	return syscall.GetConsoleMode(syscall.Handle(f.Fd()), &mode)
}

// singleKeys makes a console give single keys without showing them. Ctrl-C remains an interrupt. The function that it
// returns restores the modes.
func singleKeys(in, out *os.File) (restore func(), err error) {
	var before, shown uint32
	if err := syscall.GetConsoleMode(syscall.Handle(in.Fd()), &before); err != nil {
		return nil, err
	}
	if err := syscall.GetConsoleMode(syscall.Handle(out.Fd()), &shown); err != nil {
		return nil, err
	}
	restore = func() {
		setMode(in, before)
		setMode(out, shown)
	}
	if err := setMode(out, shown|processedOutput|virtualOutput); err != nil {
		return nil, err
	}
	if err := setMode(in, before&^(lineInput|echoInput)|virtualInput); err != nil {
		restore()
		return nil, err
	}
	return restore, nil
}

func setMode(f *os.File, mode uint32) error {
	if ok, _, err := setConsoleMode.Call(f.Fd(), uintptr(mode)); ok == 0 {
		return os.NewSyscallError("SetConsoleMode", err)
	}
	return nil
}

// size returns the size of a console's window, and 80 columns of 24 rows if it does not tell.
func size(f *os.File) (columns, rows int) {
	var info struct { // CONSOLE_SCREEN_BUFFER_INFO
		columns, rows, x, y      int16
		attributes               uint16
		left, top, right, bottom int16
		mostColumns, mostRows    int16
	}
	if ok, _, _ := getConsoleScreenBuf.Call(f.Fd(), uintptr(unsafe.Pointer(&info))); ok == 0 {
		return 80, 24
	}
	return int(info.right-info.left) + 1, int(info.bottom-info.top) + 1
}
