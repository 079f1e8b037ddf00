package cuda

import "fmt"

// Info describes a device that the CUDA driver has.
type Info struct {
	Name       string
	Version    string // of CUDA, which the driver has
	Capability int    // 10*major + minor
	Processors int    // multiprocessors
	Memory     int64  // bytes
	Shared     int    // bytes of memory of a workgroup
	Threads    int    // of a workgroup
	Chosen     bool   // programs take it unless they are told otherwise
	Missing    string // what programs need that the device does not have; empty if it runs them
}

// List returns the devices, indexed by number. symbol returns the address of a function of the driver's library; nil
// opens the library that is installed. The error says what to install if there is none.
func List(symbol func(name string) (uintptr, error)) ([]Info, error) {
	if symbol == nil {
		var err error
		if symbol, err = openLibrary(); err != nil {
			return nil, err
		}
	}
	d, err := newDriver(symbol)
	if err != nil {
		return nil, err
	}
	all, err := d.physicals()
	if err != nil {
		return nil, err
	}
	chosen, err := pick(all, "", 0)
	if err != nil {
		return nil, err
	}
	list := make([]Info, len(all))
	for i, p := range all {
		list[i] = p.info()
		list[i].Chosen = p == chosen && list[i].Missing == ""
	}
	return list, nil
}

func (p *physical) info() Info {
	i := Info{
		Name: p.name, Version: versionText(p.driver), Capability: p.capability, Processors: p.processors,
		Memory: int64(p.bytes), Shared: p.shared, Threads: p.limits.Threads,
	}
	if p.capability < lowest {
		i.Missing = fmt.Sprintf("compute capability %s", capabilityText(lowest))
	}
	return i
}

// capabilityText returns a compute capability as NVIDIA writes it.
func capabilityText(c int) string { return fmt.Sprintf("%d.%d", c/10, c%10) }
