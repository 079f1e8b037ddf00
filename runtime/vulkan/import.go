package vulkan

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"
	"weak"

	"github.com/ggmlc/ggmlc/runtime"
)

// imports are the memories of the host that commands of the device address. Each is imported once, however many blocks
// use it.
type imports struct {
	lock    sync.Mutex
	live    map[runtime.HostMemory]weak.Pointer[memory]
	weights map[runtime.HostMemory]*memory // these stay as long as the device
}

// extHostMemory is the extension by which a device addresses memory of the host.
const extHostMemory = "VK_EXT_external_memory_host"

// handleHostAllocation is VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT.
const handleHostAllocation = 0x80

// canImport returns an error if the device cannot address memory of the host.
func (d *device) canImport() error {
	if len(d.physical.having(extHostMemory)) == 0 {
		return fmt.Errorf("%v lacks the extension %s, by which it would address memory of the host: choose another device (--vulkan-device), or give the target memory of its own (leave out space=host)",
			d.physical, extHostMemory)
	}
	return nil
}

// addressed returns a memory of the host as the device addresses it.
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

// Share implements runtime.Sharer. Weights that the driver does not import, such as those of a file that is mapped for
// reading only, are copied into memory of the device.
func (d *device) Share(h runtime.HostMemory) error {
	if h.Size == 0 {
		return nil
	}
	m, err := d.addressed(h)
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

// copyOf returns a memory of the device with the bytes of one of the host.
func (d *device) copyOf(h runtime.HostMemory) (*memory, error) {
	m, err := d.Alloc(runtime.Weights, h.Size)
	if err != nil {
		return nil, err
	}
	return m.(*memory), d.Load(m, unsafe.Slice((*byte)(h.Base), h.Size))
}

// importHost imports the pages that hold the bytes of h.
func (d *device) importHost(h runtime.HostMemory) (*memory, error) {
	unit := uintptr(d.physical.hostMemory.minImportedHostPointerAlignment)
	skip := uintptr(h.Base) % unit
	base := unsafe.Add(h.Base, -int(skip))
	bytes := (uint64(skip) + uint64(h.Size) + uint64(unit) - 1) / uint64(unit) * uint64(unit)
	if err := d.tooLarge(bytes); err != nil {
		return nil, err
	}
	m := &memory{owner: d, size: h.Size, skip: uint64(skip)}
	external := &vkExternalMemoryBufferCreateInfo{sType: typeExternalMemoryBufferCreateInfo, handleTypes: handleHostAllocation}
	if err := d.newBuffer(m, bytes, unsafe.Pointer(external)); err != nil {
		return nil, err
	}
	block, err := d.backHost(m, base, bytes)
	if err != nil {
		d.destroyBuffer.call(uintptr(d.handle), uintptr(m.buffer), 0)
		return nil, err
	}
	d.adopt(m, block, h.Base)
	return m, nil
}

// backHost gives the buffer of m the memory of the host at base.
func (d *device) backHost(m *memory, base unsafe.Pointer, bytes uint64) (handle, error) {
	kind, err := d.hostType(m, base)
	if err != nil {
		return 0, err
	}
	from := &vkImportMemoryHostPointerInfoEXT{sType: typeImportMemoryHostPointerInfo, handleType: handleHostAllocation, pHostPointer: base}
	block, err := d.newBlock(kind, bytes, unsafe.Pointer(from))
	if err != nil {
		return 0, err
	}
	if err := d.attach(m, block, kind, 0); err != nil {
		d.freeMemory.call(uintptr(d.handle), uintptr(block), 0)
		return 0, err
	}
	m.address += m.skip
	return block, nil
}

// hostType returns the type of memory with which the buffer of m can have the memory of the host at base.
func (d *device) hostType(m *memory, base unsafe.Pointer) (int, error) {
	p := &vkMemoryHostPointerPropertiesEXT{sType: typeMemoryHostPointerProperties}
	if err := d.hostPointerProperties.call(uintptr(d.handle), handleHostAllocation, uintptr(base), uintptr(unsafe.Pointer(p))).failed("vkGetMemoryHostPointerPropertiesEXT"); err != nil {
		return 0, err
	}
	need := new(vkMemoryRequirements)
	d.bufferRequirements.call(uintptr(d.handle), uintptr(m.buffer), uintptr(unsafe.Pointer(need)))
	kind := d.physical.memoryType(need.memoryTypeBits&p.memoryTypeBits, memoryHostVisible|memoryHostCoherent)
	if kind < 0 {
		return 0, fmt.Errorf("its memory of the types %#x is not coherent with the processor", p.memoryTypeBits)
	}
	return kind, nil
}

// adopt registers the buffer and the memory of m. The bytes at keep stay as long as the driver has them.
func (d *device) adopt(m *memory, block handle, keep unsafe.Pointer) {
	buffer := m.buffer
	goruntime.AddCleanup(m, release, d.own(func() {
		d.destroyBuffer.call(uintptr(d.handle), uintptr(buffer), 0)
		d.freeMemory.call(uintptr(d.handle), uintptr(block), 0)
		goruntime.KeepAlive(keep)
	}))
}
