package vulkan

import (
	goruntime "runtime"

	"github.com/ggmlc/ggmlc/runtime/library"
)

// libraryNames returns the file names of Vulkan's loader on this system.
func libraryNames() []string {
	switch goruntime.GOOS {
	case "windows":
		return []string{"vulkan-1.dll"}
	case "darwin":
		return []string{"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"}
	}
	return []string{"libvulkan.so.1", "libvulkan.so"}
}

// invoke calls a C function. The objects whose addresses are converted in the call are on the heap, and are kept until
// it returns.
//
//go:uintptrescapes
func invoke(f uintptr, args ...uintptr) uintptr { return library.Call(f, args...) }

// invokeWith is invoke with arguments that the caller keeps, so that the call allocates nothing.
func invokeWith(f uintptr, args []uintptr) uintptr { return library.CallWith(f, args) }

// callback returns the address of a C function that calls f. It is never freed.
func callback(f any) uintptr { return library.Callback(f) }
