package vulkan_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// spinning returns a command of so many workgroups, which take about half a millisecond each on a processor's core.
// Time is a matter of workgroups since lavapipe ends every loop after 65,535 iterations.
func spinning(groups int) *runtime.Command {
	return drivertest.Command(drivertest.Dispatch{Kernel: kernels.Spin, Groups: groups, Args: []drivertest.Arg{{Memory: 0}, {Memory: drivertest.Number, Offset: 60000}}})
}

// TestKernelWithoutEndIsCut has a kernel that takes longer than the limit. Events of both queues are signalled.
func TestKernelWithoutEndIsCut(t *testing.T) {
	b := open(t, setting{quiet: true, queues: 2, loader: vulkan.Loader{Options: vulkan.Options{Limit: 100 * time.Millisecond}}, device: []int64{64}})
	b.Blocks[0].Step = 12
	began := time.Now()
	b.Device.Run(0, spinning(4000), b.Blocks[0], 0)
	var e, end runtime.Event
	b.Device.Record(0, &e, 1)
	b.Device.Wait(1, &e, 1)
	b.Device.Record(1, &end, 1)
	end.Await(1)
	waited := time.Since(began)
	var f *runtime.FaultError
	if !errors.As(b.Fault(), &f) {
		t.Fatalf("error %v after %v, want a fault", b.Fault(), waited)
	}
	if s := fmt.Sprint(f.Value); f.Device != "gpu" || f.Command != "@step split 2" || !strings.Contains(s, "step 12 on ") || !strings.Contains(s, "submitted with it was done for 100ms") {
		t.Errorf("device %q, command %q, value %q", f.Device, f.Command, s)
	}
	if waited > 3*time.Second {
		t.Errorf("cut after %v, with a limit of 100ms", waited)
	}
	b.Device.Run(0, spinning(1), b.Blocks[0], 0) // skipped
	b.Finish(0)
	b.Closed = true
	if err := b.Device.Close(); err != nil && !strings.Contains(err.Error(), "still works on a command that has no end") {
		t.Error(err)
	}
}

// TestLostDevice has a device that fails in submissions or in waits. Nothing blocks after that.
func TestLostDevice(t *testing.T) {
	for _, submissions := range []bool{true, false} {
		b := open(t, setting{quiet: true, queues: 2, device: []int64{64}, host: []int64{64}})
		b.Blocks[0].Step = 7
		vulkan.Lose(b.Device, submissions)
		for i := range uint64(10) {
			var e, end runtime.Event
			b.Device.Copy(0, drivertest.Dense(&drivertest.Label, 0, 0, 1, 0, 64), b.Blocks[0])
			b.Device.Run(0, spinning(1), b.Blocks[0], 0)
			b.Device.Record(0, &e, i+1)
			b.Device.Wait(1, &e, i+1)
			b.Device.Copy(1, drivertest.Dense(&drivertest.Label, 1, 0, 0, 0, 64), b.Blocks[0])
			b.Device.Record(1, &end, i+1)
			end.Await(i + 1)
		}
		var f *runtime.FaultError
		err := b.Fault()
		if !errors.As(err, &f) || f.Command != "@step split 3: %x = copy %y" || !f.Surroundings() || strings.Contains(err.Error(), "bug") {
			t.Fatalf("error %v, want a fault of the first copy", err)
		}
		if s := fmt.Sprint(f.Value); !strings.Contains(s, "step 7 on ") || !strings.Contains(s, "VK_ERROR_DEVICE_LOST: start the program again") {
			t.Errorf("value %q", s)
		}
	}
}

// TestSlowQueueIsNotCut has more work than fits into the limit, but in commands that each do.
func TestSlowQueueIsNotCut(t *testing.T) {
	if testing.Short() {
		t.Skip("skip: takes seconds of processor time")
	}
	const limit = 2 * time.Second
	b := open(t, setting{quiet: true, loader: vulkan.Loader{Options: vulkan.Options{Limit: limit}}, device: []int64{64}})
	b.Device.Run(0, spinning(1), b.Blocks[0], 0) // compiles the kernel
	b.Finish(0)
	groups, took := 1, time.Duration(0)
	for ; took < limit/64; groups *= 2 {
		began := time.Now()
		b.Device.Run(0, spinning(groups), b.Blocks[0], 0)
		b.Finish(0)
		took = time.Since(began)
	}
	var e runtime.Event
	n := uint64(3 * limit / 2 / took)
	for i := range n {
		b.Device.Run(0, spinning(groups/2), b.Blocks[0], 0)
		b.Device.Record(0, &e, i+1)
	}
	e.Await(n)
	if err := b.Fault(); err != nil {
		t.Error(err)
	}
}

