package cuda

import (
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"sync"
	"unsafe"
	"weak"

	"github.com/ggmlc/ggmlc/runtime"
)

// imports are the memories of the host that commands of the device address. Each is registered with the driver once,
// however many blocks use it.
type imports struct {
	lock    sync.Mutex
	live    map[runtime.HostMemory]weak.Pointer[memory]
	weights map[runtime.HostMemory]*memory // these stay as long as the device
}

// registrations are the pages of the host that are registered with the driver, for all contexts. Each has the number of
// memories that need it: the driver refuses to register pages twice.
type registrations struct {
	lock  sync.Mutex
	users map[pages]int
}

// pages is a range of whole pages of the host.
type pages struct{ base, bytes uintptr }

// pagesOf returns the pages that hold the bytes of h.
func pagesOf(h runtime.HostMemory) pages {
	unit := uintptr(os.Getpagesize())
	begin, end := uintptr(h.Base), uintptr(h.Base)+uintptr(h.Size)
	begin, end = begin/unit*unit, (end+unit-1)/unit*unit
	return pages{begin, end - begin}
}

// Flags of cuMemHostRegister: pages are registered for all contexts, and mapped to their addresses.
const (
	registerPortable = 1
	registerMapped   = 2
)

// add registers pages, unless they are. The context is current.
func (r *registrations) add(d *device, p pages) error {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.users[p] == 0 {
		if err := d.memHostRegister.call(p.base, p.bytes, registerPortable|registerMapped).failed("cuMemHostRegister"); err != nil {
			return err
		}
	}
	if r.users == nil {
		r.users = make(map[pages]int)
	}
	r.users[p]++
	return nil
}

// remove is called once for each add that succeeded. The context is current.
func (r *registrations) remove(d *device, p pages) {
	r.lock.Lock()
	defer r.lock.Unlock()
	if r.users[p]--; r.users[p] == 0 {
		delete(r.users, p)
		d.memHostUnregister.call(p.base)
	}
}

// canImport returns an error if the device cannot address memory of the host.
func (d *device) canImport() error {
	if d.physical.missing != "" {
		return fmt.Errorf("%v lacks %s, by which it would address memory of the host: choose another device (--cuda-device), or give the target memory of its own (leave out space=host)",
			d.physical, d.physical.missing)
	}
	return nil
}

// addressed returns a memory of the host as the device addresses it. The context is current.
func (d *device) addressed(h runtime.HostMemory) (*memory, error) {
	if err := d.canImport(); err != nil {
		return nil, err
	}
	s := &d.imports
	s.lock.Lock()
	defer s.lock.Unlock()
	if m := s.weights[h]; m != nil {
		return m, nil
	}
	if m := s.live[h].Value(); m != nil {
		return m, nil
	}
	m, err := d.importHost(h)
	if err != nil {
		return nil, fmt.Errorf("%v cannot import %d bytes of the host: %w: give the target memory of its own (leave out space=host)", d.physical, h.Size, err)
	}
	s.note(h, m)
	return m, nil
}

// note remembers an imported memory, and forgets freed ones. The caller holds s.lock.
func (s *imports) note(h runtime.HostMemory, m *memory) {
	for k, p := range s.live {
		if p.Value() == nil {
			delete(s.live, k)
		}
	}
	if s.live == nil {
		s.live = make(map[runtime.HostMemory]weak.Pointer[memory])
	}
	s.live[h] = weak.Make(m)
}

// importHost registers the pages of h and returns their memory. The bytes stay as long as it. The context is current.
func (d *device) importHost(h runtime.HostMemory) (*memory, error) {
	p, all := pagesOf(h), d.registered
	if err := all.add(d, p); err != nil {
		return nil, err
	}
	at := new(handle)
	if err := d.memHostGetDevicePointer.call(uintptr(unsafe.Pointer(at)), p.base, 0).failed("cuMemHostGetDevicePointer"); err != nil {
		all.remove(d, p)
		return nil, err
	}
	m := &memory{owner: d, size: h.Size, address: *at + handle(uintptr(h.Base)-p.base)}
	keep := h.Base
	goruntime.AddCleanup(m, release, d.own(func() {
		all.remove(d, p)
		goruntime.KeepAlive(keep)
	}))
	return m, nil
}

// Share implements runtime.Sharer. Weights that the driver does not register, such as those of a file that is mapped
// for reading only, are copied into memory of the device.
func (d *device) Share(h runtime.HostMemory) error {
	if h.Size == 0 {
		return nil
	}
	m, err := d.shared(h)
	if err != nil {
		if m, err = d.copyOf(h); err != nil {
			return err
		}
	}
	d.imports.lock.Lock()
	defer d.imports.lock.Unlock()
	if d.imports.weights == nil {
		d.imports.weights = make(map[runtime.HostMemory]*memory)
	}
	d.imports.weights[h] = m
	return nil
}

// shared is addressed for callers without a context.
func (d *device) shared(h runtime.HostMemory) (*memory, error) {
	defer d.enter()()
	return d.addressed(h)
}

// copyOf returns a memory of the device with the bytes of one of the host.
func (d *device) copyOf(h runtime.HostMemory) (*memory, error) {
	m, err := d.Alloc(runtime.Weights, h.Size)
	if err != nil {
		return nil, err
	}
	return m.(*memory), d.Load(m, unsafe.Slice((*byte)(h.Base), h.Size))
}

// share imports the memory of the host that the commands address.
func (o *bound) share() error {
	d := o.device
	o.shared = make([]*memory, len(o.env.Memory))
	defer d.enter()()
	for i, m := range o.env.Memory {
		h, ok := m.(runtime.HostMemory)
		if !ok || h.Size == 0 || !slices.Contains(d.info.Memory, i) {
			continue
		}
		m, err := d.addressed(h)
		if err != nil {
			return err
		}
		o.shared[i], o.env.Mem[i] = m, uint64(m.address)
	}
	return nil
}
