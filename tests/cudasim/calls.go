//go:build linux

package cudasim

import (
	"slices"
	"syscall"
	"unsafe"
)

// Methods of Driver are named like the functions of cuda.h, without cu and versions, and have the same parameters.

func (d *Driver) Init(uint32) uintptr {
	r := d.begin("cuInit")
	if r == success && len(d.Devices) == 0 {
		r = noDevice
	}
	d.started = r == success
	return d.end(r)
}

func (d *Driver) DriverGetVersion(version *int32) uintptr {
	r := d.begin("cuDriverGetVersion")
	*version = int32(d.Version)
	return d.end(r)
}

func (d *Driver) DeviceGetCount(n *int32) uintptr {
	r := d.begin("cuDeviceGetCount")
	*n = int32(len(d.Devices))
	return d.end(r)
}

func (d *Driver) DeviceGet(device *int32, number int32) uintptr {
	r := d.begin("cuDeviceGet")
	*device = number
	if r == success && int(number) >= len(d.Devices) {
		r = invalidDevice
	}
	return d.end(r)
}

func (d *Driver) DeviceGetName(name unsafe.Pointer, size, device int32) uintptr {
	r := d.begin("cuDeviceGetName")
	to := unsafe.Slice((*byte)(name), size)
	to[copy(to[:size-1], d.Devices[device].Name)] = 0
	return d.end(r)
}

func (d *Driver) DeviceTotalMem(bytes *uint64, device int32) uintptr {
	r := d.begin("cuDeviceTotalMem")
	*bytes = d.Devices[device].Memory
	return d.end(r)
}

func (d *Driver) DeviceGetAttribute(value *int32, attribute, device int32) uintptr {
	r := d.begin("cuDeviceGetAttribute")
	c := d.Devices[device].Capability
	known := map[int32]int{1: 1024, 5: 1<<31 - 1, 8: 48 << 10, 16: 4, 19: 1, 99: 1, 75: c / 10, 76: c % 10}
	if c := d.Devices[device].Lacks; c != 0 {
		known[c] = 0
	}
	v, ok := known[attribute]
	if r == success && !ok {
		r = invalidValue
	}
	*value = int32(v)
	return d.end(r)
}

func (d *Driver) DevicePrimaryCtxRetain(context *uintptr, device int32) uintptr {
	r := d.begin("cuDevicePrimaryCtxRetain")
	if r == success {
		d.retained[device]++
		*context = uintptr(device) + 1
	}
	return d.end(r)
}

func (d *Driver) DevicePrimaryCtxRelease(device int32) uintptr {
	r := d.begin("cuDevicePrimaryCtxRelease")
	if d.retained[device] == 0 {
		d.problem("a context is released that is not retained")
	} else {
		d.retained[device]--
	}
	return d.end(r)
}

func (d *Driver) CtxSetCurrent(context uintptr) uintptr {
	r := d.begin("cuCtxSetCurrent")
	if r == success && context != 0 && (int(context) > len(d.retained) || d.retained[context-1] == 0) {
		d.problem("cuCtxSetCurrent: context %d is not retained", context)
		r = invalidContext
	}
	d.current[syscall.Gettid()] = uint64(context)
	if r != success {
		d.current[syscall.Gettid()] = refused
	}
	return d.end(r)
}

func (d *Driver) MemGetInfo(free, total *uint64) uintptr {
	r := d.beginIn("cuMemGetInfo")
	if r == success {
		*total = d.Devices[d.current[syscall.Gettid()]-1].Memory
		*free = *total - d.inUse
	}
	return d.end(r)
}

// Addresses of allocations: far from each other, so that an access after the end of one is not in another one.
const (
	firstAddress = 0x7f0000000000
	spacing      = 1 << 20
	poison       = 0xcd // in memory that was not written
)

func (d *Driver) MemAlloc(address *uint64, bytes uintptr) uintptr {
	r := d.beginIn("cuMemAlloc")
	switch {
	case r != success:
	case bytes == 0:
		r = invalidValue
	case uint64(bytes) > d.Devices[0].Memory-d.inUse:
		r = outOfMemory
	default:
		list := slices.Clone(*d.memory.Load())
		at := uint64(firstAddress)
		if n := len(list); n > 0 {
			at = (list[n-1].address + uint64(len(list[n-1].bytes)) + 2*spacing) / spacing * spacing
		}
		a := &allocation{at, slices.Repeat([]byte{poison}, int(bytes))}
		list = append(list, a)
		d.memory.Store(&list)
		d.inUse += uint64(bytes)
		*address = at
	}
	return d.end(r)
}

