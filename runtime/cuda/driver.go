package cuda

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime/library"
)

// handle is an object of the driver or an address of the device.
type handle uint64

// fn is the address of a function of the driver.
type fn uintptr

// call calls f. Objects whose addresses are converted in the call are on the heap, and are kept until it returns.
//
//go:uintptrescapes
func (f fn) call(args ...uintptr) result { return result(uint32(library.Call(uintptr(f), args...))) }

// with is call with arguments that are no addresses of Go's, in an array that the caller keeps, so that it allocates
// nothing.
func (f fn) with(args []uintptr) result { return result(uint32(library.CallWith(uintptr(f), args))) }

// driver has the functions of the driver's library.
type driver struct {
	version int // of CUDA, as 1000*major + 10*minor

	init, driverGetVersion                                                              fn
	deviceGetCount, deviceGet, deviceGetName, deviceTotalMem, deviceGetAttribute        fn
	primaryRetain, primaryRelease, ctxSetCurrent                                        fn
	memGetInfo, memAlloc, memFree, memHostAlloc, memFreeHost                            fn
	memHostRegister, memHostUnregister, memHostGetDevicePointer                         fn
	copyToDevice, copyToHost, copyWithin, setBytes                                      fn
	moduleLoad, moduleUnload, moduleGetFunction, launchKernel                           fn
	streamCreate, streamDestroy, streamQuery, streamWaitEvent, beginCapture, endCapture fn
	eventCreate, eventDestroy, eventRecord, eventQuery                                  fn
	eventRecordWithFlags, eventElapsedTime                                              fn
	graphDestroy, graphInstantiate, graphExecDestroy, graphLaunch                       fn
}

// oldest is the first version that has all functions.
const oldest = 11040

// symbols returns the addresses of functions.
type symbols = func(name string) (uintptr, error)

// errNoLibrary is wrapped with the system's error.
var errNoLibrary = errors.New("there is no CUDA driver: install NVIDIA's driver for the GPU")

// openLibrary opens the library that the driver's installation has.
func openLibrary() (symbols, error) {
	name := "libcuda.so.1"
	if goruntime.GOOS == "windows" {
		name = "nvcuda.dll"
	}
	lib, err := library.Open(name)
	if errors.Is(err, library.ErrSystem) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", errNoLibrary, err)
	}
	return func(name string) (uintptr, error) { return library.Symbol(lib, name) }, nil
}

// function is a function to look up.
type function struct {
	name string
	to   *fn
}

func load(find symbols, list []function) error {
	for _, f := range list {
		at, err := find(f.name)
		if err != nil || at == 0 {
			return fmt.Errorf("the driver has no %s: CUDA %s or later is needed: install a newer driver", f.name, versionText(oldest))
		}
		*f.to = fn(at)
	}
	return nil
}

func versionText(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// newDriver looks the functions up and starts the driver.
func newDriver(find symbols) (*driver, error) {
	d := new(driver)
	if err := load(find, []function{{"cuInit", &d.init}, {"cuDriverGetVersion", &d.driverGetVersion}}); err != nil {
		return nil, err
	}
	version := new(int32)
	if err := d.driverGetVersion.call(uintptr(unsafe.Pointer(version))).failed("cuDriverGetVersion"); err != nil {
		return nil, err
	}
	if d.version = int(*version); d.version < oldest {
		return nil, fmt.Errorf("the driver has CUDA %s, %s or later is needed: install a newer driver", versionText(d.version), versionText(oldest))
	}
	if err := load(find, d.functions()); err != nil {
		return nil, err
	}
	return d, d.start()
}

// functions returns all functions but the first two. Headers of CUDA 11 and later map plain names to these names with a
// version.
func (d *driver) functions() []function {
	return []function{
		{"cuDeviceGetCount", &d.deviceGetCount}, {"cuDeviceGet", &d.deviceGet}, {"cuDeviceGetName", &d.deviceGetName},
		{"cuDeviceTotalMem_v2", &d.deviceTotalMem}, {"cuDeviceGetAttribute", &d.deviceGetAttribute},
		{"cuDevicePrimaryCtxRetain", &d.primaryRetain}, {"cuDevicePrimaryCtxRelease_v2", &d.primaryRelease}, {"cuCtxSetCurrent", &d.ctxSetCurrent},
		{"cuMemGetInfo_v2", &d.memGetInfo}, {"cuMemAlloc_v2", &d.memAlloc}, {"cuMemFree_v2", &d.memFree},
		{"cuMemHostAlloc", &d.memHostAlloc}, {"cuMemFreeHost", &d.memFreeHost},
		{"cuMemHostRegister_v2", &d.memHostRegister}, {"cuMemHostUnregister", &d.memHostUnregister},
		{"cuMemHostGetDevicePointer_v2", &d.memHostGetDevicePointer},
		{"cuMemcpyHtoDAsync_v2", &d.copyToDevice}, {"cuMemcpyDtoHAsync_v2", &d.copyToHost}, {"cuMemcpyDtoDAsync_v2", &d.copyWithin},
		{"cuMemsetD8Async", &d.setBytes},
		{"cuModuleLoadDataEx", &d.moduleLoad}, {"cuModuleUnload", &d.moduleUnload}, {"cuModuleGetFunction", &d.moduleGetFunction},
		{"cuLaunchKernel", &d.launchKernel},
		{"cuStreamCreate", &d.streamCreate}, {"cuStreamDestroy_v2", &d.streamDestroy}, {"cuStreamQuery", &d.streamQuery}, {"cuStreamWaitEvent", &d.streamWaitEvent},
		{"cuStreamBeginCapture_v2", &d.beginCapture}, {"cuStreamEndCapture", &d.endCapture},
		{"cuEventCreate", &d.eventCreate}, {"cuEventDestroy_v2", &d.eventDestroy}, {"cuEventRecord", &d.eventRecord}, {"cuEventQuery", &d.eventQuery},
		{"cuEventRecordWithFlags", &d.eventRecordWithFlags}, {"cuEventElapsedTime", &d.eventElapsedTime},
		{"cuGraphDestroy", &d.graphDestroy}, {"cuGraphInstantiateWithFlags", &d.graphInstantiate},
		{"cuGraphExecDestroy", &d.graphExecDestroy}, {"cuGraphLaunch", &d.graphLaunch},
	}
}

// start initializes the driver.
func (d *driver) start() error {
	switch r := d.init.call(0); r {
	case noDevice:
		return fmt.Errorf("%w (%w)", errNoDevice, r)
	case driverMismatch:
		return fmt.Errorf("the library of the driver and its kernel module have different versions: start the machine again after the driver's update (%w)", r)
	case stubLibrary:
		return fmt.Errorf("the library that is found is the stub of the CUDA toolkit: take it out of the library path (%w)", r)
	default:
		return r.failed("cuInit")
	}
}

// errNoDevice is the error where the driver has no device.
var errNoDevice = errors.New("there is no NVIDIA GPU: see that one is there, and that CUDA_VISIBLE_DEVICES, if it is set, names it")
