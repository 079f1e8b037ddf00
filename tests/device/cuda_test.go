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

// nvidia is a device that the CUDA driver has, or a simulated one where there is no driver, as one of the machines that
// programs have kernels for.
type nvidia struct {
	*machine
	generation
}

// generation is a machine with the target that its kernels are printed for.
type generation struct {
	on     kernels.Machine
	target ptx.Target
}

// generations returns those of package codegen, or the last one in short tests.
func generations() []generation {
	on, _ := kernels.Of("cuda")
	all := []generation{{on, ptx.SM70}, {kernels.Later("cuda")[0], ptx.SM80}}
	if testing.Short() {
		return all[1:]
	}
	return all
}

// installed opens the device of the driver that is installed.
func installed(s *runtime.Supervisor) (runtime.Device, error) {
	return new(cuda.Loader).Open(&runtime.DeviceInfo{Name: "cuda", Queues: []string{"cuda"}}, 0, s)
}

// openCUDA returns a device. A simulated one reports wrong uses of the driver as errors of the test.
func openCUDA(t testing.TB, g generation) nvidia {
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
	return nvidia{m, g}
}

// Assumes implements gputest.Machine.
func (m nvidia) Assumes() kernels.Machine { return m.on }

// Run implements gputest.Machine.
func (m nvidia) Run(k *kir.Kernel, groups int, args []uint64) error {
	text, err := ptx.Emit(k, m.target)
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
	for _, g := range generations() {
		for _, c := range gputest.Cases() {
			t.Run(g.target.String()+"/"+c.Name, func(t *testing.T) {
				err := g.runCase(t, c, 1, 3)
				if errors.Is(err, gputest.ErrNoKernel) {
					t.Skip(err)
				}
				if err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// runCase compares what a device computes with package eval.
func (g generation) runCase(t *testing.T, c gputest.Case, seed uint64, groups int) error {
	call, err := irtest.Case(c.Op, c.Case, seed)
	if err != nil {
		t.Fatal(err)
	}
	on := openCUDA(t, g)
	return gputest.Compare(t.Context(), call, on, groups, gputest.Tolerance(c, on.Assumes()))
}

// TestOddSizesOnCUDA runs random cases with extents beside the sizes of workgroups and blocks.
func TestOddSizesOnCUDA(t *testing.T) {
	n := uint64(150)
	if testing.Short() {
		n = 20
	}
	for seed := range n {
		c := gputest.RandomCase(seed)
		for _, g := range generations() {
			if err := g.runCase(t, c, seed, 1+int(seed)%5); err != nil {
				t.Errorf("%v, %s: %v", g.target, c.Name, err)
			}
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
		g := generations()[int(seed)%len(generations())]
		c, err := kirtest.Random(rand.New(rand.NewPCG(seed, 3)), kirtest.Options{Caps: g.on.Caps})
		if err != nil {
			t.Fatal(err)
		}
		want, err := c.Run(simulated{interp.NewMemory()})
		if err != nil {
			t.Fatalf("seed %d, simulated: %v", seed, err)
		}
		got, err := c.Run(openCUDA(t, g))
		if err == nil {
			err = c.Compare(got, want)
		}
		if err != nil {
			t.Errorf("seed %d, %v: %v\n%v", seed, g.target, err, c.Kernel)
		}
	}
}
