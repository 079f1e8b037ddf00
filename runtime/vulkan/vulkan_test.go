package vulkan_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/drivertest"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// kernels are the kernels of the tests.
var kernels = drivertest.NewKernels(func(k *kir.Kernel) (string, error) {
	words, err := spirv.Emit(k)
	return string(spirv.Bytes(words)), err
})

// bench is a device that validates its use.
type bench struct {
	*drivertest.Bench
	log *messages
}

// messages are those of the validation layer.
type messages struct {
	mu   sync.Mutex
	list []string
}

func (m *messages) add(s string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = append(m.list, s)
}

// report makes the messages errors of a test.
func (m *messages) report(t testing.TB) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.list {
		t.Errorf("validation: %s", s)
	}
}

// setting is how a bench is opened.
type setting struct {
	loader vulkan.Loader
	queues int
	slots  int
	device []int64 // bytes of the memories of the device, which come first
	host   []int64 // and of the host
	quiet  bool    // no validation layer
	shared bool    // commands address the memories of the host

	timeline *runtime.Timeline
}

// open opens a device with validation, or skips the test. The messages of the layer are errors of the test.
func open(t testing.TB, s setting) *bench {
	t.Helper()
	with := drivertest.Setting{Queues: s.queues, Slots: s.slots, Device: s.device, Host: s.host, Quick: s.quiet, Timeline: s.timeline}
	if s.shared {
		with.Access = drivertest.Shared
	}
	return openWith(t, s.loader, with)
}

// openWith is open with a setting of package drivertest.
func openWith(t testing.TB, l vulkan.Loader, s drivertest.Setting) *bench {
	t.Helper()
	b := &bench{drivertest.New(t, s), new(messages)}
	if !s.Quick {
		l.Validate = b.log.add
		t.Cleanup(func() { b.log.report(t) })
	}
	if s.Access == drivertest.Unmapped {
		l.Unmap()
	}
	if s.Progress != nil {
		l.Progress = s.Progress
	}
	err := b.Open(&l, s)
	if b.Device == nil {
		needtest.Skip(t, "vulkan", "no Vulkan device: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// suite has the tests that all kinds of devices pass.
var suite = drivertest.Suite{
	Kernels: kernels,
	Open: func(t testing.TB, s drivertest.Setting) *drivertest.Bench {
		return openWith(t, vulkan.Loader{}, s).Bench
	},
	OpenTwo: func(t testing.TB, s drivertest.Setting) [2]*drivertest.Bench {
		return [2]*drivertest.Bench{openWith(t, vulkan.Loader{}, s).Bench, openWith(t, vulkan.Loader{}, s).Bench}
	},
	Loader: func(t testing.TB) runtime.Loader {
		open(t, setting{quiet: true}) // skips where there is no device
		return new(vulkan.Loader)
	},
	Accesses:   []drivertest.Access{drivertest.Staged, drivertest.Shared, drivertest.Unmapped},
	Dispatches: 500,
	Steps:      200,
}

func TestDevice(t *testing.T) { suite.Run(t) }

func BenchmarkStep(b *testing.B) { suite.Benchmark(b) }

// TestValidationIsHeard checks that the other tests would fail at a message.
func TestValidationIsHeard(t *testing.T) {
	b := open(t, setting{})
	vulkan.Misuse(b.Device)
	if len(b.log.list) == 0 || !strings.Contains(b.log.list[0], "VUID-VkBufferCreateInfo-size-00912") {
		t.Errorf("messages %q", b.log.list)
	}
	b.log.list = nil
}
