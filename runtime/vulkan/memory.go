package vulkan

import (
	"fmt"
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
	if _, ok := set.live[o]; ok && !o.owner.Dead() {
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

// memory is an allocation of a device, or memory of the host that it imports: one VkDeviceMemory with one buffer. It is
// freed when nothing refers to it.
type memory struct {
	owner   *device
	size    int64
	buffer  handle
	skip    uint64 // bytes of the buffer before the first one of the memory
	address uint64
	mapped  []byte // nil unless the processor can address it by this memory
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
	if err := d.tooLarge(padded); err != nil {
		return nil, fmt.Errorf("%w: build with a smaller limit of allocations (maxalloc), or leave more to the CPU (--max-memory)", err)
	}
	if err := d.newBuffer(m, padded, nil); err != nil {
		return nil, err
	}
	block, err := d.back(m, properties)
	if err != nil {
		d.destroyBuffer.call(uintptr(d.handle), uintptr(m.buffer), 0)
		return nil, err
	}
	d.adopt(m, block, nil)
	return m, nil
}

// tooLarge returns an error if the device cannot have so many bytes in one piece.
func (d *device) tooLarge(bytes uint64) error {
	if most := d.physical.maintenance.maxMemoryAllocationSize; bytes > most {
		return fmt.Errorf("%v allocates at most %d bytes at once, %d are needed", d.physical, most, bytes)
	}
	return nil
}

// newBuffer makes the buffer of m. next is what follows the structure that describes it.
func (d *device) newBuffer(m *memory, bytes uint64, next unsafe.Pointer) error {
	info := &vkBufferCreateInfo{
		sType: typeBufferCreateInfo, pNext: next, size: bytes,
		usage: bufferTransferSrc | bufferTransferDst | bufferStorage | bufferDeviceAddress,
	}
	if err := d.createBuffer.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(&m.buffer))).failed("vkCreateBuffer"); err != nil {
		return fmt.Errorf("%v: a buffer of %d bytes: %w", d.physical, bytes, err)
	}
	return nil
}

// newBlock allocates memory of a type that shaders can address.
func (d *device) newBlock(kind int, bytes uint64, next unsafe.Pointer) (handle, error) {
	block := new(handle)
	flags := &vkMemoryAllocateFlagsInfo{sType: typeMemoryAllocateFlagsInfo, pNext: next, flags: memoryAllocateDeviceAddress}
	info := &vkMemoryAllocateInfo{sType: typeMemoryAllocateInfo, pNext: unsafe.Pointer(flags), allocationSize: bytes, memoryTypeIndex: uint32(kind)}
	err := d.allocateMemory.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(block))).failed("vkAllocateMemory")
	return *block, err
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
	block, err := d.newBlock(kind, need.size, nil)
	if err != nil {
		return 0, fmt.Errorf("%v: %d bytes: %w: end other programs, or leave more to the CPU (--max-memory)", d.physical, need.size, err)
	}
	if err := d.attach(m, block, kind, properties[0]); err != nil {
		d.freeMemory.call(uintptr(d.handle), uintptr(block), 0)
		return 0, err
	}
	return block, nil
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

// staging returns memory of the host that the device copies from and to.
func (d *device) staging(bytes int64) (*memory, error) {
	return d.allocate(bytes, memoryHostVisible|memoryHostCoherent|memoryHostCached, memoryHostVisible|memoryHostCoherent)
}

// visible returns memory that both the device and the host reach, closest to the device.
func (d *device) visible(bytes int64) (*memory, error) {
	return d.allocate(bytes, memoryDeviceLocal|memoryHostVisible|memoryHostCoherent, memoryHostVisible|memoryHostCoherent)
}
