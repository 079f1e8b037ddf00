package gpusim

import (
	"encoding/binary"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// memory is an allocation of a device. It is freed when nothing refers to it.
type memory struct {
	owner   *device
	class   runtime.Class
	address uint64
	size    int64
}

// Bytes implements runtime.Memory.
func (m *memory) Bytes() int64 { return m.size }

// Alloc implements runtime.Device.
func (d *device) Alloc(class runtime.Class, bytes int64) (runtime.Memory, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	m := &memory{owner: d, class: class, size: bytes, address: d.memory.Alloc(int(bytes))}
	goruntime.AddCleanup(m, d.free, m.address)
	return m, nil
}

func (d *device) free(address uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory.Free(address)
}

// share returns the address of memory of the host.
func (d *device) share(m runtime.HostMemory) uint64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory.Share(unsafe.Slice((*byte)(m.Base), m.Size))
}

// Load implements runtime.Device.
func (d *device) Load(m runtime.Memory, data []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory.Write(m.(*memory).address, data)
	return nil
}

// Clear implements runtime.Device.
func (d *device) Clear(m runtime.Memory) error {
	return d.Load(m, make([]byte, m.Bytes()))
}

// Idle implements runtime.Idler. It makes undefined what a step must write before it reads.
func (d *device) Idle(b *runtime.Block) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, m := range b.Memory {
		if m, ok := m.(*memory); ok && m.owner == d && (m.class == runtime.Activations || m.class == runtime.Scratch) {
			d.memory.Forget(m.address)
		}
	}
}

// move carries out a transfer. With d.mu.
func (d *device) move(t *runtime.Transfer, b *runtime.Block) error {
	if t.Len() == 0 {
		return nil
	}
	dst, err := d.side(b, t.Dst, t.Len())
	if err != nil {
		return err
	}
	src, err := d.side(b, t.Src, t.Reach())
	if err != nil {
		return err
	}
	if t.Picks > 0 {
		return d.pick(t, b, dst, src)
	}
	return eachLine(t, func(to, from, n int) error { return d.copy(dst, src, to, from, n) })
}

// eachLine calls visit for runs of contiguous bytes of a transfer: where they go to, where they are, and how many they
// are.
func eachLine(t *runtime.Transfer, visit func(to, from, n int) error) error {
	shape, line := t.Shape, t.Elem
	if t.Stride[3] == t.Elem {
		line, shape[3] = t.Elem*t.Shape[3], 1
	}
	to := 0
	for i := range shape[0] {
		for j := range shape[1] {
			for k := range shape[2] {
				for l := range shape[3] {
					if err := visit(to, i*t.Stride[0]+j*t.Stride[1]+k*t.Stride[2]+l*t.Stride[3], line); err != nil {
						return err
					}
					to += line
				}
			}
		}
	}
	return nil
}

const i32Bytes = 4

// pick copies the elements whose numbers are at t.Index.
func (d *device) pick(t *runtime.Transfer, b *runtime.Block, dst, src place) error {
	index := make([]byte, i32Bytes*t.Picks)
	from, err := d.side(b, t.Index, len(index))
	if err == nil {
		err = d.copy(place{host: index}, from, 0, 0, len(index))
	}
	for ; err == nil && len(index) > 0; index = index[i32Bytes:] {
		n := int(int32(binary.NativeEndian.Uint32(index)))
		if n < 0 || (n+1)*t.Elem > t.Len() {
			return fmt.Errorf("element %d is picked, and there are %d", n, t.Len()/t.Elem)
		}
		err = d.copy(dst, src, n*t.Elem, n*t.Elem, t.Elem)
	}
	return err
}

// place is one side of a transfer: bytes of the host, or an address of the device.
type place struct {
	host    []byte
	address uint64
}

// side returns the n bytes at a span.
func (d *device) side(b *runtime.Block, s runtime.Span, n int) (place, error) {
	m := b.Memory[s.Memory]
	if s.Offset < 0 || int64(s.Offset)+int64(n) > m.Bytes() {
		return place{}, fmt.Errorf("bytes %d to %d of %d of memory %d", s.Offset, s.Offset+n-1, m.Bytes(), s.Memory)
	}
	switch m := m.(type) {
	case runtime.HostMemory:
		return place{host: unsafe.Slice((*byte)(unsafe.Add(m.Base, s.Offset)), n)}, nil
	case *memory:
		if m.owner == d {
			return place{address: m.address + uint64(s.Offset)}, nil
		}
	}
	return place{}, fmt.Errorf("memory %d is of another device: copy through the memory of the host", s.Memory)
}

// copy copies n bytes at an offset of src to one of dst.
func (d *device) copy(dst, src place, to, from, n int) error {
	data := make([]byte, n)
	if src.host != nil {
		data = src.host[from : from+n]
	} else if err := d.memory.Read(src.address+uint64(from), data); err != nil {
		return err
	}
	if dst.host != nil {
		copy(dst.host[to:], data)
	} else {
		d.memory.Write(dst.address+uint64(to), data)
	}
	return nil
}
