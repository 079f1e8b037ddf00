//go:build (linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) || (darwin && (amd64 || arm64))

package vulkan

import (
	goruntime "runtime"

	"github.com/ebitengine/purego"
)

// libraryNames returns the file names of Vulkan's loader on this system.
func libraryNames() []string {
	if goruntime.GOOS == "darwin" {
		return []string{"libvulkan.1.dylib", "libvulkan.dylib", "libMoltenVK.dylib"}
	}
	return []string{"libvulkan.so.1", "libvulkan.so"}
}

func openLibrary(name string) (uintptr, error) {
	return purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
}

func symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }
