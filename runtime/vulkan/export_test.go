package vulkan

import (
	"slices"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
)

// Unmap makes the loader open devices that never map their memory.
func (l *Loader) Unmap() { l.unmapped = true }

// Names of what can be hidden.
const (
	CalibratedTimestamps = extCalibrated
	QueueClock           = queueClock
)

// Hide makes the loader open devices that seem to lack extensions, or the clock of the queues.
func (l *Loader) Hide(what ...string) { l.hidden = what }

// Misuse calls the driver in a way that the specification forbids.
func Misuse(rd runtime.Device) {
	d := rd.(*device)
	info := &vkBufferCreateInfo{sType: typeBufferCreateInfo, size: 0, usage: bufferStorage}
	h := new(handle)
	d.createBuffer.call(uintptr(d.handle), uintptr(unsafe.Pointer(info)), 0, uintptr(unsafe.Pointer(h)))
	d.destroyBuffer.call(uintptr(d.handle), uintptr(*h), 0)
}

// Lose makes all later submissions, or all later waits, fail as those of a device that is lost.
func Lose(rd runtime.Device, submissions bool) {
	d := rd.(*device)
	lost := deviceLost
	if submissions {
		d.queueSubmit = fn(callback(func(_, _, _, _ uintptr) uintptr { return uintptr(lost) }))
	} else {
		d.waitSemaphores = fn(callback(func(_, _, _ uintptr) uintptr { return uintptr(lost) }))
	}
}

// RefuseKernels makes all later kernels fail with VK_ERROR_UNKNOWN, or as on a device that is lost.
func RefuseKernels(rd runtime.Device, lost bool) {
	failed := result(-13)
	if lost {
		failed = deviceLost
	}
	rd.(*device).createComputePipelines = fn(callback(func(_, _, _, _, _, _ uintptr) uintptr { return uintptr(failed) }))
}

// Live returns the number of objects of the driver that were not freed.
func Live(rd runtime.Device) int {
	set := &rd.(*device).objects
	set.lock.Lock()
	defer set.lock.Unlock()
	return len(set.live)
}

// Lack makes a device lack an extension.
func Lack(rd runtime.Device, extension string) {
	p := rd.(*device).physical
	p.extensions = slices.DeleteFunc(p.extensions, func(have string) bool { return have == extension })
}

// Refuse makes the driver refuse to import memory of the host.
func Refuse(rd runtime.Device) {
	rd.(*device).hostPointerProperties = fn(callback(func(_, _, _, _ uintptr) uintptr {
		refused := invalidExternal
		return uintptr(refused)
	}))
}

// Imported returns the number of memories of the host that the device has imported and that are not freed.
func Imported(rd runtime.Device) (n int) {
	s := &rd.(*device).imports
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, p := range s.live {
		if p.Value() != nil {
			n++
		}
	}
	return n
}

// Import imports memory of the host.
func Import(d runtime.Device, h runtime.HostMemory) error {
	_, err := d.(*device).addressed(h)
	return err
}
