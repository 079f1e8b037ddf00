package device

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kirtest"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/runtime/gpu"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// nvidia is a device that the CUDA driver has, or a simulated one where there is no driver.
type nvidia struct{ *machine }

// installed opens the device of the driver that is installed.
func installed(s *runtime.Supervisor) (runtime.Device, error) {
	return new(cuda.Loader).Open(&runtime.DeviceInfo{Name: "cuda", Queues: []string{"cuda"}}, 0, s)
}

// openCUDA returns a device. A simulated one reports wrong uses of the driver as errors of the test.
func openCUDA(t testing.TB) nvidia {
	t.Helper()
	m := &machine{t: t, super: new(runtime.Supervisor)}
	var err error
	if m.device, err = installed(m.super); err != nil {
		if needtest.Required("cuda") {
			t.Fatalf("GGMLC_REQUIRE names cuda: %v", err)
		}
		m.device = openSimulated(t, m.super)
	}
	t.Cleanup(func() {
		if err := m.device.Close(); err != nil {
			t.Error(err)
		}
	})
	return nvidia{m}
}

// Assumes returns what kernels for CUDA assume.
func (nvidia) Assumes() kernels.Machine {
	on, _ := kernels.Of("cuda")
	return on
}

// Run implements gputest.Machine.
func (m nvidia) Run(k *kir.Kernel, groups int, args []uint64) error {
	text, err := ptx.Emit(k, ptx.SM70)
	if err != nil {
		return err
	}
	kernel := &gpu.Kernel{Name: k.Name, Code: text, Threads: k.Threads, Args: len(k.Args)}
	c := &runtime.Command{Label: runtime.Label{Func: k.Name}, Kernel: gpu.Command(func(e *gpu.Env, _ int) {
		own := make([]uint64, len(args))
		for i, a := range args {
			own[i] = a
			if n := a >> spread; k.Args[i].Type.Kind == kir.U64 && n > 0 {
				own[i] = e.Mem[n-1] + a&(1<<spread-1)
			}
		}
		e.Dispatch(kernel, groups, own...)
	})}
	b := m.bind(m.memory)
	m.step(b, func() { m.device.Run(0, c, b, 0) })
	return m.failed()
}

// TestKernelsOnCUDAComputeWhatEvalDoes runs the cases of all ops that have kernels.
func TestKernelsOnCUDAComputeWhatEvalDoes(t *testing.T) {
	for _, c := range gputest.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			call, err := irtest.Case(c.Op, c.Case, 1)
			if err != nil {
				t.Fatal(err)
			}
			err = gputest.Compare(t.Context(), call, openCUDA(t), 3, c.Op.Info().Tol)
			if errors.Is(err, gputest.ErrNoKernel) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// TestOddSizesOnCUDA runs random cases with extents beside the sizes of workgroups and blocks.
func TestOddSizesOnCUDA(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		c := gputest.RandomCase(seed)
		call, err := irtest.Case(c.Op, c.Case, seed)
		if err != nil {
			t.Fatal(err)
		}
		if err := gputest.Compare(t.Context(), call, openCUDA(t), 1+int(seed)%5, c.Op.Info().Tol); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

// TestRandomKernelsOnCUDA compares random kernels with the interpreter.
func TestRandomKernelsOnCUDA(t *testing.T) {
	n := uint64(100)
	if testing.Short() {
		n = 15
	}
	for seed := range n {
		c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 3)), kirtest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Run(simulated{interp.NewMemory()})
		if err != nil {
			t.Fatalf("seed %d, simulated: %v", seed, err)
		}
		got, err := c.Run(openCUDA(t))
		if err == nil {
			err = c.Compare(got, want)
		}
		if err != nil {
			t.Errorf("seed %d: %v\n%v", seed, err, c.Kernel)
		}
	}
}
