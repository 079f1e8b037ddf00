package fake

import (
	"encoding/binary"
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

// octets returns the bytes of a memory. Simulated devices only use memory that the CPU can address.
func octets(m runtime.Memory) []byte {
	switch m := m.(type) {
	case *memory:
		return m.bytes
	case runtime.HostMemory:
		return unsafe.Slice((*byte)(m.Base), m.Size)
	}
	panic(fmt.Sprintf("fake: memory of another kind of device: %T", m))
}

// move carries out a transfer. It panics if any byte is outside of the memory.
func move(t *runtime.Transfer, b *runtime.Block) {
	if t.Len() == 0 {
		return
	}
	dst, src := cut(b, t.Dst, t.Len()), cut(b, t.Src, t.Reach())
	switch {
	case t.Picks > 0:
		pick(t, dst, src, cut(b, t.Index, i32Bytes*t.Picks))
		return
	case t.Dense():
		copy(dst, src)
		return
	}
	for i := range t.Shape[0] {
		for j := range t.Shape[1] {
			for k := range t.Shape[2] {
				from := src[i*t.Stride[0]+j*t.Stride[1]+k*t.Stride[2]:]
				dst = line(dst, from, t.Elem, t.Shape[3], t.Stride[3])
			}
		}
	}
}

const i32Bytes = 4

// pick copies the elements whose numbers are in index.
func pick(t *runtime.Transfer, dst, src, index []byte) {
	for ; len(index) > 0; index = index[i32Bytes:] {
		at := t.Elem * int(int32(binary.NativeEndian.Uint32(index)))
		copy(dst[at:at+t.Elem], src[at:])
	}
}

// line copies n elements at intervals of stride bytes and returns the rest of dst after them.
func line(dst, src []byte, elem, n, stride int) []byte {
	for i := range n {
		copy(dst[:elem], src[i*stride:])
		dst = dst[elem:]
	}
	return dst
}

// cut returns the n bytes of a memory that begin at s.
func cut(b *runtime.Block, s runtime.Span, n int) []byte {
	all := octets(b.Memory[s.Memory])
	if s.Offset < 0 || s.Offset+n > len(all) {
		panic(fmt.Sprintf("bytes %d to %d of a memory of %d", s.Offset, s.Offset+n, len(all)))
	}
	return all[s.Offset : s.Offset+n]
}