// MemFree waits for all work, as drivers do.
func (d *Driver) MemFree(address uint64) uintptr {
	r := d.beginIn("cuMemFree")
	for r == success && d.running > 0 {
		d.changed.Wait()
	}
	if r == success {
		list := slices.Clone(*d.memory.Load())
		i := slices.IndexFunc(list, func(a *allocation) bool { return a.address == address })
		if i < 0 {
			d.problem("cuMemFree: %#x is no allocation", address)
			return d.end(invalidValue)
		}
		d.inUse -= uint64(len(list[i].bytes))
		list = slices.Delete(list, i, i+1)
		d.memory.Store(&list)
	}
	return d.end(r)
}

func (d *Driver) MemHostAlloc(at *unsafe.Pointer, bytes uintptr, _ uint32) uintptr {
	r := d.beginIn("cuMemHostAlloc")
	if r == success {
		words := make([]uint64, (bytes+7)/8)
		*at = unsafe.Pointer(unsafe.SliceData(words))
		d.pinned = append(d.pinned, &hostAllocation{uintptr(*at), unsafe.Slice((*byte)(*at), 8*len(words))})
	}
	return d.end(r)
}

func (d *Driver) MemFreeHost(at uintptr) uintptr {
	r := d.beginIn("cuMemFreeHost")
	for r == success && d.running > 0 {
		d.changed.Wait()
	}
	if r == success {
		i := slices.IndexFunc(d.pinned, func(a *hostAllocation) bool { return a.address == at })
		if i < 0 {
			d.problem("cuMemFreeHost: %#x is not pinned", at)
			return d.end(invalidValue)
		}
		d.pinned = slices.Delete(d.pinned, i, i+1)
	}
	return d.end(r)
}

// host returns pinned memory. With mu.
func (d *Driver) host(call string, at, n uintptr) []byte {
	for _, a := range d.pinned {
		if at >= a.address && at+n <= a.address+uintptr(len(a.bytes)) {
			return a.bytes[at-a.address:][:n]
		}
	}
	d.problem("%s: %d bytes at %#x of the host are not pinned", call, n, at)
	return nil
}

func (d *Driver) MemcpyHtoDAsync(dst uint64, src, n, stream uintptr) uintptr {
	r := d.beginIn("cuMemcpyHtoDAsync")
	if r != success {
		return d.end(r)
	}
	from := d.host("cuMemcpyHtoDAsync", src, n)
	return d.end(d.submit("cuMemcpyHtoDAsync", stream, func() uint32 { return d.write(dst, from) }))
}

func (d *Driver) MemcpyDtoHAsync(dst uintptr, src uint64, n, stream uintptr) uintptr {
	r := d.beginIn("cuMemcpyDtoHAsync")
	if r != success {
		return d.end(r)
	}
	to := d.host("cuMemcpyDtoHAsync", dst, n)
	return d.end(d.submit("cuMemcpyDtoHAsync", stream, func() uint32 {
		from := d.At(src, len(to))
		if from == nil {
			return illegalAddress
		}
		copy(to, from)
		return success
	}))
}

func (d *Driver) MemcpyDtoDAsync(dst, src uint64, n, stream uintptr) uintptr {
	r := d.beginIn("cuMemcpyDtoDAsync")
	if r != success {
		return d.end(r)
	}
	return d.end(d.submit("cuMemcpyDtoDAsync", stream, func() uint32 {
		from := d.At(src, int(n))
		if from == nil {
			return illegalAddress
		}
		return d.write(dst, from)
	}))
}

func (d *Driver) MemsetD8Async(dst uint64, value uint8, n, stream uintptr) uintptr {
	r := d.beginIn("cuMemsetD8Async")
	if r != success {
		return d.end(r)
	}
	return d.end(d.submit("cuMemsetD8Async", stream, func() uint32 { return d.write(dst, slices.Repeat([]byte{value}, int(n))) }))
}

// write writes to memory of the device.
func (d *Driver) write(dst uint64, from []byte) uint32 {
	to := d.At(dst, len(from))
	if to == nil {
		return illegalAddress
	}
	copy(to, from)
	return success
}
