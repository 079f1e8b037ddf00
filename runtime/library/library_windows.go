//go:build amd64 || arm64

package library

import "syscall"

func open(name string) (uintptr, error) {
	h, err := syscall.LoadLibrary(name)
	return uintptr(h), err
}

// Symbol returns the address of a function of an open library.
func Symbol(library uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(library), name)
}
