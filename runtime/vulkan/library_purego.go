//go:build (linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || ((darwin || windows) && (amd64 || arm64))

package vulkan

import "github.com/ebitengine/purego"

// invoke calls a C function. The objects whose addresses are converted in the call are on the heap, and are kept until it
// returns.
//
//go:uintptrescapes
func invoke(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// invokeWith is invoke with arguments that the caller keeps, so that the call allocates nothing. Objects whose addresses
// are among them have to be on the heap.
func invokeWith(f uintptr, args []uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

// callback returns the address of a C function that calls f. It is never freed.
func callback(f any) uintptr { return purego.NewCallback(f) }
