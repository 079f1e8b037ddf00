//go:build (linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || ((darwin || windows) && (amd64 || arm64))

package library

import "github.com/ebitengine/purego"

// Call calls the C function at an address. The objects whose addresses are converted in the call are on the heap, and
// are kept until it returns.
//
//go:uintptrescapes
func Call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// CallWith is Call with arguments that the caller keeps, so that the call allocates nothing. Objects whose addresses
// are among them have to be on the heap.
func CallWith(f uintptr, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// Callback returns the address of a C function that calls f. It is never freed; a process can have about 2,000.
func Callback(f any) uintptr { return purego.NewCallback(f) }
