package device

import (
	"errors"
	"slices"
	"testing"

	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ondevice"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// generation is what kernels of CUDA may assume, with the target that they are printed for.
type generation struct {
	on     kernels.Machine
	target ptx.Target
}

// generations returns those of package codegen, without the first one in short tests.
func generations() []generation {
	on, _ := kernels.Of("cuda")
	slabs, _ := kernels.Slabs("cuda")
	all := []generation{{on, ptx.SM70}, {kernels.Later("cuda")[0], ptx.SM80}, {slabs, ptx.SM90a}}
	if testing.Short() {
		return all[1:]
	}
	return all
}

// runs reports whether the device that a loader opens runs the kernels of a generation: those with slabs are for one
// compute capability only, which the simulated driver has.
func (g generation) runs(t *testing.T, l *cuda.Loader) bool {
	if l == nil || g.target != ptx.SM90a {
		return true
	}
	list, err := cuda.List(nil)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(list, func(i cuda.Info) bool { return i.Chosen && i.Capability == 90 })
}

// installed returns the loader of the driver that is installed, or nil without a device.
func installed(t testing.TB) *cuda.Loader {
	t.Helper()
	d, err := new(cuda.Loader).Open(&runtime.DeviceInfo{Name: "cuda"}, 0, new(runtime.Supervisor))
	if err == nil {
		err = d.Close()
	}
	if err == nil {
		return new(cuda.Loader)
	}
	if needtest.Required("cuda") {
		t.Fatalf("GGMLC_REQUIRE names cuda: %v", err)
	}
	return nil
}

// openCUDA returns a device that the CUDA driver has, or a simulated one where there is no driver. A simulated one
// reports wrong uses of the driver as errors of the test.
func openCUDA(t testing.TB, l *cuda.Loader, g generation) *ondevice.Machine {
	t.Helper()
	if l == nil {
		l = simulatedCUDA(t)
	}
	m, err := ondevice.Open(ondevice.Kind{Name: "cuda", Assumes: g.on, Loader: l, Assemble: func(k *kir.Kernel) ([]byte, error) {
		text, err := ptx.Emit(k, g.target)
		return []byte(text), err
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestCUDAConforms runs the suite. Each check has a device of its own. On the simulated driver, tests/e2e/gpu runs the
// rest of the suite, by ggmlc devices --check.
func TestCUDAConforms(t *testing.T) {
	n, loader := gputest.Whole, installed(t)
	if testing.Short() || loader == nil {
		n = gputest.Counts{OddSizes: 20, Kernels: 15}
	}
	t.Logf("a simulated driver: %v", loader == nil)
	if loader != nil {
		openCUDA(t, loader, generations()[0]) // so that the context stays, which takes long to make
	}
	for _, g := range generations() {
		if !g.runs(t, loader) {
			t.Logf("the device does not run %v", g.target)
			continue
		}
		for _, group := range gputest.Suite(n) {
			t.Run(g.target.String()+"/"+group.Name, func(t *testing.T) {
				for _, c := range group.Checks {
					t.Run(c.Name, func(t *testing.T) {
						err := c.Run(t.Context(), openCUDA(t, loader, g))
						if errors.Is(err, gputest.ErrNoKernel) {
							t.Skip(err)
						}
						if err != nil {
							t.Error(err)
						}
					})
				}
			})
		}
	}
}
