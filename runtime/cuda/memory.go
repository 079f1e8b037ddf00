package cuda

import (
	"fmt"
	"math"
	goruntime "runtime"
	"sync"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// objects are what has to be freed before the context, unless that was done earlier.
type objects struct {
	lock    sync.Mutex
	live    map[*object]struct{}
	freeing sync.WaitGroup // releases that are under way
}

// object is something of the driver's. free is called with the context current.
type object struct {
	owner *device
	free  func()
}

// own registers an object, with the function that frees it.
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

// release frees an object, unless the device has failed or is closed. It is a cleanup of what the object belongs to.
func release(o *object) {
	if o.owner.objects.take(o) {
		defer o.owner.objects.freeing.Done()
		defer o.owner.enter()()
		o.free()
	}
}

// take removes an object that is still there, to free it.
func (s *objects) take(o *object) bool {
	s.lock.Lock()
	defer s.lock.Unlock()
	if _, ok := s.live[o]; !ok || o.owner.Dead() {
		return false
	}
	delete(s.live, o)
	s.freeing.Add(1)
	return true
}

// destroy frees all objects. The context is current.
func (s *objects) destroy() {
	s.lock.Lock()
	list := s.live
	s.live = nil
	s.lock.Unlock()
	s.freeing.Wait()
	for o := range list {
		o.free()
	}
}

// memory is an allocation of the device. It is freed when nothing refers to it.
type memory struct {
	owner   *device
	size    int64
	address handle
}

// Bytes implements runtime.Memory.
func (m *memory) Bytes() int64 { return m.size }

// Alloc implements runtime.Device.
func (d *device) Alloc(_ runtime.Class, bytes int64) (runtime.Memory, error) {
	defer d.enter()()
	return d.allocate(bytes)
}

// allocate returns memory of the device. The context is current.
func (d *device) allocate(bytes int64) (*memory, error) {
	if err := d.room(bytes); err != nil {
		return nil, err
	}
	m := &memory{owner: d, size: bytes}
	switch r := d.memAlloc.call(uintptr(unsafe.Pointer(&m.address)), uintptr(max(bytes, 1))); r {
	case success:
	case outOfMemory:
		return nil, fmt.Errorf("%v: %d bytes: %w: end other programs, or leave more to the CPU (--max-memory)", d.physical, bytes, r)
	default:
		return nil, fmt.Errorf("%v: %d bytes: %w", d.physical, bytes, r.failed("cuMemAlloc"))
	}
	address := m.address
	goruntime.AddCleanup(m, release, d.own(func() { d.memFree.call(uintptr(address)) }))
	return m, nil
}

// left returns the bytes of the device's memory that are not in use, and all of them. The context is current.
func (d *device) left() (free, total uint64, err error) {
	at := new([2]uint64)
	if err := d.memGetInfo.call(uintptr(unsafe.Pointer(&at[0])), uintptr(unsafe.Pointer(&at[1]))).failed("cuMemGetInfo"); err != nil {
		return 0, 0, fmt.Errorf("%v: %w", d.physical, err)
	}
	return at[0], at[1], nil
}

// room returns an error if the device has less than n bytes left.
func (d *device) room(n int64) error {
	free, total, err := d.left()
	if err == nil && uint64(max(n, 0)) > free {
		err = fmt.Errorf("%v has %d bytes left of %d, %d are needed: end other programs, or leave more to the CPU (--max-memory)", d.physical, free, total, n)
	}
	return err
}

// Locate implements runtime.Located.
func (d *device) Locate() (runtime.Location, error) {
	defer d.enter()()
	free, _, err := d.left()
	return runtime.Location{Kind: "cuda", Number: d.physical.number, Name: d.physical.String(), Left: int64(min(free, math.MaxInt64))}, err
}

// Survey implements runtime.Surveyor. It compares what a model and a session need with what the device has.
func (d *device) Survey(chunks []runtime.Chunk) error {
	defer d.enter()()
	need := int64(0)
	for _, c := range chunks {
		switch {
		case c.Device == d.index:
			need += c.Bytes
		case c.Device >= 0:
			return fmt.Errorf("%v does not address the space %s, which is memory of another device: give each target a space of its own", d.physical, c.Space)
		default:
			if err := d.canImport(); err != nil {
				return err
			}
		}
	}
	return d.room(need)
}

// pinned is memory of the host that the device copies from and to. It is freed when nothing refers to it.
type pinned struct {
	bytes   []byte
	address uintptr
}

// portable makes pinned memory known to all contexts (CU_MEMHOSTALLOC_PORTABLE).
const portable = 1

// pin returns pinned memory. The context is current.
func (d *device) pin(bytes int) (*pinned, error) {
	at := new(unsafe.Pointer)
	if err := d.memHostAlloc.call(uintptr(unsafe.Pointer(at)), uintptr(max(bytes, 1)), portable).failed("cuMemHostAlloc"); err != nil {
		return nil, fmt.Errorf("%v: %d bytes of the host: %w", d.physical, bytes, err)
	}
	p := &pinned{bytes: unsafe.Slice((*byte)(*at), bytes), address: uintptr(*at)}
	address := p.address
	goruntime.AddCleanup(p, release, d.own(func() { d.memFreeHost.call(address) }))
	return p, nil
}
