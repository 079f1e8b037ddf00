//go:build linux

package cudasim

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
)

// module is PTX that was loaded.
type module struct{ program *ptx.Program }

// kernel is a function of a module.
type kernel struct{ program *ptx.Program }

// Options of cuModuleLoadDataEx.
const (
	errorLog      = 5
	errorLogBytes = 6
)

func (d *Driver) ModuleLoadDataEx(to *uintptr, image unsafe.Pointer, n uint32, options *uint32, values *uintptr) uintptr {
	r := d.beginIn("cuModuleLoadDataEx")
	if r != success {
		return d.end(r)
	}
	for _, o := range d.objects {
		if s, ok := o.(*stream); ok && s.capture != nil {
			d.problem("cuModuleLoadDataEx while a stream is captured")
		}
	}
	text := cText(image)
	r, message := d.fits(text)
	if r == success {
		p, err := ptx.Load(text)
		if err == nil {
			*to = uintptr(d.add(&module{p}))
			return d.end(success)
		}
		r, message = invalidPTX, "ptxas fatal : "+err.Error()
	}
	writeLog(message, unsafe.Slice(options, n), unsafe.Slice(values, n))
	return d.end(r)
}

// fits checks the target of PTX text against the device. With mu.
func (d *Driver) fits(text string) (uint32, string) {
	_, after, _ := strings.Cut(text, ".target sm_")
	digits, _, _ := strings.Cut(after, "\n")
	have := d.Devices[d.current[syscall.Gettid()]-1].Capability
	number, exact := strings.CutSuffix(digits, "a")
	if sm, err := strconv.Atoi(number); err != nil || sm > have || exact && sm != have {
		return noBinary, fmt.Sprintf("ptxas fatal : .target sm_%s on sm_%d", digits, have)
	}
	return success, ""
}

// writeLog writes to the buffer for errors. The address in values is of memory that the caller keeps.
func writeLog(message string, options []uint32, values []uintptr) {
	var size uintptr
	for i, o := range options {
		if o == errorLogBytes {
			size = values[i]
		}
	}
	for i, o := range options {
		if o == errorLog && size > 0 {
			at := *(*unsafe.Pointer)(unsafe.Pointer(&values[i]))
			to := unsafe.Slice((*byte)(at), size)
			to[copy(to[:size-1], message)] = 0
		}
	}
}

// cText returns a copy of a C string.
func cText(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(bytes.Clone(unsafe.Slice((*byte)(p), n)))
}

func (d *Driver) ModuleUnload(h uintptr) uintptr {
	r := d.beginIn("cuModuleUnload")
	if r == success {
		m, ok := object[*module](d, "cuModuleUnload", h)
		if !ok {
			return d.end(invalidHandle)
		}
		for at, o := range d.objects {
			if k, ok := o.(*kernel); ok && k.program == m.program {
				delete(d.objects, at)
			}
		}
		delete(d.objects, uint64(h))
	}
	return d.end(r)
}

func (d *Driver) ModuleGetFunction(to *uintptr, h uintptr, name unsafe.Pointer) uintptr {
	r := d.beginIn("cuModuleGetFunction")
	if r != success {
		return d.end(r)
	}
	m, ok := object[*module](d, "cuModuleGetFunction", h)
	if !ok {
		return d.end(invalidHandle)
	}
	if cText(name) != m.program.Name {
		return d.end(notFound)
	}
	*to = uintptr(d.add(&kernel{m.program}))
	return d.end(success)
}

func (d *Driver) LaunchKernel(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, on uintptr, params *unsafe.Pointer, extra uintptr) uintptr {
	r := d.beginIn("cuLaunchKernel")
	if r != success {
		return d.end(r)
	}
	k, ok := object[*kernel](d, "cuLaunchKernel", f)
	if !ok {
		return d.end(invalidHandle)
	}
	if gy != 1 || gz != 1 || int(bx) != k.program.Threads || by != 1 || bz != 1 || shared != 0 || extra != 0 || gx < 1 {
		d.problem("cuLaunchKernel: %d×%d×%d workgroups of %d×%d×%d threads, the kernel has %d", gx, gy, gz, bx, by, bz, k.program.Threads)
		return d.end(outOfResources)
	}
	var words []uint64
	for _, p := range unsafe.Slice(params, k.program.Params) {
		words = append(words, *(*uint64)(p))
	}
	return d.end(d.submit("cuLaunchKernel", on, func() uint32 { return d.launch(k, int(gx), words) }))
}

// launch runs a kernel.
func (d *Driver) launch(k *kernel, groups int, words []uint64) uint32 {
	d.mu.Lock()
	d.seed++
	l := ptx.Launch{Groups: groups, Words: words, Seed: d.seed, Stop: d.stop.Load}
	d.mu.Unlock()
	if err := k.program.Run(l, d); err != nil {
		fmt.Fprintln(os.Stderr, "cudasim:", err)
		return illegalAddress
	}
	return success
}
