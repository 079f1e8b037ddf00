package vulkan

import (
	"errors"
	"fmt"
	"strconv"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/library"
)

// handle is an object of Vulkan: dispatchable ones are addresses, others 64-bit numbers. Both have 8 bytes on 64-bit
// systems.
type handle uint64

// fn is the address of a function of Vulkan.
type fn uintptr

// call calls f. As in invoke, objects whose addresses are converted in the call are kept until it returns.
//
//go:uintptrescapes
func (f fn) call(args ...uintptr) result { return result(int32(invoke(uintptr(f), args...))) }

// with is call as invokeWith makes it.
func (f fn) with(args []uintptr) result { return result(int32(invokeWith(uintptr(f), args))) }

// result is a VkResult.
type result int32

const (
	success        result = 0
	timeout        result = 2
	incomplete     result = 5
	outOfHost      result = -1
	outOfDevice    result = -2
	deviceLost     result = -4
	layerMissing   result = -6
	noDriver       result = -9
	initialization result = -3

	invalidExternal result = -1000072003
)

var resultNames = map[result]string{
	1: "VK_NOT_READY", timeout: "VK_TIMEOUT", incomplete: "VK_INCOMPLETE",
	outOfHost: "VK_ERROR_OUT_OF_HOST_MEMORY", outOfDevice: "VK_ERROR_OUT_OF_DEVICE_MEMORY",
	initialization: "VK_ERROR_INITIALIZATION_FAILED", deviceLost: "VK_ERROR_DEVICE_LOST", -5: "VK_ERROR_MEMORY_MAP_FAILED",
	layerMissing: "VK_ERROR_LAYER_NOT_PRESENT", -7: "VK_ERROR_EXTENSION_NOT_PRESENT", -8: "VK_ERROR_FEATURE_NOT_PRESENT",
	noDriver: "VK_ERROR_INCOMPATIBLE_DRIVER", -10: "VK_ERROR_TOO_MANY_OBJECTS", -12: "VK_ERROR_FRAGMENTED_POOL",
	-13: "VK_ERROR_UNKNOWN", -1000069000: "VK_ERROR_OUT_OF_POOL_MEMORY", -1000011001: "VK_ERROR_VALIDATION_FAILED_EXT",
	-1000012000: "VK_ERROR_INVALID_SHADER_NV", invalidExternal: "VK_ERROR_INVALID_EXTERNAL_HANDLE",
}

// Error returns the name of the result in the specification.
func (r result) Error() string {
	if name, ok := resultNames[r]; ok {
		return name
	}
	return "VkResult " + strconv.Itoa(int(r))
}

// Surroundings tells gpu.Failure whether the driver or the device failed.
func (r result) Surroundings() bool { return r < 0 }

// failed returns an error for a failed call of the named function, or nil.
func (r result) failed(function string) error {
	if r >= 0 {
		return nil
	}
	if r == deviceLost {
		return fmt.Errorf("%s: %w: start the program again; if that repeats, install a newer driver, or report it", function, r)
	}
	return fmt.Errorf("%s: %w", function, r)
}

// global holds the functions that need no instance.
type global struct {
	getInstanceProcAddr                  fn
	createInstance                       fn
	enumerateInstanceVersion             fn
	enumerateInstanceExtensionProperties fn
}

// errNoLibrary is wrapped with the system's error.
var errNoLibrary = errors.New("there is no library of Vulkan: install the driver of the GPU, or (Debian) libvulkan1 and mesa-vulkan-drivers")

// openGlobal opens the library.
func openGlobal() (*global, error) {
	lib, err := library.Open(libraryNames()...)
	if errors.Is(err, library.ErrSystem) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoLibrary, err)
	}
	return loadGlobal(lib)
}

func loadGlobal(lib uintptr) (*global, error) {
	get, err := library.Symbol(lib, "vkGetInstanceProcAddr")
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoLibrary, err)
	}
	g := &global{getInstanceProcAddr: fn(get)}
	err = g.load(0, []function{
		{"vkCreateInstance", &g.createInstance},
		{"vkEnumerateInstanceVersion", &g.enumerateInstanceVersion},
		{"vkEnumerateInstanceExtensionProperties", &g.enumerateInstanceExtensionProperties},
	})
	return g, err
}

// function is a function to load.
type function struct {
	name string
	to   *fn
}

// load looks functions up for an instance, or for none.
func (g *global) load(instance handle, list []function) error {
	for _, f := range list {
		*f.to = fn(invoke(uintptr(g.getInstanceProcAddr), uintptr(instance), uintptr(unsafe.Pointer(cString(f.name)))))
		if *f.to == 0 {
			return fmt.Errorf("the Vulkan that is installed has no %s: version 1.2 or later is needed: install a newer driver", f.name)
		}
	}
	return nil
}

// cString returns a copy of s with a zero at its end.
func cString(s string) *byte { return unsafe.SliceData(append([]byte(s), 0)) }

// cStrings returns an array of C strings, or nil if there is none.
func cStrings(list []string) unsafe.Pointer {
	if len(list) == 0 {
		return nil
	}
	p := make([]*byte, len(list))
	for i, s := range list {
		p[i] = cString(s)
	}
	return unsafe.Pointer(unsafe.SliceData(p))
}

// goString returns the string before the first zero of b.
func goString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// list calls a function that fills an array, first to learn its length.
func list[T any](function string, get func(count *uint32, items *T) result) ([]T, error) {
	for {
		var n uint32
		if err := get(&n, nil).failed(function); err != nil || n == 0 {
			return nil, err
		}
		items := make([]T, n)
		r := get(&n, unsafe.SliceData(items))
		if err := r.failed(function); err != nil {
			return nil, err
		}
		if r != incomplete {
			return items[:n], nil
		}
	}
}
