package lineedit

import "syscall"

// Requests that read and change the mode of a terminal.
const (
	getMode = syscall.TCGETS
	setMode = syscall.TCSETS
)
