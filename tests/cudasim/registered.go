//go:build linux

package cudasim

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"unsafe"
)

// registered is memory of the host that was not allocated by the driver. Devices address it if it is mapped, at other
// addresses than the host, as drivers do where some device cannot use those.
type registered struct {
	hostAllocation
	mapped bool
}

// mappedAt is added to the address of mapped memory on the host.
const mappedAt = 1 << 60

// MemHostRegister wants whole pages, none of which is registered.
func (d *Driver) MemHostRegister(p unsafe.Pointer, n uintptr, flags uint32) uintptr {
	r := d.beginIn("cuMemHostRegister")
	at := uintptr(p)
	for _, h := range d.registered {
		if r == success && at < h.address+uintptr(len(h.bytes)) && h.address < at+n {
			r = alreadyRegistered
		}
	}
	switch page := uintptr(syscall.Getpagesize()); {
	case r != success:
	case n == 0 || at%page != 0 || n%page != 0:
		d.problem("cuMemHostRegister: %d bytes at %#x are no whole pages", n, at)
		r = invalidValue
	case !writable(at, n):
		r = invalidValue // CU_MEMHOSTREGISTER_READ_ONLY is required for these
	default:
		const portable, mapped = 1, 2
		if flags&portable == 0 && len(d.Devices) > 1 {
			d.problem("cuMemHostRegister: other contexts do not know the memory")
		}
		d.registered = append(d.registered, &registered{hostAllocation{at, unsafe.Slice((*byte)(p), n)}, flags&mapped != 0})
	}
	return d.end(r)
}

// writable reports whether the process may write to memory.
func writable(at, n uintptr) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	for line := range strings.Lines(string(maps)) {
		var from, to uintptr
		var mode string
		if _, bad := fmt.Sscanf(line, "%x-%x %s", &from, &to, &mode); bad == nil && from < at+n && at < to && mode[1] != 'w' {
			return false
		}
	}
	return err == nil
}

func (d *Driver) MemHostUnregister(at uintptr) uintptr {
	r := d.beginIn("cuMemHostUnregister")
	if r == success {
		i := slices.IndexFunc(d.registered, func(h *registered) bool { return h.address == at })
		if i < 0 {
			d.problem("cuMemHostUnregister: %#x is not registered", at)
			return d.end(notRegistered)
		}
		d.registered = slices.Delete(slices.Clone(d.registered), i, i+1)
	}
	return d.end(r)
}

func (d *Driver) MemHostGetDevicePointer(to *uint64, at uintptr, flags uint32) uintptr {
	r := d.beginIn("cuMemHostGetDevicePointer")
	if r != success {
		return d.end(r)
	}
	for _, h := range d.registered {
		if h.mapped && flags == 0 && at >= h.address && at < h.address+uintptr(len(h.bytes)) {
			*to = uint64(at) + mappedAt
			return d.end(success)
		}
	}
	d.problem("cuMemHostGetDevicePointer: %#x is not mapped", at)
	return d.end(invalidValue)
}

// atMapped returns n bytes of mapped memory, or nil.
func (d *Driver) atMapped(address uint64, n int) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := uintptr(address - mappedAt)
	for _, h := range d.registered {
		if h.mapped && at >= h.address && at+uintptr(n) <= h.address+uintptr(len(h.bytes)) {
			return h.bytes[at-h.address:][:n]
		}
	}
	return nil
}
