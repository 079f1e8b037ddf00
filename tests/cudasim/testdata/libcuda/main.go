// The command libcuda, built with -buildmode=c-shared, is the simulated driver as a library that programs open.
//
// If GGMLC_CUDASIM names a file, it writes what it finds wrong with its use there, a line each, when a context is released.
// GGMLC_CUDASIM_FAULT is NAME:N:RESULT, and makes that call of a function and later ones fail; after the failure of a device, of
// all functions. The result hang makes the work that the call submits have no end.
package main

import "C"

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/ggmlc/ggmlc/tests/cudasim"
)

var driver = cudasim.New(config())

// sticky is the first result after which a device is lost.
const sticky = 700

func config() cudasim.Config {
	c := cudasim.Default()
	var name, result string
	var n, code, calls int
	if words := strings.Split(os.Getenv("GGMLC_CUDASIM_FAULT"), ":"); len(words) == 3 {
		name, result = words[0], words[2]
		fmt.Sscan(words[1], &n)
		fmt.Sscan(result, &code)
	}
	at := func(called string) bool {
		if called == name {
			calls++
		}
		return name != "" && calls >= n
	}
	if result == "hang" {
		c.Hang = at
		return c
	}
	c.Fault = func(called string, _ int) uint32 {
		if at(called) && (called == name || code >= sticky) {
			return uint32(code)
		}
		return 0
	}
	return c
}

func main() {}

//export cuInit
func cuInit(flags uint32) C.int { return C.int(driver.Init(flags)) }

//export cuDriverGetVersion
func cuDriverGetVersion(version *int32) C.int { return C.int(driver.DriverGetVersion(version)) }

//export cuDeviceGetCount
func cuDeviceGetCount(n *int32) C.int { return C.int(driver.DeviceGetCount(n)) }

//export cuDeviceGet
func cuDeviceGet(device *int32, number int32) C.int { return C.int(driver.DeviceGet(device, number)) }

//export cuDeviceGetName
func cuDeviceGetName(name unsafe.Pointer, size, device int32) C.int {
	return C.int(driver.DeviceGetName(name, size, device))
}

//export cuDeviceTotalMem_v2
func cuDeviceTotalMem_v2(bytes *uint64, device int32) C.int {
	return C.int(driver.DeviceTotalMem(bytes, device))
}

//export cuDeviceGetAttribute
func cuDeviceGetAttribute(value *int32, attribute, device int32) C.int {
	return C.int(driver.DeviceGetAttribute(value, attribute, device))
}

//export cuDevicePrimaryCtxRetain
func cuDevicePrimaryCtxRetain(context *uintptr, device int32) C.int {
	return C.int(driver.DevicePrimaryCtxRetain(context, device))
}

//export cuDevicePrimaryCtxRelease_v2
func cuDevicePrimaryCtxRelease_v2(device int32) C.int {
	r := driver.DevicePrimaryCtxRelease(device)
	if path := os.Getenv("GGMLC_CUDASIM"); path != "" {
		os.WriteFile(path, []byte(strings.Join(driver.Problems(), "\n")), 0o666)
	}
	return C.int(r)
}

//export cuCtxSetCurrent
func cuCtxSetCurrent(context uintptr) C.int { return C.int(driver.CtxSetCurrent(context)) }

//export cuMemGetInfo_v2
func cuMemGetInfo_v2(free, total *uint64) C.int { return C.int(driver.MemGetInfo(free, total)) }

//export cuMemAlloc_v2
func cuMemAlloc_v2(address *uint64, bytes uintptr) C.int {
	return C.int(driver.MemAlloc(address, bytes))
}

//export cuMemFree_v2
func cuMemFree_v2(address uint64) C.int { return C.int(driver.MemFree(address)) }

//export cuMemHostAlloc
func cuMemHostAlloc(at *unsafe.Pointer, bytes uintptr, flags uint32) C.int {
	return C.int(driver.MemHostAlloc(at, bytes, flags))
}

//export cuMemFreeHost
func cuMemFreeHost(at uintptr) C.int { return C.int(driver.MemFreeHost(at)) }

//export cuMemcpyHtoDAsync_v2
func cuMemcpyHtoDAsync_v2(dst uint64, src, n, stream uintptr) C.int {
	return C.int(driver.MemcpyHtoDAsync(dst, src, n, stream))
}

//export cuMemcpyDtoHAsync_v2
func cuMemcpyDtoHAsync_v2(dst uintptr, src uint64, n, stream uintptr) C.int {
	return C.int(driver.MemcpyDtoHAsync(dst, src, n, stream))
}

