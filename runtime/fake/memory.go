package fake

import (
	"fmt"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// poison is the byte that fills memory. Four of these bytes are a NaN as f32, two are a NaN as f16.
const poison = 0xff

// memory is an allocation of a device.
type memory struct {
	owner *device
	class runtime.Class
	bytes []byte
}

// Bytes implements runtime.Memory.
func (m *memory) Bytes() int64 { return int64(len(m.bytes)) }

// Alloc implements runtime.Device.
func (d *device) Alloc(class runtime.Class, bytes int64) (runtime.Memory, error) {
	raw := make([]byte, bytes+runtime.Align)
	skip := int64(-uintptr(unsafe.Pointer(unsafe.SliceData(raw))) % runtime.Align)
	m := &memory{owner: d, class: class, bytes: raw[skip : skip+bytes : skip+bytes]}
	m.fill()
	return m, nil
}

// Load implements runtime.Device.
func (d *device) Load(m runtime.Memory, data []byte) error {
	copy(m.(*memory).bytes, data)
	return nil
}

// Clear implements runtime.Device.
func (d *device) Clear(m runtime.Memory) error {
	clear(m.(*memory).bytes)
	return nil
}

// forget fills the memory with poison unless its contents have to be kept.
func (m *memory) forget() {
	if m.class == runtime.Activations || m.class == runtime.Scratch {
		m.fill()
	}
}

func (m *memory) fill() {
	for i := range m.bytes {
		m.bytes[i] = poison
	}
}

// Address implements runtime.Addressable.
func (m *memory) Address() unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(m.bytes)) }

// address returns the address of a memory. Simulated devices only use memory that the CPU can address.
func address(m runtime.Memory) unsafe.Pointer {
	if m, ok := m.(runtime.Addressable); ok {
		return m.Address()
	}
	panic(fmt.Sprintf("fake: memory of another kind of device: %T", m))
}
