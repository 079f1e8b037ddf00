//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package lineedit

import "syscall"

// Requests that read and change the mode of a terminal.
const (
	getMode = syscall.TIOCGETA
	setMode = syscall.TIOCSETA
)