//export cuMemcpyDtoDAsync_v2
func cuMemcpyDtoDAsync_v2(dst, src uint64, n, stream uintptr) C.int {
	return C.int(driver.MemcpyDtoDAsync(dst, src, n, stream))
}

//export cuMemsetD8Async
func cuMemsetD8Async(dst uint64, value uint8, n, stream uintptr) C.int {
	return C.int(driver.MemsetD8Async(dst, value, n, stream))
}

//export cuModuleLoadDataEx
func cuModuleLoadDataEx(module *uintptr, image unsafe.Pointer, n uint32, options *uint32, values *uintptr) C.int {
	return C.int(driver.ModuleLoadDataEx(module, image, n, options, values))
}

//export cuModuleUnload
func cuModuleUnload(module uintptr) C.int { return C.int(driver.ModuleUnload(module)) }

//export cuModuleGetFunction
func cuModuleGetFunction(function *uintptr, module uintptr, name unsafe.Pointer) C.int {
	return C.int(driver.ModuleGetFunction(function, module, name))
}

//export cuLaunchKernel
func cuLaunchKernel(f uintptr, gx, gy, gz, bx, by, bz, shared uint32, stream uintptr, params *unsafe.Pointer, extra uintptr) C.int {
	return C.int(driver.LaunchKernel(f, gx, gy, gz, bx, by, bz, shared, stream, params, extra))
}

//export cuStreamCreate
func cuStreamCreate(stream *uintptr, flags uint32) C.int {
	return C.int(driver.StreamCreate(stream, flags))
}

//export cuStreamDestroy_v2
func cuStreamDestroy_v2(stream uintptr) C.int { return C.int(driver.StreamDestroy(stream)) }

//export cuStreamQuery
func cuStreamQuery(stream uintptr) C.int { return C.int(driver.StreamQuery(stream)) }

//export cuStreamWaitEvent
func cuStreamWaitEvent(stream, event uintptr, flags uint32) C.int {
	return C.int(driver.StreamWaitEvent(stream, event, flags))
}

//export cuStreamBeginCapture_v2
func cuStreamBeginCapture_v2(stream uintptr, mode uint32) C.int {
	return C.int(driver.StreamBeginCapture(stream, mode))
}

//export cuStreamEndCapture
func cuStreamEndCapture(stream uintptr, graph *uintptr) C.int {
	return C.int(driver.StreamEndCapture(stream, graph))
}

//export cuEventCreate
func cuEventCreate(event *uintptr, flags uint32) C.int {
	return C.int(driver.EventCreate(event, flags))
}

//export cuEventDestroy_v2
func cuEventDestroy_v2(event uintptr) C.int { return C.int(driver.EventDestroy(event)) }

//export cuEventRecord
func cuEventRecord(event, stream uintptr) C.int { return C.int(driver.EventRecord(event, stream)) }

//export cuMemHostRegister_v2
func cuMemHostRegister_v2(at unsafe.Pointer, bytes uintptr, flags uint32) C.int {
	return C.int(driver.MemHostRegister(at, bytes, flags))
}

//export cuMemHostUnregister
func cuMemHostUnregister(at uintptr) C.int { return C.int(driver.MemHostUnregister(at)) }

//export cuMemHostGetDevicePointer_v2
func cuMemHostGetDevicePointer_v2(address *uint64, at uintptr, flags uint32) C.int {
	return C.int(driver.MemHostGetDevicePointer(address, at, flags))
}

//export cuEventRecordWithFlags
func cuEventRecordWithFlags(event, stream uintptr, flags uint32) C.int {
	return C.int(driver.EventRecordWithFlags(event, stream, flags))
}

//export cuEventElapsedTime
func cuEventElapsedTime(ms *float32, begin, end uintptr) C.int {
	return C.int(driver.EventElapsedTime(ms, begin, end))
}

//export cuEventQuery
func cuEventQuery(event uintptr) C.int { return C.int(driver.EventQuery(event)) }

//export cuGraphDestroy
func cuGraphDestroy(graph uintptr) C.int { return C.int(driver.GraphDestroy(graph)) }

//export cuGraphInstantiateWithFlags
func cuGraphInstantiateWithFlags(exec *uintptr, graph uintptr, flags uint64) C.int {
	return C.int(driver.GraphInstantiateWithFlags(exec, graph, flags))
}

//export cuGraphExecDestroy
func cuGraphExecDestroy(exec uintptr) C.int { return C.int(driver.GraphExecDestroy(exec)) }

//export cuGraphLaunch
func cuGraphLaunch(exec, stream uintptr) C.int { return C.int(driver.GraphLaunch(exec, stream)) }
