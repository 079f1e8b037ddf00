//go:build !(linux && (amd64 || arm64 || loong64 || ppc64le || riscv64)) && !((darwin || windows) && (amd64 || arm64))

package vulkan

import "errors"

func libraryNames() []string { return []string{"libvulkan.so.1"} }

func openLibrary(string) (uintptr, error) {
	return 0, errors.New("Vulkan is supported on 64-bit Linux, macOS and Windows only")
}

func symbol(uintptr, string) (uintptr, error) { panic("no library is open") }

func invoke(uintptr, ...uintptr) uintptr { panic("no library is open") }

func invokeWith(uintptr, []uintptr) uintptr { panic("no library is open") }

func callback(any) uintptr { panic("no library is open") }
