package devices

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// twoDrivers have three devices.
func twoDrivers() []gpuDevice {
	a := &gpuDriver{kind: "vulkan", flag: "--vulkan-device"}
	b := &gpuDriver{kind: "cuda", flag: "--cuda-device"}
	return []gpuDevice{
		{driver: a, number: 0, name: "Small", about: []string{"has x"}, unusable: "it lacks y"},
		{driver: a, number: 1, name: "Large", chosen: true},
		{driver: b, number: 0, name: "Large too", chosen: true},
	}
}

func TestListNamesDevicesAndWhatIsMissing(t *testing.T) {
	var out bytes.Buffer
	if err := listDevices(&out, twoDrivers(), []error{errors.New("other: install it")}); err != nil {
		t.Fatal(err)
	}
	const want = `vulkan:0  Small
    has x
    programs cannot run on it: it lacks y
vulkan:1  Large
    programs for vulkan take it unless --vulkan-device names another
cuda:0  Large too
    programs for cuda take it unless --cuda-device names another
other: install it
cpu  `
	if got := out.String(); !strings.HasPrefix(got, want) || !strings.Contains(got, "kernels: generic") {
		t.Errorf("%s\ninstead of\n%s", got, want)
	}
}

// TestDevicesOfCUDA lists devices of three generations, with the kernels that programs have for them.
func TestDevicesOfCUDA(t *testing.T) {
	driver := &gpuDriver{kind: "cuda", flag: "--cuda-device"}
	list := cudaDevices([]cuda.Info{
		{Name: "Pascal", Version: "12.8", Capability: 61, Processors: 20, Memory: 8 << 30, Shared: 48 << 10, Threads: 1024, Missing: "compute capability 7.0"},
		{Name: "Volta", Version: "12.8", Capability: 70, Memory: 16 << 30},
		{Name: "Hopper", Version: "12.8", Capability: 90, Memory: 80 << 30, Chosen: true},
	})
	for i, want := range [][]string{nil, {"sm_70"}, {"sm_70", "sm_80", "sm_90a"}} {
		d := &list[i]
		d.driver = driver
		if d.unusable != "" {
			continue
		}
		var names []string
		for _, k := range cudaKernels(d) {
			names = append(names, k.name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: kernels for %v, want %v", d.name, names, want)
		}
	}
	var out bytes.Buffer
	if err := listDevices(&out, list, nil); err != nil {
		t.Fatal(err)
	}
	const want = `cuda:0  Pascal
    compute capability 6.1, CUDA 12.8
    8.0 GiB of memory, 20 multiprocessors, workgroups of 1024 threads with 48 KiB
    programs cannot run on it: it lacks compute capability 7.0
cuda:1  Volta
`
	if !strings.HasPrefix(out.String(), want) || !strings.Contains(out.String(), "    programs for cuda take it unless --cuda-device names another\ncpu") {
		t.Errorf("%s\ninstead of\n%s", &out, want)
	}
}

func TestPickDevice(t *testing.T) {
	for _, c := range []struct{ want, got string }{
		{"", "vulkan:1"}, {"0", "vulkan:0"}, {"1", "vulkan:1"}, {"cuda", "cuda:0"}, {"vulkan", "vulkan:1"}, {"cuda:0", "cuda:0"}, {"TOO", "cuda:0"}, {"small", "vulkan:0"},
	} {
		d, err := pickDevice(twoDrivers(), c.want)
		if err != nil || d.String() != c.got {
			t.Errorf("%q: %v, %v instead of %s", c.want, d, err, c.got)
		}
	}
	var usage usageError
	if _, err := pickDevice(twoDrivers(), "2"); !errors.As(err, &usage) || !strings.Contains(err.Error(), "vulkan:0 (Small), vulkan:1 (Large), cuda:0 (Large too)") {
		t.Errorf("error %v", err)
	}
	if _, err := pickDevice(nil, ""); err == nil || errors.As(err, &usage) {
		t.Errorf("without devices: %v", err)
	}
}

// TestCheckReportsFailures runs checks of which some fail.
func TestCheckReportsFailures(t *testing.T) {
	check := func(name string, err error) gputest.Check {
		return gputest.Check{Name: name, Run: func(context.Context, gputest.Machine) error { return err }}
	}
	groups := []gputest.Group{
		{Name: "first", Doc: "what it does", Checks: []gputest.Check{
			check("add/one", nil), check("mul/two", errors.New("y: 1 instead of 2\nz: 3")), check("none", fmt.Errorf("cumsum: %w", gputest.ErrNoKernel))}},
		{Name: "second", Doc: "more", Checks: []gputest.Check{check("neg/three", errors.New("lost"))}},
	}
	var out bytes.Buffer
	open := func() (gputest.Machine, error) { return nil, nil }
	failed, err := checkGroups(t.Context(), &out, groups, open, func(string) {})
	const want = `    first      1 passed, 1 failed, 1 without a kernel: what it does
        mul/two: y: 1 instead of 2
            z: 3
    second     0 passed, 1 failed: more
        neg/three: lost
`
	if err != nil || failed != 2 || out.String() != want {
		t.Errorf("%d failed, %v:\n%s\ninstead of\n%s", failed, err, out.String(), want)
	}
}

// TestCheckRunsTheSuite runs the command on the device that Vulkan drives, with few checks: tests/device runs all of
// them there, and tests/e2e/gpu the whole command, on a CUDA driver.
func TestCheckRunsTheSuite(t *testing.T) {
	if _, err := listVulkan(); err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	var out bytes.Buffer
	c := &command{check: true, device: "vulkan", counts: gputest.Counts{OddSizes: 12, Kernels: 9}, stdout: &out, line: func(string) {}}
	if err := c.run(t.Context()); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"vulkan:0  ", "    cases ", "    sizes     12 passed, 0 failed", "    kernels    9 passed, 0 failed"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
}

// TestFailedDeviceIsOpenedAgain spoils the machine between two checks.
func TestFailedDeviceIsOpenedAgain(t *testing.T) {
	if _, err := listVulkan(); err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	s := &checkSession{kind: vulkanKernels(&gpuDevice{})[0]}
	defer s.close()
	first, err := s.machine()
	if err != nil {
		t.Fatal(err)
	}
	first.Alloc(math.MaxInt)
	second, err := s.machine()
	if err != nil || second == first {
		t.Errorf("the failed device is used again, error %v", err)
	}
	second.Alloc(16)
	if third, err := s.machine(); err != nil || third != second {
		t.Errorf("a device that works is opened again, error %v", err)
	}
}
