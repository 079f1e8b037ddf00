package vulkan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// physical is a device of a driver, with its properties.
type physical struct {
	handle      handle
	number      int // among all devices
	properties  vkPhysicalDeviceProperties2
	driver      vkPhysicalDeviceDriverProperties
	maintenance vkPhysicalDeviceMaintenance3Properties
	floats      vkPhysicalDeviceFloatControlsProperties
	subgroups   vkPhysicalDeviceSubgroupProperties
	hostMemory  vkPhysicalDeviceExternalMemoryHostPropertiesEXT // zero without the extension
	memory      vkPhysicalDeviceMemoryProperties
	extensions  []string
}

// physicals returns the devices of all drivers.
func (in *instance) physicals() ([]*physical, error) {
	handles, err := list("vkEnumeratePhysicalDevices", func(n *uint32, p *handle) result {
		return in.enumeratePhysicalDevices.call(uintptr(in.handle), uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(p)))
	})
	switch {
	case errors.Is(err, initialization): // the loader's answer where no driver has a device
		return nil, fmt.Errorf("%w (%w)", errNoDevice, err)
	case err != nil:
		return nil, byLoader(err)
	case len(handles) == 0:
		return nil, errNoDevice
	}
	all := make([]*physical, len(handles))
	for i, h := range handles {
		if all[i], err = in.physical(h); err != nil {
			return nil, err
		}
		all[i].number = i
	}
	return all, nil
}

func (in *instance) physical(h handle) (*physical, error) {
	p := &physical{handle: h}
	p.properties.sType, p.properties.pNext = typeProperties2, unsafe.Pointer(&p.driver)
	p.driver.sType, p.driver.pNext = typeDriverProperties, unsafe.Pointer(&p.maintenance)
	p.maintenance.sType, p.maintenance.pNext = typeMaintenance3Properties, unsafe.Pointer(&p.floats)
	p.floats.sType, p.floats.pNext = typeFloatControlsProperties, unsafe.Pointer(&p.subgroups)
	p.subgroups.sType = typeSubgroupProperties
	m := &vkPhysicalDeviceMemoryProperties2{sType: typeMemoryProperties2}
	in.getPhysicalDeviceMemoryProperties2.call(uintptr(h), uintptr(unsafe.Pointer(m)))
	p.memory = m.memoryProperties
	all, err := list("vkEnumerateDeviceExtensionProperties", func(n *uint32, e *vkExtensionProperties) result {
		return in.enumerateDeviceExtensionProperties.call(uintptr(h), 0, uintptr(unsafe.Pointer(n)), uintptr(unsafe.Pointer(e)))
	})
	p.extensions = extensionNames(all)
	if len(p.having(extHostMemory)) > 0 {
		p.hostMemory.sType = typeHostMemoryProperties
		p.subgroups.pNext = unsafe.Pointer(&p.hostMemory)
	}
	in.getPhysicalDeviceProperties2.call(uintptr(h), uintptr(unsafe.Pointer(&p.properties)))
	return p, err
}

// choose returns the device for a target: see pick.
func (in *instance) choose(want, target string) (*physical, error) {
	all, err := in.physicals()
	if err != nil {
		return nil, err
	}
	p, err := pick(all, want, instanceOf(target))
	if err != nil {
		return nil, err
	}
	if v := p.properties.properties.apiVersion; v < version12 {
		return nil, fmt.Errorf("%v has Vulkan %s, 1.2 is needed: install a newer driver", p, versionString(v))
	}
	return p, nil
}

// instanceOf returns the number N of a target with the name KIND:N, and 0 for any other.
func instanceOf(target string) int {
	_, number, _ := strings.Cut(target, ":")
	n, err := strconv.ParseUint(number, 10, 31)
	if err != nil {
		return 0
	}
	return int(n)
}

// pick returns one of the devices. want lists numbers or names, separated by commas. Target number i of several gets
// the one at i; if there are fewer, they are given out again. If want is empty, the list is that of all devices, the
// best one first, without drivers on the processor if there is a GPU.
func pick(all []*physical, want string, instance int) (*physical, error) {
	if want == "" {
		list := ranked(all)
		return list[instance%len(list)], nil
	}
	list := strings.Split(want, ",")
	return named(all, list[instance%len(list)])
}

// ranked returns the devices that are chosen by themselves, the best one first.
func ranked(all []*physical) []*physical {
	list := slices.SortedStableFunc(slices.Values(all), func(a, b *physical) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(b.bytes(), a.bytes()))
	})
	if list[0].kind() != kindCPU {
		list = slices.DeleteFunc(list, func(p *physical) bool { return p.kind() == kindCPU })
	}
	return list
}

// named returns the device of a number or a part of a name.
func named(all []*physical, want string) (*physical, error) {
	if n, err := strconv.Atoi(want); err == nil && n >= 0 && n < len(all) {
		return all[n], nil
	}
	for _, p := range all {
		if strings.Contains(strings.ToLower(p.name()), strings.ToLower(want)) {
			return p, nil
		}
	}
	var names []string
	for i, p := range all {
		names = append(names, fmt.Sprintf("%d: %s", i, p.name()))
	}
	return nil, fmt.Errorf("there is no Vulkan device %q: give one of %s", want, strings.Join(names, ", "))
}

// rank orders kinds of devices. It is larger for faster ones.
func (p *physical) rank() int {
	return slices.Index([]int32{kindCPU, kindVirtual, kindIntegrated, kindDiscrete}, p.kind())
}

func (p *physical) kind() int32 { return p.properties.properties.deviceType }

// bytes returns the size of the largest heap of the device's own memory.
func (p *physical) bytes() (most uint64) {
	for i := range p.memory.memoryHeapCount {
		if h := &p.memory.memoryHeaps[i]; h.flags&memoryDeviceLocal != 0 {
			most = max(most, h.size)
		}
	}
	return most
}

func (p *physical) name() string { return goString(p.properties.properties.deviceName[:]) }

// String names the device and its driver, for errors.
func (p *physical) String() string {
	return fmt.Sprintf("%s (driver %s %s)", p.name(), goString(p.driver.driverName[:]), goString(p.driver.driverInfo[:]))
}

// shared reports whether the memory of the device is the memory of the processor.
func (p *physical) shared() bool {
	return p.kind() == kindIntegrated || p.kind() == kindCPU
}

// patience returns the longest wait without progress unless another one is asked for.
func (p *physical) patience() time.Duration {
	if p.kind() == kindCPU {
		return sharedLimit
	}
	return defaultLimit
}

func (p *physical) limits() gpu.Limits {
	l := &p.properties.properties.limits
	return gpu.Limits{
		Threads: int(min(l.maxComputeWorkGroupInvocations, l.maxComputeWorkGroupSize[0])),
		Groups:  int(l.maxComputeWorkGroupCount[0]),
	}
}

// memoryType returns a type among those of bits that has all the properties, with as few others as the driver's order
// gives, or -1.
func (p *physical) memoryType(bits, properties uint32) int {
	for i := range p.memory.memoryTypeCount {
		if bits>>i&1 == 1 && p.memory.memoryTypes[i].propertyFlags&properties == properties {
			return int(i)
		}
	}
	return -1
}
