package cuda

import (
	"fmt"
	"strconv"
)

// result is a CUresult.
type result uint32

const (
	success        result = 0
	outOfMemory    result = 2
	stubLibrary    result = 34
	unavailable    result = 46
	noDevice       result = 100
	invalidImage   result = 200
	noBinary       result = 209
	invalidPTX     result = 218
	unsupportedPTX result = 222
	notReady       result = 600
	driverMismatch result = 803
)

// resultNames are the results that this package's calls may have.
var resultNames = map[result]string{
	1: "INVALID_VALUE", outOfMemory: "OUT_OF_MEMORY", 3: "NOT_INITIALIZED", 4: "DEINITIALIZED", stubLibrary: "STUB_LIBRARY",
	unavailable: "DEVICE_UNAVAILABLE", noDevice: "NO_DEVICE", 101: "INVALID_DEVICE", invalidImage: "INVALID_IMAGE", 201: "INVALID_CONTEXT",
	noBinary: "NO_BINARY_FOR_GPU", 214: "ECC_UNCORRECTABLE", invalidPTX: "INVALID_PTX", 220: "NVLINK_UNCORRECTABLE",
	221: "JIT_COMPILER_NOT_FOUND", unsupportedPTX: "UNSUPPORTED_PTX_VERSION", 223: "JIT_COMPILATION_DISABLED", 400: "INVALID_HANDLE",
	500: "NOT_FOUND", notReady: "NOT_READY", 700: "ILLEGAL_ADDRESS", 701: "LAUNCH_OUT_OF_RESOURCES", 702: "LAUNCH_TIMEOUT",
	712: "HOST_MEMORY_ALREADY_REGISTERED", 713: "HOST_MEMORY_NOT_REGISTERED", 800: "NOT_PERMITTED",
	710: "ASSERT", 714: "HARDWARE_STACK_ERROR", 715: "ILLEGAL_INSTRUCTION", 716: "MISALIGNED_ADDRESS",
	717: "INVALID_ADDRESS_SPACE", 718: "INVALID_PC", 719: "LAUNCH_FAILED", 801: "NOT_SUPPORTED", 802: "SYSTEM_NOT_READY",
	driverMismatch: "SYSTEM_DRIVER_MISMATCH", 804: "COMPAT_NOT_SUPPORTED_ON_DEVICE", 900: "STREAM_CAPTURE_UNSUPPORTED",
	901: "STREAM_CAPTURE_INVALIDATED", 902: "STREAM_CAPTURE_MERGE", 903: "STREAM_CAPTURE_UNMATCHED", 904: "STREAM_CAPTURE_UNJOINED",
	905: "STREAM_CAPTURE_ISOLATION", 906: "STREAM_CAPTURE_IMPLICIT", 907: "CAPTURED_EVENT", 908: "STREAM_CAPTURE_WRONG_THREAD", 999: "UNKNOWN",
}

// Error returns the name of the result in the driver's documentation.
func (r result) Error() string {
	if name, ok := resultNames[r]; ok {
		return "CUDA_ERROR_" + name
	}
	return "CUresult " + strconv.Itoa(int(r))
}

// Surroundings tells gpu.Failure that the driver or the device failed.
func (r result) Surroundings() bool { return true }

// failed returns an error for a failed call of the named function, or nil.
func (r result) failed(function string) error {
	if r == success {
		return nil
	}
	if text := advice[r]; text != "" {
		return fmt.Errorf("%s: %w: %s", function, r, text)
	}
	return fmt.Errorf("%s: %w", function, r)
}

// lost is what to do after a result that ends all work of a process on its device.
const lost = "the device is lost for this process: start the program again, and report it if that repeats"

// advice is what to do about results that have one cause wherever they occur.
var advice = map[result]string{
	outOfMemory: "end other programs", 214: lost, invalidPTX: "report it", 220: lost,
	221:            "install the library libnvidia-ptxjitcompiler.so.1 of NVIDIA's driver; in a container, make it visible there",
	unsupportedPTX: "install a newer driver", 223: "unset CUDA_DISABLE_PTX_JIT and CUDA_DISABLE_JIT",
	700: lost, 710: lost, 714: lost, 715: lost, 716: lost, 717: lost, 718: lost, 719: lost,
	802: "start the services of NVIDIA's driver, such as nvidia-fabricmanager",
	804: "install a newer driver, or take the library of CUDA's compatibility package out of the library path",
}
