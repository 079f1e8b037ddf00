// Package device runs the kernels of GPUs on real devices: every case of every op, cases at odd sizes, and random
// kernels, compared with package eval and with the interpreter of kernels. ggmlc devices --check runs the same suite.
package device

import (
	"context"
	"errors"
	"strings"
	"testing"

	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// onVulkan is the device that Vulkan drives.
func onVulkan() ondevice.Kind {
	on, _ := kernels.Of("vulkan")
	return ondevice.Kind{Name: "vulkan", Assumes: on, Loader: new(vulkan.Loader), Assemble: func(k *kir.Kernel) ([]byte, error) {
		words, err := spirv.Emit(k)
		return spirv.Bytes(words), err
	}}
}

// open returns the device that Vulkan drives.
func open(t testing.TB) *ondevice.Machine {
	t.Helper()
	return openAs(t, onVulkan())
}

// openAs returns the device, for kernels that assume what a kind tells.
func openAs(t testing.TB, kind ondevice.Kind) *ondevice.Machine {
	t.Helper()
	m, err := ondevice.Open(kind)
	if err != nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestVulkanConforms runs the suite. Each check has a device of its own.
func TestVulkanConforms(t *testing.T) {
	open(t)
	n := gputest.Whole
	if testing.Short() {
		n = gputest.Counts{OddSizes: 20, Kernels: 15}
	}
	for _, g := range gputest.Suite(n) {
		t.Run(g.Name, func(t *testing.T) {
			for _, c := range g.Checks {
				t.Run(c.Name, func(t *testing.T) {
					err := c.Run(t.Context(), open(t))
					if errors.Is(err, gputest.ErrNoKernel) {
						t.Skip(err)
					}
					if err != nil {
						t.Error(err)
					}
					var k *gputest.KernelError
					if errors.As(err, &k) {
						t.Log(k.Kernel)
					}
				})
			}
		})
	}
}

// TestTilesOfExpertsOnVulkan runs the prompts of experts with kernels for any GPU, which compute tiles on devices with
// narrow subgroups, too.
func TestTilesOfExpertsOnVulkan(t *testing.T) {
	any := onVulkan()
	any.Assumes = kernels.Machine{}
	for n, p := range gputest.Prompts() {
		if testing.Short() && n%4 != 1 {
			continue
		}
		t.Run(p.Name, func(t *testing.T) {
			call, err := p.Call()
			if err != nil {
				t.Fatal(err)
			}
			if err := gputest.Compare(t.Context(), call, openAs(t, any), 3, gputest.Tolerance(p.Case(), any.Assumes)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOneDeviceRunsManyChecks runs a group on one device, as ggmlc devices --check does.
func TestOneDeviceRunsManyChecks(t *testing.T) {
	m := open(t)
	group := gputest.Suite(gputest.Counts{})[0]
	group.Checks = group.Checks[:20]
	tally, err := group.Run(t.Context(), func() (gputest.Machine, error) {
		m.Free()
		return m, nil
	})
	if err != nil || len(tally.Failures) > 0 || tally.Passed == 0 || tally.Passed+tally.Skipped != 20 {
		t.Errorf("%+v, error %v", tally, err)
	}
}

// wrong is a machine whose memory differs in one bit from what kernels store.
type wrong struct{ *ondevice.Machine }

func (w wrong) Read(address uint64, data []byte) error {
	err := w.Machine.Read(address, data)
	if len(data) > 3 {
		data[3] ^= 0x40
	}
	return err
}

// TestSuiteNoticesAWrongDevice runs a part of each group on a device that reads wrong.
func TestSuiteNoticesAWrongDevice(t *testing.T) {
	m := open(t)
	for _, g := range gputest.Suite(gputest.Counts{OddSizes: 5, Kernels: 5}) {
		g.Checks = g.Checks[:5]
		tally, err := g.Run(t.Context(), func() (gputest.Machine, error) {
			m.Free()
			return wrong{m}, nil
		})
		if err != nil || len(tally.Failures) < 4 {
			t.Errorf("%s: %d failures, error %v", g.Name, len(tally.Failures), err)
		}
	}
}

// TestFailuresOfTheDeviceAreReported gives the driver code that is no SPIR-V.
func TestFailuresOfTheDeviceAreReported(t *testing.T) {
	open(t)
	kind := onVulkan()
	kind.Assemble = func(*kir.Kernel) ([]byte, error) { return []byte("code"), nil }
	m, err := ondevice.Open(kind)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = gputest.Suite(gputest.Counts{Kernels: 1})[2].Checks[0].Run(context.Background(), m)
	if err == nil || !strings.Contains(err.Error(), "no SPIR-V") || m.Failed() == nil {
		t.Errorf("error %v", err)
	}
}
