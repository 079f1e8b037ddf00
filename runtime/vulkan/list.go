package vulkan

import (
	"slices"
	"unsafe"
)

// Info describes a device that Vulkan drives.
type Info struct {
	Name     string
	Kind     string // "discrete GPU", "integrated GPU", "virtual GPU", "processor", or "other"
	Driver   string // with its version
	Version  string // of Vulkan
	Memory   int64  // bytes of its own memory
	MaxAlloc int64  // bytes of the largest allocation
	Shared   int    // bytes of memory of a workgroup
	Threads  int    // of a workgroup
	Lanes    int    // threads of a subgroup
	Chosen   bool   // programs take it unless they are told otherwise
	Own      bool   // its memory is not the processor's

	// Has lists the features and properties that kernels may use and the device has, Lacks the ones that it does not
	// have. Missing lists what all kernels need and the device lacks, and the version if it is too old. The device runs
	// no programs unless Missing is empty.
	Has, Lacks, Missing []string
}

// List returns the devices of all drivers, indexed by number. The error says what to install if there is none.
func List() ([]Info, error) {
	in, err := newInstance(nil)
	if err != nil {
		return nil, err
	}
	defer in.close()
	all, err := in.physicals()
	if err != nil {
		return nil, err
	}
	chosen, err := pick(all, "", 0)
	if err != nil {
		return nil, err
	}
	list := make([]Info, len(all))
	for i, p := range all {
		list[i] = p.info(in)
		list[i].Chosen = p == chosen
	}
	return list, nil
}

var kindNames = map[int32]string{kindIntegrated: "integrated GPU", kindDiscrete: "discrete GPU", kindVirtual: "virtual GPU", kindCPU: "processor"}

func (p *physical) info(in *instance) Info {
	props := &p.properties.properties
	i := Info{
		Name: p.name(), Kind: "other", Version: versionString(props.apiVersion),
		Driver: goString(p.driver.driverName[:]) + " " + goString(p.driver.driverInfo[:]),
		Memory: int64(p.bytes()), MaxAlloc: int64(min(p.maintenance.maxMemoryAllocationSize, 1<<62)),
		Shared: int(props.limits.maxComputeSharedMemorySize), Threads: p.limits().Threads,
		Lanes: int(p.subgroups.subgroupSize), Own: !p.shared(),
	}
	if name, ok := kindNames[props.deviceType]; ok {
		i.Kind = name
	}
	p.compare(in, &i)
	return i
}

// compare sets what the device has of what kernels may use.
func (p *physical) compare(in *instance, i *Info) {
	version := min(in.version, p.properties.properties.apiVersion)
	if version < version12 {
		i.Missing = append(i.Missing, "Vulkan 1.2")
	}
	have := newFeatures(version)
	in.getPhysicalDeviceFeatures2.call(uintptr(p.handle), uintptr(unsafe.Pointer(&have.all)))
	needed := slices.Clone(basicProperties)
	for _, f := range basic {
		needed = append(needed, f.name)
	}
	names := slices.Clone(needed)
	for _, f := range further {
		names = append(names, f.name)
	}
	for _, q := range properties {
		names = append(names, q.name)
	}
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		switch {
		case have.has(name, p):
			i.Has = append(i.Has, name)
		default:
			i.Lacks = append(i.Lacks, name)
			if slices.Contains(needed, name) {
				i.Missing = append(i.Missing, name)
			}
		}
	}
}
