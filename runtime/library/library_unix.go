//go:build (linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && (amd64 || arm64))

package library

import (
	"runtime"

	"github.com/ebitengine/purego"
)

func open(name string) (uintptr, error) {
	runtime.LockOSThread() // the cause of a failure is kept by thread
	defer runtime.UnlockOSThread()
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

// Symbol returns the address of a function of an open library.
func Symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }
