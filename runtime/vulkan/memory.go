package vulkan

import (
	"fmt"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// objects are what has to be destroyed before the device, unless that was done earlier.
type objects struct {
	lock sync.Mutex
	live map[*object]struct{}
}

// object is something of the driver's.
type object struct {
	owner *device
	free  func()
}

// own registers an object, with the function that destroys it.
func (d *device) own(free func()) *object {
	o := &object{d, free}
	d.objects.lock.Lock()
	defer d.objects.lock.Unlock()
	if d.objects.live == nil {
		d.objects.live = make(map[*object]struct{})
	}
	d.objects.live[o] = struct{}{}
	return o
}

// release destroys an object, unless the device has failed or is closed. It is a cleanup of what the object belongs to.
func release(o *object) {
	set := &o.owner.objects
	set.lock.Lock()
	defer set.lock.Unlock()
	if _, ok := set.live[o]; ok && !o.owner.dead.Load() {
		delete(set.live, o)
		o.free()
	}
}

func (s *objects) destroy() {
	s.lock.Lock()
	defer s.lock.Unlock()
	for o := range s.live {
		o.free()
	}
	s.live = nil
}

// memory is an allocation of a device: one VkDeviceMemory with one buffer. It is freed when nothing refers to it.
type memory struct {
	owner   *device
	size    int64
	buffer  handle
	address uint64
	mapped  []byte // nil unless the processor can address it
}

// Bytes implements runtime.Memory.
func (m *memory) Bytes() int64 { return m.size }

// granule is what sizes of buffers are rounded up to, so that a fill reaches all of their bytes.
const granule = 16

// Alloc implements runtime.Device.
func (d *device) Alloc(class runtime.Class, bytes int64) (runtime.Memory, error) {
	var mapped uint32
	if d.physical.shared() && !d.unmapped {
		mapped = memoryHostVisible | memoryHostCoherent
	}
	return d.allocate(bytes, memoryDeviceLocal|mapped, memoryDeviceLocal)
}

// allocate returns memory of the first of several sets of properties that the device has.
func (d *device) allocate(bytes int64, properties ...uint32) (*memory, error) {
	m := &memory{owner: d, size: bytes}
	padded := uint64(max(bytes, 1)+granule-1) / granule * granule
	if most := d.physical.maintenance.maxMemoryAllocationSize; padded > most {
		return nil, fmt.Errorf("%v allocates at most %d bytes at once, %d are needed: leave more to the CPU (--max-memory)", d.physical, most, bytes)
	}
	info := &vkBufferCreateInfo{
		sType: typeBufferCreateInfo, size: padded,
		usage: bufferTransferSrc | bufferTransferDst | bufferStorage | bufferDeviceAddress,
	}
	if err := d.createBuffer.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&m.buffer))).failed("vkCreateBuffer"); err != nil {
		return nil, fmt.Errorf("%v: a buffer of %d bytes: %w", d.physical, bytes, err)
	}
	block, err := d.back(m, properties)
	if err != nil {
		d.destroyBuffer.call(uintptr(d.handle), uintptr(m.buffer), 0)
		return nil, err
	}
	buffer := m.buffer
	goruntime.AddCleanup(m, release, d.own(func() {
		d.destroyBuffer.call(uintptr(d.handle), uintptr(buffer), 0)
		d.freeMemory.call(uintptr(d.handle), uintptr(block), 0)
	}))
	return m, nil
}

