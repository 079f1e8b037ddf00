//go:build linux

package cuda_test

import (
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// library has the functions of the simulated driver.
var library = sync.OnceValue(cudasim.NewLibrary)

// kernels are the kernels of the tests.
var kernels = drivertest.NewKernels(func(k *kir.Kernel) (string, error) { return ptx.Emit(k, ptx.SM70) })

// bench is a device of a simulated driver.
type bench struct {
	*drivertest.Bench
	driver *cudasim.Driver
}

// setting is how a bench is opened.
type setting struct {
	target   string          // "" is gpu
	config   cudasim.Config  // without devices it is the default one
	driver   *cudasim.Driver // one that another bench has opened, in place of a new one
	loader   cuda.Loader
	queues   int
	slots    int
	device   []int64 // bytes of the memories of the device, which come first
	host     []int64 // and of the host
	timeline *runtime.Timeline
	shared   bool // commands address the memories of the host
	faulty   bool // objects that are not freed are no fault
}

// open opens a device. What the driver finds wrong with its use is an error of the test.
func open(t testing.TB, s setting) *bench {
	t.Helper()
	b, err := tryOpen(t, s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// tryOpen is open for drivers that fail.
func tryOpen(t testing.TB, s setting) (*bench, error) {
	t.Helper()
	with := drivertest.Setting{Target: s.target, Queues: s.queues, Slots: s.slots, Device: s.device, Host: s.host, Timeline: s.timeline}
	if s.shared {
		with.Access = drivertest.Shared
	}
	return openWith(t, s, with)
}

// openWith is tryOpen with the driver and the loader of s, and a setting of package drivertest.
func openWith(t testing.TB, s setting, with drivertest.Setting) (*bench, error) {
	t.Helper()
	b := &bench{drivertest.New(t, with), s.driver}
	if b.driver == nil {
		b.driver = start(s.config)
		t.Cleanup(func() { b.check(s.faulty) })
	}
	l := s.loader
	l.Symbol = library().Symbol
	if with.Progress != nil {
		l.Progress = with.Progress
	}
	return b, b.Open(&l, with)
}

// start starts a driver.
func start(c cudasim.Config) *cudasim.Driver {
	if len(c.Devices) == 0 {
		c.Devices = cudasim.Default().Devices
	}
	d := cudasim.New(c)
	library().Use(d)
	return d
}

// check reports what the driver found, when everything is closed.
func (b *bench) check(faulty bool) {
	b.driver.Stop()
	for _, p := range b.driver.Problems() {
		b.T.Errorf("driver: %s", p)
	}
	if live := b.driver.Live(); len(live) > 0 && !faulty {
		b.T.Errorf("not freed: %v", live)
	}
}

// suite has the tests that all kinds of devices pass.
var suite = drivertest.Suite{
	Kernels: kernels,
	Open: func(t testing.TB, s drivertest.Setting) *drivertest.Bench {
		return mustOpen(t, setting{}, s).Bench
	},
	OpenTwo: func(t testing.TB, s drivertest.Setting) [2]*drivertest.Bench {
		one := setting{config: cudasim.Config{Devices: []cudasim.Device{
			{Name: "one", Memory: 1 << 30, Capability: 90}, {Name: "two", Memory: 1 << 29, Capability: 80},
		}}}
		first := mustOpen(t, one, s)
		two := setting{driver: first.driver}
		two.loader.Device = "two"
		return [2]*drivertest.Bench{first.Bench, mustOpen(t, two, s).Bench}
	},
	Loader: func(t testing.TB) runtime.Loader {
		d := start(cudasim.Config{})
		t.Cleanup(func() {
			if live := d.Live(); len(live) > 0 || len(d.Problems()) > 0 {
				t.Errorf("left %v, problems %q", live, d.Problems())
			}
		})
		return &cuda.Loader{Options: cuda.Options{Symbol: library().Symbol}}
	},
	Accesses:   []drivertest.Access{drivertest.Shared, drivertest.Staged},
	Dispatches: 100,
	Steps:      100,
}

// mustOpen is openWith for drivers that do not fail.
func mustOpen(t testing.TB, s setting, with drivertest.Setting) *bench {
	t.Helper()
	b, err := openWith(t, s, with)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestDevice(t *testing.T) { suite.Run(t) }

func BenchmarkStep(b *testing.B) { suite.Benchmark(b) }
