package vulkan

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// Survey implements runtime.Surveyor. It compares what a model and a session need with what the device has.
func (d *device) Survey(chunks []runtime.Chunk) error {
	var own uint64
	for _, c := range chunks {
		switch {
		case c.Device == d.index:
			own += uint64(c.Bytes)
		case c.Device >= 0:
			return fmt.Errorf("%v does not address the space %s, which is memory of another device: give each target a space of its own", d.physical, c.Space)
		default:
			if err := d.canImport(); err != nil {
				return err
			}
		}
	}
	kind := d.physical.memoryType(^uint32(0), memoryDeviceLocal)
	if kind < 0 {
		return fmt.Errorf("%v has no memory of its own", d.physical)
	}
	return d.room(kind, own)
}

// Locate implements runtime.Located.
func (d *device) Locate() (runtime.Location, error) {
	kind := d.physical.memoryType(^uint32(0), memoryDeviceLocal)
	if kind < 0 {
		return runtime.Location{}, fmt.Errorf("%v has no memory of its own", d.physical)
	}
	return runtime.Location{Kind: "vulkan", Number: d.physical.number, Name: d.physical.String(), Left: int64(min(d.left(kind), math.MaxInt64))}, nil
}

// left returns the bytes of the heap of a type of memory that are left for this process.
func (d *device) left(kind int) uint64 {
	heap := d.physical.memory.memoryTypes[kind].heapIndex
	if len(d.physical.having(extMemoryBudget)) == 0 {
		return d.physical.memory.memoryHeaps[heap].size
	}
	budget := &vkPhysicalDeviceMemoryBudgetPropertiesEXT{sType: typeMemoryBudgetProperties}
	m := &vkPhysicalDeviceMemoryProperties2{sType: typeMemoryProperties2, pNext: unsafe.Pointer(budget)}
	d.instance.getPhysicalDeviceMemoryProperties2.call(uintptr(d.physical.handle), uintptr(unsafe.Pointer(m)))
	return budget.heapBudget[heap] - min(budget.heapBudget[heap], budget.heapUsage[heap])
}

// room returns an error if the heap of a type of memory has less than n bytes left for this process.
func (d *device) room(kind int, n uint64) error {
	if free := d.left(kind); n > free {
		heap := d.physical.memory.memoryTypes[kind].heapIndex
		return fmt.Errorf("%v has %d bytes left of %d, %d are needed: end other programs, or build again with a limit, such as --max-memory %s=%d, which leaves more to the CPU",
			d.physical, free, d.physical.memory.memoryHeaps[heap].size, n, d.info.Name, free)
	}
	return nil
}
