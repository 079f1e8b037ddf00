package devices

import (
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"strconv"
	"strings"

	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
)

// gpuDriver is a library of the system through which programs drive GPUs.
type gpuDriver struct {
	kind string // of the targets
	flag string // of programs, which chooses a device

	// list returns the devices by number. Its error says what to install if there is none.
	list func() ([]gpuDevice, error)

	// kernels returns the kernels that programs have for a device, with what opens it. Programs take the last ones that
	// need no field of the target.
	kernels func(d *gpuDevice) []kernelKind
}

// kernelKind is the kernels that programs have for a generation of devices.
type kernelKind struct {
	name string // of the generation; empty if there is one
	mma  string // field of targets that asks for them; empty if none has to
	ondevice.Kind
}

// gpuDrivers returns the drivers that ggmlc looks for.
func gpuDrivers() []gpuDriver {
	return []gpuDriver{
		{kind: "cuda", flag: "--cuda-device", list: listCUDA, kernels: cudaKernels},
		{kind: "vulkan", flag: "--vulkan-device", list: listVulkan, kernels: vulkanKernels},
	}
}

// gpuDevice is a device of a driver.
type gpuDevice struct {
	driver   *gpuDriver
	number   int
	name     string
	about    []string // lines of the list
	chosen   bool     // by programs that are not told otherwise
	unusable string   // why programs cannot run on it; empty if they can
	memory   int64    // bytes of its own memory; 0 if it has none
	maxAlloc int64    // bytes of the largest allocation; 0 if there is no bound

	capability int // of a device of CUDA, as 10*major + minor
}

// String returns the name with which --device chooses the device.
func (d *gpuDevice) String() string { return d.driver.kind + ":" + strconv.Itoa(d.number) }

func listVulkan() ([]gpuDevice, error) {
	list, err := vulkan.List()
	var devices []gpuDevice
	for n, i := range list {
		d := gpuDevice{number: n, name: i.Name, chosen: i.Chosen, about: aboutVulkan(&i), maxAlloc: i.MaxAlloc}
		if len(i.Missing) > 0 {
			d.unusable = "it lacks " + strings.Join(i.Missing, ", ")
		}
		if i.Own {
			d.memory = i.Memory
		}
		devices = append(devices, d)
	}
	return devices, err
}

func aboutVulkan(i *vulkan.Info) []string {
	about := []string{
		fmt.Sprintf("%s, driver %s, Vulkan %s", i.Kind, i.Driver, i.Version),
		fmt.Sprintf("%s of memory, allocations of %s, workgroups of %d threads with %s, subgroups of %d",
			size(i.Memory), size(i.MaxAlloc), i.Threads, size(int64(i.Shared)), i.Lanes),
		"has " + strings.Join(i.Has, ", "),
	}
	if len(i.Lacks) > 0 {
		about = append(about, "lacks "+strings.Join(i.Lacks, ", "))
	}
	return about
}

func vulkanKernels(d *gpuDevice) []kernelKind {
	on, _ := gpu.Of("vulkan")
	l := &vulkan.Loader{Options: vulkan.Options{Device: strconv.Itoa(d.number)}}
	return []kernelKind{{Kind: ondevice.Kind{Name: "vulkan", Assumes: on, Loader: l, Assemble: func(k *kir.Kernel) ([]byte, error) {
		words, err := spirv.Emit(k)
		return spirv.Bytes(words), err
	}}}}
}

// size returns a number of bytes with its unit.
func size(n int64) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GiB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// findDevices returns the devices of all drivers, and for each driver without one what to install.
func findDevices(all []gpuDriver) (devices []gpuDevice, errs []error) {
	for i := range all {
		list, err := all[i].list()
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", all[i].kind, err))
		}
		for _, d := range list {
			d.driver = &all[i]
			devices = append(devices, d)
		}
	}
	return devices, errs
}

// listDevices prints the devices, the drivers that have none, and the processor.
func listDevices(w io.Writer, devices []gpuDevice, errs []error) error {
	var b strings.Builder
	for i := range devices {
		d := &devices[i]
		fmt.Fprintf(&b, "%v  %s\n", d, d.name)
		for _, line := range d.about {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		switch {
		case d.unusable != "":
			fmt.Fprintf(&b, "    programs cannot run on it: %s\n", d.unusable)
		case d.chosen:
			fmt.Fprintf(&b, "    programs for %s take it unless %s names another\n", d.driver.kind, d.driver.flag)
		}
	}
	for _, err := range errs {
		fmt.Fprintf(&b, "%v\n", err)
	}
	fmt.Fprintf(&b, "cpu  %s/%s, %d threads\n    kernels: %s; programs take %s\n",
		goruntime.GOOS, goruntime.GOARCH, goruntime.GOMAXPROCS(0), strings.Join(cpu.Available(), ", "), cpu.Best())
	_, err := io.WriteString(w, b.String())
	return err
}

// pickDevice returns the device that --device names, or the first one that programs take.
func pickDevice(devices []gpuDevice, want string) (*gpuDevice, error) {
	if len(devices) == 0 {
		return nil, errors.New("there is no GPU to work on")
	}
	for i := range devices {
		if d := &devices[i]; want == "" && d.chosen || want == d.String() {
			return d, nil
		}
	}
	for i := range devices {
		d := &devices[i]
		number := want == strconv.Itoa(d.number) && d.driver.kind == devices[0].driver.kind
		if number || want == d.driver.kind && d.chosen || strings.Contains(strings.ToLower(d.name), strings.ToLower(want)) {
			return d, nil
		}
	}
	var names []string
	for i := range devices {
		names = append(names, fmt.Sprintf("%v (%s)", &devices[i], devices[i].name))
	}
	return nil, usagef("--device %s: there is no such device: give one of %s", want, strings.Join(names, ", "))
}