// TestWrongCommandsFail has dispatches that the device cannot run.
func TestWrongCommandsFail(t *testing.T) {
	broken := *kernels.Scale
	broken.Code = "no module"
	for _, c := range []struct {
		name string
		edit func(*drivertest.Dispatch)
		want string
	}{
		{"arguments", func(d *drivertest.Dispatch) { d.Args = d.Args[1:] }, "kernel scale: 3 arguments, it has 4"},
		{"groups", func(d *drivertest.Dispatch) { d.Groups = 0 }, "0 workgroups, the device allows 1 to"},
		{"threads", func(d *drivertest.Dispatch) { k := *kernels.Scale; k.Threads = 1 << 20; d.Kernel = &k }, "1048576 threads in a workgroup"},
		{"code", func(d *drivertest.Dispatch) { d.Kernel = &broken }, "kernel scale: 9 bytes that are no SPIR-V"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, setting{quiet: true, device: []int64{64}, host: []int64{64}})
			d := kernels.Scaling(drivertest.Arg{}, drivertest.Arg{}, 4, 2)
			c.edit(&d)
			b.Device.Run(0, drivertest.Command(d), b.Blocks[0], 0)
			b.Finish(0)
			var f *runtime.FaultError
			if !errors.As(b.Fault(), &f) || f.Surroundings() || f.Command != "@step split 2" || !strings.Contains(fmt.Sprint(f.Value), c.want) {
				t.Errorf("error %v, want %s", b.Fault(), c.want)
			}
		})
	}
}

// TestRefusedKernel has a driver that does not take a kernel, and one whose device is lost then.
func TestRefusedKernel(t *testing.T) {
	for _, lost := range []bool{false, true} {
		want := "kernel scale: the driver refuses the SPIR-V: vkCreateComputePipelines: VK_ERROR_UNKNOWN: install a newer driver"
		if lost {
			want = "kernel scale: vkCreateComputePipelines: VK_ERROR_DEVICE_LOST: start the program again"
		}
		b := open(t, setting{quiet: true, device: []int64{64}, host: []int64{64}})
		vulkan.RefuseKernels(b.Device, lost)
		b.Device.Run(0, drivertest.Command(kernels.Scaling(drivertest.Arg{}, drivertest.Arg{}, 4, 2)), b.Blocks[0], 0)
		b.Finish(0)
		var f *runtime.FaultError
		if !errors.As(b.Fault(), &f) || !f.Surroundings() || !strings.Contains(fmt.Sprint(f.Value), want) {
			t.Errorf("error %v, want %s", b.Fault(), want)
		}
	}
}

// TestClosedDeviceOnlySignals also closes with work in the queue.
func TestClosedDeviceOnlySignals(t *testing.T) {
	b := open(t, setting{device: []int64{64}})
	for range 100 {
		b.Device.Run(0, spinning(1), b.Blocks[0], 0)
	}
	var e runtime.Event
	b.Device.Record(0, &e, 1)
	b.Close()
	if !e.Reached(1) {
		t.Error("Close did not wait for the queue")
	}
	b.Device.Run(0, spinning(1), b.Blocks[0], 0)
	b.Device.Record(0, &e, 2)
	e.Await(2)
}

