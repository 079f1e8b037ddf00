//go:build amd64 || arm64

package vulkan

import "syscall"

// libraryNames returns the file names of Vulkan's loader on this system.
func libraryNames() []string { return []string{"vulkan-1.dll"} }

func openLibrary(name string) (uintptr, error) {
	h, err := syscall.LoadLibrary(name)
	return uintptr(h), err
}

func symbol(library uintptr, name string) (uintptr, error) {
	return syscall.GetProcAddress(syscall.Handle(library), name)
}
