package vulkan

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"unsafe"
)

// instance is a connection to the drivers.
type instance struct {
	*global
	handle    handle
	messenger handle
	version   uint32

	destroyInstance                    fn
	enumeratePhysicalDevices           fn
	getPhysicalDeviceProperties2       fn
	getPhysicalDeviceFeatures2         fn
	getPhysicalDeviceMemoryProperties2 fn
	getPhysicalDeviceQueueFamilies     fn
	enumerateDeviceExtensionProperties fn
	createDevice                       fn
	createMessenger, destroyMessenger  fn // only with validation
}

const (
	layerValidation    = "VK_LAYER_KHRONOS_validation"
	extDebugUtils      = "VK_EXT_debug_utils"
	extPortability     = "VK_KHR_portability_enumeration"
	extPortable        = "VK_KHR_portability_subset"
	extMemoryBudget    = "VK_EXT_memory_budget"
	enumeratePortables = 1 // VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR
)

// newInstance opens the library and makes an instance. If validate is not nil, it gets the messages of the validation
// layer.
func newInstance(validate func(string)) (*instance, error) {
	g, err := openGlobal()
	if err != nil {
		return nil, err
	}
	in := &instance{global: g}
	if err := in.checkVersion(); err != nil {
		return nil, err
	}
	if err := in.create(validate != nil); err != nil {
		return nil, err
	}
	if err := in.loadFunctions(); err != nil {
		return nil, err
	}
	if validate != nil {
		err = in.listen(validate)
	}
	if err != nil {
		in.close()
		return nil, err
	}
	return in, nil
}

func (in *instance) checkVersion() error {
	v := new(uint32)
	if err := in.enumerateInstanceVersion.call(uintptr(unsafe.Pointer(v))).failed("vkEnumerateInstanceVersion"); err != nil {
		return err
	}
	if *v < version12 {
		return fmt.Errorf("the library has Vulkan %s, 1.2 is needed: install a newer driver", versionString(*v))
	}
	in.version = min(*v, version13)
	return nil
}

func versionString(v uint32) string { return fmt.Sprintf("%d.%d.%d", v>>22&0x7f, v>>12&0x3ff, v&0xfff) }

// create makes the instance.
func (in *instance) create(validate bool) error {
	var layers, extensions []string
	var flags uint32
	if validate {
		layers, extensions = []string{layerValidation}, []string{extDebugUtils}
	}
	have, err := in.extensions()
	if err != nil {
		return err
	}
	if slices.Contains(have, extPortability) {
		extensions, flags = append(extensions, extPortability), enumeratePortables
	}
	app := &vkApplicationInfo{sType: typeApplicationInfo, pEngineName: unsafe.Pointer(cString("ggmlc")), apiVersion: in.version}
	info := &vkInstanceCreateInfo{
		sType: typeInstanceCreateInfo, flags: flags, pApplicationInfo: unsafe.Pointer(app),
		enabledLayerCount: uint32(len(layers)), ppEnabledLayerNames: cStrings(layers),
		enabledExtensionCount: uint32(len(extensions)), ppEnabledExtensionNames: cStrings(extensions),
	}
	switch r := in.createInstance.call(uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&in.handle))); r {
	case noDriver:
		return fmt.Errorf("there is no Vulkan driver: install the one of the GPU, or (Debian) mesa-vulkan-drivers, and see that VK_DRIVER_FILES and VK_ICD_FILENAMES, if they are set, name its file (%w)", r)
	case layerMissing:
		return fmt.Errorf("there is no validation layer: install it (Debian: vulkan-validationlayers) (%w)", r)
	default:
		return byLoader(r.failed("vkCreateInstance"))
	}
}

// byLoader adds to the error of a call that the loader answers for all drivers how to learn more. The loader may report
// a file of a driver that it cannot read as VK_ERROR_OUT_OF_HOST_MEMORY.
func byLoader(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: set VK_LOADER_DEBUG=error to see what Vulkan's loader finds wrong, and install the driver of the GPU again", err)
}

// extensions returns the names of the instance's extensions.
func (in *instance) extensions() ([]string, error) {
	all, err := list("vkEnumerateInstanceExtensionProperties", func(n *uint32, p *vkExtensionProperties) result {
		return in.enumerateInstanceExtensionProperties.call(0, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(p)))
	})
	return extensionNames(all), byLoader(err)
}

func extensionNames(all []vkExtensionProperties) []string {
	names := make([]string, len(all))
	for i := range all {
		names[i] = goString(all[i].extensionName[:])
	}
	return names
}

func (in *instance) loadFunctions() error {
	return in.load(in.handle, []function{
		{"vkDestroyInstance", &in.destroyInstance},
		{"vkEnumeratePhysicalDevices", &in.enumeratePhysicalDevices},
		{"vkGetPhysicalDeviceProperties2", &in.getPhysicalDeviceProperties2},
		{"vkGetPhysicalDeviceFeatures2", &in.getPhysicalDeviceFeatures2},
		{"vkGetPhysicalDeviceMemoryProperties2", &in.getPhysicalDeviceMemoryProperties2},
		{"vkGetPhysicalDeviceQueueFamilyProperties", &in.getPhysicalDeviceQueueFamilies},
		{"vkEnumerateDeviceExtensionProperties", &in.enumerateDeviceExtensionProperties},
		{"vkCreateDevice", &in.createDevice},
	})
}

// Messages that the validation layer reports, and their kinds: general, validation, performance.
const (
	severities   = 0x100 | 0x1000 // warnings and errors
	messageKinds = 1 | 2 | 4
)

// listen passes messages of the validation layer to a function.
func (in *instance) listen(to func(string)) error {
	err := in.load(in.handle, []function{
		{"vkCreateDebugUtilsMessengerEXT", &in.createMessenger}, {"vkDestroyDebugUtilsMessengerEXT", &in.destroyMessenger}})
	if err != nil {
		return err
	}
	info := &vkDebugUtilsMessengerCreateInfoEXT{
		sType: typeDebugMessengerCreateInfo, messageSeverity: severities, messageType: messageKinds,
		pfnUserCallback: callback(func(_, _ uint32, data *vkDebugUtilsMessengerCallbackDataEXT, _ uintptr) uintptr {
			to(cText(data.pMessage))
			return 0
		}),
	}
	return in.createMessenger.call(uintptr(in.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&in.messenger))).failed("vkCreateDebugUtilsMessengerEXT")
}

// cText returns a copy of a C string.
func cText(p unsafe.Pointer) string {
	if p == nil {
		return ""
	}
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}

func (in *instance) close() {
	if in.messenger != 0 {
		in.destroyMessenger.call(uintptr(in.handle), uintptr(in.messenger), 0)
	}
	if in.handle != 0 && in.destroyInstance != 0 {
		in.destroyInstance.call(uintptr(in.handle), 0)
	}
	in.handle, in.messenger = 0, 0
	goruntime.KeepAlive(in)
}

// errNoDevice is the error where drivers have no device.
var errNoDevice = errors.New("the Vulkan drivers that are installed have no device: install the driver of the GPU, or (Debian) mesa-vulkan-drivers")
