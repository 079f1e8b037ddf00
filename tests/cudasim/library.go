//go:build linux

package cudasim

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/library"
)

// Library has the addresses of C functions that call a driver. A process has one, as such functions are never freed.
type Library struct {
	driver    atomic.Pointer[Driver]
	addresses map[string]uintptr
}

// NewLibrary returns a library without a driver.
func NewLibrary() *Library {
	l := &Library{addresses: make(map[string]uintptr)}
	for name, f := range l.functions() {
		l.addresses[name] = library.Callback(f)
	}
	return l
}

// Use makes the functions call a driver.
func (l *Library) Use(d *Driver) { l.driver.Store(d) }

// Symbol returns the address of a function.
func (l *Library) Symbol(name string) (uintptr, error) {
	if at := l.addresses[name]; at != 0 {
		return at, nil
	}
	return 0, errors.New("no symbol " + name)
}

func with1[A any](l *Library, f func(*Driver, A) uintptr) any {
	return func(a A) uintptr { return f(l.driver.Load(), a) }
}

func with2[A, B any](l *Library, f func(*Driver, A, B) uintptr) any {
	return func(a A, b B) uintptr { return f(l.driver.Load(), a, b) }
}

func with3[A, B, C any](l *Library, f func(*Driver, A, B, C) uintptr) any {
	return func(a A, b B, c C) uintptr { return f(l.driver.Load(), a, b, c) }
}

func with4[A, B, C, D any](l *Library, f func(*Driver, A, B, C, D) uintptr) any {
	return func(a A, b B, c C, d D) uintptr { return f(l.driver.Load(), a, b, c, d) }
}

func with5[A, B, C, D, E any](l *Library, f func(*Driver, A, B, C, D, E) uintptr) any {
	return func(a A, b B, c C, d D, e E) uintptr { return f(l.driver.Load(), a, b, c, d, e) }
}

// functions are those of libcuda by their names there.
func (l *Library) functions() map[string]any {
	return map[string]any{
		"cuInit": with1(l, (*Driver).Init), "cuDriverGetVersion": with1(l, (*Driver).DriverGetVersion),
		"cuDeviceGetCount": with1(l, (*Driver).DeviceGetCount), "cuDeviceGet": with2(l, (*Driver).DeviceGet),
		"cuDeviceGetName": with3(l, (*Driver).DeviceGetName), "cuDeviceTotalMem_v2": with2(l, (*Driver).DeviceTotalMem),
		"cuDeviceGetAttribute":         with3(l, (*Driver).DeviceGetAttribute),
		"cuDevicePrimaryCtxRetain":     with2(l, (*Driver).DevicePrimaryCtxRetain),
		"cuDevicePrimaryCtxRelease_v2": with1(l, (*Driver).DevicePrimaryCtxRelease),
		"cuCtxSetCurrent":              with1(l, (*Driver).CtxSetCurrent),
		"cuMemGetInfo_v2":              with2(l, (*Driver).MemGetInfo), "cuMemAlloc_v2": with2(l, (*Driver).MemAlloc),
		"cuMemFree_v2": with1(l, (*Driver).MemFree), "cuMemHostAlloc": with3(l, (*Driver).MemHostAlloc),
		"cuMemHostRegister_v2": with3(l, (*Driver).MemHostRegister), "cuMemHostUnregister": with1(l, (*Driver).MemHostUnregister),
		"cuMemHostGetDevicePointer_v2": with3(l, (*Driver).MemHostGetDevicePointer),
		"cuMemFreeHost":                with1(l, (*Driver).MemFreeHost), "cuMemcpyHtoDAsync_v2": with4(l, (*Driver).MemcpyHtoDAsync),
		"cuMemcpyDtoHAsync_v2": with4(l, (*Driver).MemcpyDtoHAsync), "cuMemcpyDtoDAsync_v2": with4(l, (*Driver).MemcpyDtoDAsync),
		"cuMemsetD8Async":    with4(l, (*Driver).MemsetD8Async),
		"cuModuleLoadDataEx": with5(l, (*Driver).ModuleLoadDataEx), "cuModuleUnload": with1(l, (*Driver).ModuleUnload),
		"cuModuleGetFunction": with3(l, (*Driver).ModuleGetFunction),
		"cuLaunchKernel": func(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, on uintptr, params *unsafe.Pointer, extra uintptr) uintptr {
			return l.driver.Load().LaunchKernel(f, gx, gy, gz, bx, by, bz, shared, on, params, extra)
		},
		"cuStreamCreate": with2(l, (*Driver).StreamCreate), "cuStreamDestroy_v2": with1(l, (*Driver).StreamDestroy),
		"cuStreamQuery":     with1(l, (*Driver).StreamQuery),
		"cuStreamWaitEvent": with3(l, (*Driver).StreamWaitEvent), "cuStreamBeginCapture_v2": with2(l, (*Driver).StreamBeginCapture),
		"cuStreamEndCapture": with2(l, (*Driver).StreamEndCapture),
		"cuEventCreate":      with2(l, (*Driver).EventCreate), "cuEventDestroy_v2": with1(l, (*Driver).EventDestroy),
		"cuEventRecordWithFlags": with3(l, (*Driver).EventRecordWithFlags), "cuEventElapsedTime": with3(l, (*Driver).EventElapsedTime),
		"cuEventRecord": with2(l, (*Driver).EventRecord), "cuEventQuery": with1(l, (*Driver).EventQuery),
		"cuGraphDestroy": with1(l, (*Driver).GraphDestroy), "cuGraphInstantiateWithFlags": with3(l, (*Driver).GraphInstantiateWithFlags),
		"cuGraphExecDestroy": with1(l, (*Driver).GraphExecDestroy), "cuGraphLaunch": with2(l, (*Driver).GraphLaunch),
	}
}
