package cuda

import (
	"errors"
	"sync"

	"github.com/ggmlc/ggmlc/runtime"
)

// uploader copies data to the device, through two halves of pinned memory in turn.
type uploader struct {
	device *device
	lock   sync.Mutex
	opened bool
	failed error // of open
	stream handle
	halves [2]half
	last   *half
}

// half is a part of the pinned memory.
type half struct {
	staging *pinned
	event   *event
	after   mark // the last copy from it
}

// halfBytes is the size of a half. Larger ones do not copy faster.
const halfBytes = 16 << 20

// errDead is the error of uploads to a device that has failed.
var errDead = errors.New("the device has failed before")

// Load implements runtime.Device.
func (d *device) Load(to runtime.Memory, data []byte) error {
	return d.uploads.load(to.(*memory), data)
}

// Clear implements runtime.Device.
func (d *device) Clear(to runtime.Memory) error { return d.uploads.clear(to.(*memory)) }

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
	return u.reach(u.latest())
}

// part copies a part of the data to an offset of m, when the last copy of its half is done.
func (u *uploader) part(h *half, m *memory, at int, data []byte) error {
	if err := u.reach(h.after); err != nil {
		return err
	}
	copy(h.staging.bytes, data)
	defer u.device.enter()()
	r := u.device.copyToDevice.call(uintptr(m.address)+uintptr(at), h.staging.address, uintptr(len(data)), uintptr(u.stream))
	return u.sent(h, r.failed("cuMemcpyHtoDAsync"))
}

func (u *uploader) clear(m *memory) error {
	u.lock.Lock()
	defer u.lock.Unlock()
	if err := u.open(); err != nil {
		return err
	}
	if err := u.zero(m); err != nil {
		return err
	}
	return u.reach(u.latest())
}

func (u *uploader) zero(m *memory) error {
	defer u.device.enter()()
	r := u.device.setBytes.call(uintptr(m.address), 0, uintptr(m.size), uintptr(u.stream))
	return u.sent(&u.halves[0], r.failed("cuMemsetD8Async"))
}

// sent marks the end of a copy from a half. The context is current.
func (u *uploader) sent(h *half, err error) error {
	d := u.device
	if d.Dead() {
		return errDead
	}
	if err != nil {
		return err
	}
	d.touch()
	if err := d.eventRecord.call(uintptr(h.event.handle), uintptr(u.stream)).failed("cuEventRecord"); err != nil {
		return err
	}
	h.after, u.last = mark{h.event}, h
	return nil
}

// latest returns the end of the last copy.
func (u *uploader) latest() mark {
	if u.last == nil {
		return mark{}
	}
	return u.last.after
}

// reach waits for a mark.
func (u *uploader) reach(m mark) error {
	err := m.reach(u.device)
	if err == nil && u.device.Dead() {
		err = errDead
	}
	return err
}

// open makes the stream and the pinned memory at the first use.
func (u *uploader) open() (err error) {
	if u.opened {
		return u.failed
	}
	u.opened = true
	defer func() { u.failed = err }()
	d := u.device
	defer d.enter()()
	if u.stream, err = d.newStream(); err != nil {
		return err
	}
	for i := range u.halves {
		h := &u.halves[i]
		if h.staging, err = d.pin(halfBytes); err != nil {
			return err
		}
		if h.event, err = d.newEvent(); err != nil {
			return err
		}
	}
	return nil
}