// TestTooMuchMemory asks for more than there is.
func TestTooMuchMemory(t *testing.T) {
	b := open(t, setting{quiet: true})
	for _, n := range []int64{1 << 50, 1<<63 - 1<<20} {
		_, err := b.Device.Alloc(runtime.Weights, n)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(n)) || !strings.Contains(err.Error(), "--max-memory") {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
}

// TestMemoryIsFreed allocates memory and binds a block to it, in which commands and transfers are recorded. Once
// nothing refers to these any more, nothing of them is left.
func TestMemoryIsFreed(t *testing.T) {
	b := open(t, setting{})
	before := vulkan.Live(b.Device)
	use := func() {
		m, err := b.Device.Alloc(runtime.State, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		block := &runtime.Block{Memory: []runtime.Memory{m, drivertest.HostMemory(64)}}
		bound, err := b.Device.Bind(block)
		if err != nil {
			t.Fatal(err)
		}
		block.Bound = []any{bound}
		b.Device.Copy(0, drivertest.Dense(&drivertest.Label, 0, 0, 1, 0, 64), block)
		b.Device.Run(0, spinning(1), block, 0)
		b.Finish(0)
	}
	for range 5 {
		use()
	}
	for range 1000 {
		if drivertest.Collect(); vulkan.Live(b.Device) == before {
			return
		}
	}
	t.Errorf("%d objects of the driver, %d before", vulkan.Live(b.Device), before)
}

// TestNoDriver runs the test program again, where the library finds nothing, or a file of a driver that it cannot read.
func TestNoDriver(t *testing.T) {
	if os.Getenv("GGMLC_TEST_OPEN") != "" {
		_, err := new(vulkan.Loader).Open(&runtime.DeviceInfo{Name: "gpu", Queues: []string{"a"}}, 0, new(runtime.Supervisor))
		fmt.Println("error:", err)
		return
	}
	open(t, setting{quiet: true}) // skips where there is no library
	unreadable := filepath.Join(t.TempDir(), "unreadable.json")
	if err := os.WriteFile(unreadable, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestNoDriver$")
	cmd.Env = append(os.Environ(), "GGMLC_TEST_OPEN=1", "VK_DRIVER_FILES="+unreadable, "VK_ICD_FILENAMES="+unreadable)
	out, err := cmd.CombinedOutput()
	if s := string(out); err != nil || !strings.Contains(s, "VK_LOADER_DEBUG=error") && !strings.Contains(s, "error: there is no Vulkan driver: install") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range []string{"VK_DRIVER_FILES", "VK_ICD_FILENAMES"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestNoDriver$")
		cmd.Env = append(os.Environ(), "GGMLC_TEST_OPEN=1", "VK_DRIVER_FILES=", "VK_ICD_FILENAMES=", name+"="+filepath.Join(t.TempDir(), "none.json"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "error: there is no Vulkan driver: install") {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}

func TestUnknownDevice(t *testing.T) {
	open(t, setting{quiet: true})
	l := vulkan.Loader{Options: vulkan.Options{Device: "no such device"}}
	_, err := l.Open(&runtime.DeviceInfo{Name: "gpu"}, 0, new(runtime.Supervisor))
	if err == nil || !strings.Contains(err.Error(), `there is no Vulkan device "no such device": give one of 0: `) {
		t.Errorf("error %v", err)
	}
	l = vulkan.Loader{Options: vulkan.Options{Needs: []string{"shaderDreams"}}}
	_, err = l.Open(&runtime.DeviceInfo{Name: "gpu"}, 0, new(runtime.Supervisor))
	if err == nil || !strings.Contains(err.Error(), "lacks the feature shaderDreams") || !strings.Contains(err.Error(), "(driver ") {
		t.Errorf("error %v", err)
	}
}

func TestFlags(t *testing.T) {
	l := new(vulkan.Loader)
	set := make(map[string]func(string) error)
	l.Flags(func(name, _, _ string, f func(string) error) { set[name] = f })
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"vulkan-device", "0", true}, {"vulkan-device", "llvmpipe", true}, {"vulkan-device", "", false},
		{"vulkan-device", "0,", false}, {"vulkan-device", ",", false}, {"vulkan-timeout", "3s", true}, {"vulkan-timeout", "0s", false}, {"vulkan-timeout", "soon", false},
	} {
		if err := set[c.name](c.value); (err == nil) != c.ok {
			t.Errorf("--%s %q: %v", c.name, c.value, err)
		}
	}
	if err := set["vulkan-timeout"]("-1s"); err == nil || err.Error() != "it must be more than 0, such as 30s" {
		t.Errorf("--vulkan-timeout -1s: %v", err)
	}
	if l.Device != "llvmpipe" || l.Limit != 3*time.Second {
		t.Errorf("device %q, limit %v", l.Device, l.Limit)
	}
}

// TestProgramNeedsMoreThanTheDeviceHas has a program whose session is too large for any device. Nothing is uploaded.
func TestProgramNeedsMoreThanTheDeviceHas(t *testing.T) {
	open(t, setting{quiet: true}) // skips where there is no device
	toy := drivertest.Toy{Kernels: kernels, Loader: new(vulkan.Loader), State: 1 << 49}
	_, err := runtime.Open(toy.Program(), runtime.Options{Threads: 1})
	for _, want := range []string{"gpu: ", " bytes left of ", "562949953421376 are needed: end other programs, or build again with a limit, such as --max-memory gpu="} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
}

// noting is a Loader that keeps the device it has opened.
type noting struct {
	vulkan.Loader
	device runtime.Device
}

func (n *noting) Open(info *runtime.DeviceInfo, index int, s *runtime.Supervisor) (d runtime.Device, err error) {
	n.device, err = n.Loader.Open(info, index, s)
	return n.device, err
}

// TestDeviceIsLostWhileAProgramRuns has a program whose device fails after some tokens. The step returns an error that
// names device, split and step, and is no bug of ours; so do all later ones.
func TestDeviceIsLostWhileAProgramRuns(t *testing.T) {
	open(t, setting{quiet: true}) // skips where there is no device
	for _, submissions := range []bool{true, false} {
		on := new(noting)
		toy := drivertest.Toy{Kernels: kernels, Loader: on}
		m, err := runtime.Open(toy.Program(), runtime.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := s.Decode(t.Context(), 12); err != nil {
				t.Fatal(err)
			}
		}
		vulkan.Lose(on.device, submissions)
		for range 2 {
			_, err = s.Decode(t.Context(), 12)
			var f *runtime.FaultError
			if !errors.As(err, &f) || !f.Surroundings() || !strings.HasPrefix(err.Error(), "@step split 0: tokens failed on gpu: step 4 on ") || !strings.Contains(err.Error(), "VK_ERROR_DEVICE_LOST") {
				t.Errorf("error %v", err)
			}
		}
		if other, err := m.NewSession(); err == nil {
			if _, err = other.Decode(t.Context(), 12); !errors.Is(err, runtime.ErrFault) {
				t.Errorf("another session: error %v", err)
			}
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
