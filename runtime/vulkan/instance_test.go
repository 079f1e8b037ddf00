package vulkan

import (
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime/library"
)

// version11 is the last version that is too old.
const version11 = 1<<22 | 1<<12

// TestInstallationsThatDoNotDo changes what the library of Vulkan answers.
func TestInstallationsThatDoNotDo(t *testing.T) {
	probe, err := newInstance(nil)
	if err != nil {
		t.Skipf("skip: no Vulkan: %v", err)
	}
	probe.close()
	for _, c := range []struct {
		name string
		edit func(*instance)
		want string
	}{
		{"old library", func(in *instance) {
			in.enumerateInstanceVersion = fn(callback(func(v *uint32) uintptr { *v = version11; return 0 }))
		}, "the library has Vulkan 1.1.0, 1.2 is needed: install a newer driver"},
		{"no device", func(in *instance) {
			in.enumeratePhysicalDevices = fn(callback(func(_ uintptr, n *uint32, _ uintptr) uintptr { *n = 0; return 0 }))
		}, "the Vulkan drivers that are installed have no device: install the driver of the GPU"},
		{"no device of any driver", func(in *instance) {
			failed := initialization
			in.enumeratePhysicalDevices = fn(callback(func(_, _, _ uintptr) uintptr { return uintptr(failed) }))
		}, "the Vulkan drivers that are installed have no device: install the driver of the GPU, or (Debian) mesa-vulkan-drivers (vkEnumeratePhysicalDevices: VK_ERROR_INITIALIZATION_FAILED)"},
		{"no answer", func(in *instance) {
			failed := outOfHost
			in.enumeratePhysicalDevices = fn(callback(func(_, _, _ uintptr) uintptr { return uintptr(failed) }))
		}, "vkEnumeratePhysicalDevices: VK_ERROR_OUT_OF_HOST_MEMORY: set VK_LOADER_DEBUG=error"},
		{"old device", func(in *instance) {
			in.getPhysicalDeviceProperties2 = fn(callback(func(_ uintptr, p *vkPhysicalDeviceProperties2) uintptr {
				copy(p.properties.deviceName[:], "Old Card")
				p.properties.apiVersion = version11
				return 0
			}))
		}, "Old Card (driver  ) has Vulkan 1.1.0, 1.2 is needed: install a newer driver"},
	} {
		t.Run(c.name, func(t *testing.T) {
			in, err := newInstance(nil)
			if err != nil {
				t.Fatal(err)
			}
			defer in.close()
			c.edit(in)
			_, err = in.choose("", "vulkan")
			if err := errors.Join(in.checkVersion(), err); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
		})
	}
}

// TestLibraryWithoutVulkan has a library of the name of Vulkan's loader that is something else.
func TestLibraryWithoutVulkan(t *testing.T) {
	lib, err := library.Open("libm.so.6")
	if err != nil {
		t.Skipf("skip: no other library: %v", err)
	}
	if _, err := loadGlobal(lib); !errors.Is(err, errNoLibrary) {
		t.Errorf("error %v, want %v", err, errNoLibrary)
	}
}
