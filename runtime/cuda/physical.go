package cuda

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/gpu"
)

// physical is a device of the driver, with its properties.
type physical struct {
	driver     int // version of CUDA
	number     int
	device     int32 // a CUdevice
	name       string
	bytes      uint64
	capability int // 10*major + minor
	processors int
	shared     int // bytes of memory of a workgroup
	limits     gpu.Limits
	missing    string // what it would need to address memory of the host; empty if it can
}

// Attributes of a device.
const (
	attributeThreads    = 1  // MAX_THREADS_PER_BLOCK
	attributeGroups     = 5  // MAX_GRID_DIM_X
	attributeShared     = 8  // MAX_SHARED_MEMORY_PER_BLOCK
	attributeProcessors = 16 // MULTIPROCESSOR_COUNT
	attributeMaps       = 19 // CAN_MAP_HOST_MEMORY
	attributeMajor      = 75
	attributeMinor      = 76
	attributeRegisters  = 99 // HOST_REGISTER_SUPPORTED
)

// forHost are the attributes without which a device does not address memory of the host.
var forHost = map[int]string{attributeMaps: "CAN_MAP_HOST_MEMORY", attributeRegisters: "HOST_REGISTER_SUPPORTED"}

// asked are the attributes that are asked for.
var asked = []int{attributeThreads, attributeGroups, attributeShared, attributeProcessors, attributeMaps, attributeMajor, attributeMinor, attributeRegisters}

// lowest is the compute capability that kernels are printed for.
const lowest = 70

// physicals returns the devices of the driver.
func (d *driver) physicals() ([]*physical, error) {
	n := new(int32)
	if err := d.deviceGetCount.call(uintptr(unsafe.Pointer(n))).failed("cuDeviceGetCount"); err != nil {
		return nil, err
	}
	if *n == 0 {
		return nil, errNoDevice
	}
	var all []*physical
	for i := range int(*n) {
		p, err := d.physical(i)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func (d *driver) physical(number int) (*physical, error) {
	p := &physical{driver: d.version, number: number}
	if err := d.deviceGet.call(uintptr(unsafe.Pointer(&p.device)), uintptr(number)).failed("cuDeviceGet"); err != nil {
		return nil, err
	}
	name := make([]byte, 256)
	if err := d.deviceGetName.call(uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), uintptr(p.device)).failed("cuDeviceGetName"); err != nil {
		return nil, err
	}
	end := bytes.IndexByte(name, 0)
	p.name = string(name[:max(end, 0)])
	if err := d.deviceTotalMem.call(uintptr(unsafe.Pointer(&p.bytes)), uintptr(p.device)).failed("cuDeviceTotalMem"); err != nil {
		return nil, err
	}
	values := make(map[int]int)
	for _, a := range asked {
		v := new(int32)
		if err := d.deviceGetAttribute.call(uintptr(unsafe.Pointer(v)), uintptr(a), uintptr(p.device)).failed("cuDeviceGetAttribute"); err != nil {
			return nil, err
		}
		values[a] = int(*v)
		if name, ok := forHost[a]; ok && *v == 0 {
			p.missing = "the attribute " + name
		}
	}
	p.capability = 10*values[attributeMajor] + values[attributeMinor]
	p.processors, p.shared = values[attributeProcessors], values[attributeShared]
	p.limits = gpu.Limits{Threads: values[attributeThreads], Groups: values[attributeGroups]}
	return p, nil
}

// String names the device and its driver, for errors.
func (p *physical) String() string {
	return fmt.Sprintf("%s (CUDA %s)", p.name, versionText(p.driver))
}

// choose returns the device for a target: see pick.
func (d *driver) choose(want, target string) (*physical, error) {
	all, err := d.physicals()
	if err != nil {
		return nil, err
	}
	p, err := pick(all, want, instanceOf(target))
	if err == nil && p.capability < lowest {
		err = fmt.Errorf("%v has compute capability %s, %s or later is needed: build for another backend (--targets)",
			p, capabilityText(p.capability), capabilityText(lowest))
	}
	return p, err
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
// the one at i; if there are fewer, they are given out again. If want is empty, the list is that of the devices on
// which kernels run, the one with the most memory first.
func pick(all []*physical, want string, instance int) (*physical, error) {
	if want != "" {
		list := strings.Split(want, ",")
		return named(all, list[instance%len(list)])
	}
	list := slices.DeleteFunc(slices.Clone(all), func(p *physical) bool { return p.capability < lowest })
	if len(list) == 0 {
		return all[0], nil
	}
	slices.SortStableFunc(list, func(a, b *physical) int { return cmp.Compare(b.bytes, a.bytes) })
	return list[instance%len(list)], nil
}

// named returns the device of a number or of a part of its name.
func named(all []*physical, want string) (*physical, error) {
	if n, err := strconv.Atoi(want); err == nil && n >= 0 && n < len(all) {
		return all[n], nil
	}
	for _, p := range all {
		if strings.Contains(strings.ToLower(p.name), strings.ToLower(want)) {
			return p, nil
		}
	}
	var names []string
	for i, p := range all {
		names = append(names, fmt.Sprintf("%d: %s", i, p.name))
	}
	return nil, fmt.Errorf("there is no CUDA device %q: give one of %s", want, strings.Join(names, ", "))
}