// back gives the buffer of m memory, its address, and a mapping if the memory can have one.
func (d *device) back(m *memory, properties []uint32) (handle, error) {
	need := new(vkMemoryRequirements)
	d.bufferRequirements.call(uintptr(d.handle), uintptr(m.buffer), uintptr(unsafe.Pointer(need)))
	kind := -1
	for _, p := range properties {
		if kind < 0 {
			kind = d.physical.memoryType(need.memoryTypeBits, p)
		}
	}
	if kind < 0 {
		return 0, fmt.Errorf("%v has no memory of the kinds %#x", d.physical, properties)
	}
	if err := d.room(kind, need.size); err != nil {
		return 0, err
	}
	block := new(handle)
	flags := &vkMemoryAllocateFlagsInfo{sType: typeMemoryAllocateFlagsInfo, flags: memoryAllocateDeviceAddress}
	info := &vkMemoryAllocateInfo{sType: typeMemoryAllocateInfo, pNext: unsafe.Pointer(flags), allocationSize: need.size, memoryTypeIndex: uint32(kind)}
	if err := d.allocateMemory.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(block))).failed("vkAllocateMemory"); err != nil {
		return 0, fmt.Errorf("%v: %d bytes: %w: end other programs, or leave more to the CPU (--max-memory)", d.physical, need.size, err)
	}
	if err := d.attach(m, *block, kind, properties[0]); err != nil {
		d.freeMemory.call(uintptr(d.handle), uintptr(*block), 0)
		return 0, err
	}
	return *block, nil
}

// attach binds the buffer of m to its memory, of the given type. It maps the memory if that was wanted.
func (d *device) attach(m *memory, block handle, kind int, wanted uint32) error {
	if err := d.bindBufferMemory.call(uintptr(d.handle), uintptr(m.buffer), uintptr(block), 0).failed("vkBindBufferMemory"); err != nil {
		return err
	}
	info := &vkBufferDeviceAddressInfo{sType: typeBufferDeviceAddressInfo, buffer: m.buffer}
	m.address = uint64(invoke(uintptr(d.bufferAddress), uintptr(d.handle), uintptr(unsafe.Pointer(info))))
	const both = memoryHostVisible | memoryHostCoherent
	if wanted&both != both || d.physical.memory.memoryTypes[kind].propertyFlags&both != both {
		return nil
	}
	at := new(unsafe.Pointer)
	if err := d.mapMemory.call(uintptr(d.handle), uintptr(block), 0, ^uintptr(0), 0, uintptr(unsafe.Pointer(at))).failed("vkMapMemory"); err != nil {
		return err
	}
	m.mapped = unsafe.Slice((*byte)(*at), m.size)
	return nil
}

// room returns an error if the heap of a type of memory has less than n bytes left for this process.
func (d *device) room(kind int, n uint64) error {
	heap := d.physical.memory.memoryTypes[kind].heapIndex
	free := d.physical.memory.memoryHeaps[heap].size
	if len(d.physical.having(extMemoryBudget)) > 0 {
		budget := &vkPhysicalDeviceMemoryBudgetPropertiesEXT{sType: typeMemoryBudgetProperties}
		m := &vkPhysicalDeviceMemoryProperties2{sType: typeMemoryProperties2, pNext: unsafe.Pointer(budget)}
		d.instance.getPhysicalDeviceMemoryProperties2.call(uintptr(d.physical.handle), uintptr(unsafe.Pointer(m)))
		free = budget.heapBudget[heap] - min(budget.heapBudget[heap], budget.heapUsage[heap])
	}
	if n > free {
		return fmt.Errorf("%v has %d bytes left of %d, %d are needed: end other programs, or leave more to the CPU (--max-memory)",
			d.physical, free, d.physical.memory.memoryHeaps[heap].size, n)
	}
	return nil
}

// staging returns memory of the host that the device copies from and to.
func (d *device) staging(bytes int64) (*memory, error) {
	return d.allocate(bytes, memoryHostVisible|memoryHostCoherent|memoryHostCached, memoryHostVisible|memoryHostCoherent)
}

// visible returns memory that both the device and the host reach, closest to the device.
func (d *device) visible(bytes int64) (*memory, error) {
	return d.allocate(bytes, memoryDeviceLocal|memoryHostVisible|memoryHostCoherent, memoryHostVisible|memoryHostCoherent)
}

// Memory of the host that kernels address without copies (VK_EXT_external_memory_host) would be imported here, as a
// memory whose mapped bytes are those of a runtime.HostMemory, once for each of DeviceInfo.Memory that has Device -1.
