package vulkan

import (
	"errors"
	"sync"

	"github.com/ggmlc/ggmlc/runtime"
)

// uploader copies data to memory that the processor does not address, through two halves of staging memory in turn.
type uploader struct {
	device *device
	lock   sync.Mutex
	opened bool
	failed error // of open
	pool   handle
	halves [2]half
	batch  batch
	waiter waiter
	value  uint64 // that the last submission gives the semaphore
}

// half is a part of the staging memory.
type half struct {
	staging *memory
	buffer  handle
	value   uint64 // of the semaphore once its last copy is done
}

// halfBytes is the size of a half. Larger ones do not copy faster.
const halfBytes = 16 << 20

// errDead is the error of uploads to a device that has failed.
var errDead = errors.New("the device has failed before")

// Load implements runtime.Device.
func (d *device) Load(to runtime.Memory, data []byte) error {
	m := to.(*memory)
	if m.mapped != nil {
		copy(m.mapped, data)
		return nil
	}
	return d.uploads.load(m, data)
}

// Clear implements runtime.Device.
func (d *device) Clear(to runtime.Memory) error {
	m := to.(*memory)
	if m.mapped != nil {
		clear(m.mapped)
		return nil
	}
	return d.uploads.clear(m)
}

func (u *uploader) load(m *memory, data []byte) error {
	u.lock.Lock()
	defer u.lock.Unlock()
	if err := u.open(); err != nil {
		return err
	}
	for i, at := 0, 0; at < len(data); i, at = i+1, at+halfBytes {
		part := data[at:min(at+halfBytes, len(data))]
		if err := u.part(&u.halves[i%2], m, at, part); err != nil {
			return err
		}
		if u.device.report != nil {
			u.device.report(int64(at+len(part)), int64(len(data)))
		}
	}
	return u.reach(u.value)
}

// part copies a part of the data to an offset of m, when the last copy of its half is done.
func (u *uploader) part(h *half, m *memory, at int, data []byte) error {
	d := u.device
	if err := u.reach(h.value); err != nil {
		return err
	}
	copy(h.staging.mapped, data)
	if err := d.begin(h.buffer); err != nil {
		return err
	}
	region := []vkBufferCopy{{dstOffset: uint64(at), size: uint64(len(data))}}
	d.cmdCopyBuffer.call(uintptr(h.buffer), uintptr(h.staging.buffer), uintptr(m.buffer), 1, uintptr(address(region)))
	return u.send(h)
}

func (u *uploader) clear(m *memory) error {
	u.lock.Lock()
	defer u.lock.Unlock()
	if err := u.open(); err != nil {
		return err
	}
	d, h := u.device, &u.halves[0]
	if err := u.reach(h.value); err != nil {
		return err
	}
	if err := d.begin(h.buffer); err != nil {
		return err
	}
	whole := wholeSize
	d.cmdFillBuffer.call(uintptr(h.buffer), uintptr(m.buffer), 0, uintptr(whole), 0)
	if err := u.send(h); err != nil {
		return err
	}
	return u.reach(u.value)
}

// send submits the commands of a half.
func (u *uploader) send(h *half) error {
	d := u.device
	if err := d.end(h.buffer); err != nil {
		return err
	}
	if d.Dead() {
		return errDead
	}
	u.value++
	h.value = u.value
	u.batch.buffers = append(u.batch.buffers, h.buffer)
	d.touch()
	return u.batch.submit(d, d.hardware[0], u.value).failed("vkQueueSubmit")
}

// reach waits for a value of the semaphore.
func (u *uploader) reach(value uint64) error {
	err := u.waiter.reach(u.device, value)
	if err == nil && u.device.Dead() {
		err = errDead
	}
	return err
}

// open makes the staging memory at the first use.
func (u *uploader) open() (err error) {
	d := u.device
	if u.opened {
		return u.failed
	}
	u.opened = true
	defer func() { u.failed = err }()
	semaphore, err := d.newSemaphore()
	if err != nil {
		return err
	}
	u.batch.init(semaphore)
	u.waiter.init(semaphore)
	if u.pool, err = d.newPool(); err != nil {
		return err
	}
	for i := range u.halves {
		h := &u.halves[i]
		if h.buffer, err = d.newCommandBuffer(u.pool); err != nil {
			return err
		}
		if h.staging, err = d.staging(halfBytes); err != nil {
			return err
		}
	}
	return nil
}

func (u *uploader) destroy() {
	if u == nil {
		return
	}
	d := u.device
	d.destroyCommandPool.call(uintptr(d.handle), uintptr(u.pool), 0)
	d.destroySemaphore.call(uintptr(d.handle), uintptr(u.batch.signal), 0)
}
