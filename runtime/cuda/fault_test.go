//go:build linux

package cuda_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// spinning returns a command that takes so many steps.
func spinning(steps int) *runtime.Command {
	return drivertest.Command(drivertest.Dispatch{Kernel: kernels.Spin, Groups: 1, Args: []drivertest.Arg{{Memory: 0}, {Memory: drivertest.Number, Offset: steps}}})
}

const endless = 1<<31 - 1

// TestKernelWithoutEndIsCut has a kernel that takes longer than the limit. Events of both queues are signalled.
func TestKernelWithoutEndIsCut(t *testing.T) {
	b := open(t, setting{queues: 2, loader: cuda.Loader{Options: cuda.Options{Limit: 100 * time.Millisecond}}, device: []int64{64}, faulty: true})
	b.Blocks[0].Step = 12
	began := time.Now()
	b.Device.Run(0, spinning(endless), b.Blocks[0], 0)
	var e, end runtime.Event
	b.Device.Record(0, &e, 1)
	b.Device.Wait(1, &e, 1)
	b.Device.Record(1, &end, 1)
	end.Await(1)
	waited := time.Since(began)
	var f *runtime.FaultError
	if !errors.As(b.Fault(), &f) || !f.Surroundings() {
		t.Fatalf("error %v after %v, want a fault of the surroundings", b.Fault(), waited)
	}
	if s := fmt.Sprint(f.Value); f.Device != "gpu" || f.Command != "@step split 2" || !strings.Contains(s, "step 12 on Simulated GPU (CUDA 12.8): ") ||
		!strings.Contains(s, "submitted with it was done for 100ms") || !strings.Contains(s, "--cuda-timeout") {
		t.Errorf("device %q, command %q, value %q", f.Device, f.Command, s)
	}
	if waited > 5*time.Second {
		t.Errorf("cut after %v, with a limit of 100ms", waited)
	}
	b.Device.Run(0, spinning(1), b.Blocks[0], 0) // skipped
	b.Finish(0)
	b.Closed = true
	if err := b.Device.Close(); err == nil || !strings.Contains(err.Error(), "still works on a command that has no end") {
		t.Errorf("Close: %v", err)
	}
}

// TestLostDevice has a kernel that writes outside of memory. Nothing blocks after that.
func TestLostDevice(t *testing.T) {
	b := open(t, setting{queues: 2, device: []int64{64}, host: []int64{64}, faulty: true})
	b.Blocks[0].Step = 7
	wild := drivertest.Command(drivertest.Dispatch{Kernel: kernels.Spin, Groups: 1, Args: []drivertest.Arg{{Memory: drivertest.Number, Offset: 4096}, {Memory: drivertest.Number, Offset: 1}}})
	b.Device.Run(0, wild, b.Blocks[0], 0)
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
	if !errors.As(err, &f) || !f.Surroundings() || strings.Contains(err.Error(), "bug") {
		t.Fatalf("error %v, want a fault of the surroundings", err)
	}
	if s := fmt.Sprint(f.Value); !strings.Contains(f.Command, "@step split ") || !strings.Contains(s, "step 7 on ") || !strings.Contains(s, "CUDA_ERROR_ILLEGAL_ADDRESS: the device is lost for this process: start the program again") {
		t.Errorf("command %q, value %q", f.Command, s)
	}
	if _, err := b.Device.Alloc(runtime.State, 64); err == nil || !strings.Contains(err.Error(), "CUDA_ERROR_ILLEGAL_ADDRESS") {
		t.Errorf("memory of a lost device: error %v", err)
	}
	if err := b.Device.Load(b.Memory[0], make([]byte, 64)); err == nil {
		t.Error("a lost device is loaded")
	}
}

// scenario opens a device, loads, runs a step on two queues and closes it. It returns the first error.
func scenario(t *testing.T, c cudasim.Config, timeline *runtime.Timeline) (*bench, error) {
	t.Helper()
	l := cuda.Loader{Options: cuda.Options{Limit: 2 * time.Second}}
	b, err := tryOpen(t, setting{config: c, loader: l, timeline: timeline, queues: 2, device: []int64{256, 256, 64}, host: []int64{256, 64}, faulty: true})
	if b.Device == nil {
		return b, err
	}
	if err == nil {
		err = errors.Join(b.Device.Load(b.Memory[0], drivertest.FloatBytes(drivertest.Ramp(64))), b.Device.Clear(b.Memory[1]), b.Device.Clear(b.Memory[2]))
	}
	if err == nil {
		var e, end runtime.Event
		picked := drivertest.Dense(&drivertest.Label, 1, 0, 3, 0, 16)
		picked.Index, picked.Picks = runtime.Span{Memory: 2}, 1
		for step := range uint64(2) {
			b.Device.Copy(0, drivertest.Dense(&drivertest.Label, 0, 0, 3, 0, 256), b.Blocks[0])
			beside := kernels.Scaling(drivertest.Arg{Memory: 1, Offset: 128}, drivertest.Arg{}, 32, 2)
			beside.Beside = true
			b.Device.Run(0, drivertest.Command(kernels.Scaling(drivertest.Arg{Memory: 1}, drivertest.Arg{}, 32, 2), beside), b.Blocks[0], 0)
			b.Device.Record(0, &e, step+1)
			b.Device.Wait(1, &e, step+1)
			b.Device.Copy(1, picked, b.Blocks[0])
			b.Device.Copy(1, drivertest.Dense(&drivertest.Label, 0, 0, 1, 0, 256), b.Blocks[0])
			b.Device.Copy(1, drivertest.Dense(&drivertest.Label, 3, 0, 1, 0, 256), b.Blocks[0])
			b.Device.Record(1, &end, step+1)
			end.Await(step + 1)
		}
		err = b.Fault()
	}
	b.Closed = true
	return b, errors.Join(err, b.Device.Close())
}

// freeing are the functions without which something is left, and the one without which there are no times of the
// device.
var freeing = []string{"cuEventElapsedTime", "cuMemFree", "cuMemFreeHost", "cuModuleUnload", "cuStreamDestroy", "cuEventDestroy", "cuGraphDestroy", "cuGraphExecDestroy",
	"cuDevicePrimaryCtxRelease", "cuCtxSetCurrent"}

// TestEveryCallFails has each call of the driver fail in turn, once or from then on. The scenario ends, with an error
// unless the call only frees something, and leaves nothing.
func TestEveryCallFails(t *testing.T) {
	t.Run("plain", func(t *testing.T) { everyCallFails(t, nil, 33) })
	t.Run("timeline", func(t *testing.T) { everyCallFails(t, new(runtime.Timeline), 35) })
}

// everyCallFails is TestEveryCallFails with a timeline or without one. The scenario calls so many functions at least.
func everyCallFails(t *testing.T, timeline *runtime.Timeline, functions int) {
	whole, err := scenario(t, cudasim.Config{}, timeline)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	for _, name := range whole.driver.Names() {
		calls += whole.driver.Calls(name)
	}
	stride := 1 + calls/500 // most are queries of events, as often as time allows
	if testing.Short() {
		stride *= 7
	}
	for _, lost := range []bool{false, true} {
		for at := 1; at <= calls; at += stride {
			failOnce(t, at, lost, timeline)
		}
	}
	t.Logf("%d calls of %d functions", calls, len(whole.driver.Names()))
	if len(whole.driver.Names()) < functions {
		t.Errorf("only the functions %v are called", whole.driver.Names())
	}
}

// failOnce runs the scenario where a call fails, or all calls from then on.
func failOnce(t *testing.T, at int, lost bool, timeline *runtime.Timeline) {
	failed := ""
	c := cudasim.Config{Fault: func(name string, n int) uint32 {
		if n == at {
			failed = name
		}
		if n == at || lost && n > at {
			return 719
		}
		return 0
	}}
	done := make(chan error, 1)
	var b *bench
	go func() {
		var err error
		b, err = scenario(t, c, timeline)
		done <- err
	}()
	select {
	case err := <-done:
		b.judge(t, at, failed, lost, err)
	case <-time.After(20 * time.Second):
		t.Fatalf("call %d, %s: it hangs", at, failed)
	}
}

// judge compares the end of a scenario with what it should be.
func (b *bench) judge(t *testing.T, at int, failed string, lost bool, err error) {
	quiet := false
	for _, name := range freeing {
		quiet = quiet || name == failed
	}
	if err == nil && !quiet && failed != "" && !lost {
		t.Errorf("call %d, %s fails: no error", at, failed)
	}
	if err != nil && !strings.Contains(err.Error(), "CUDA_ERROR_LAUNCH_FAILED") && !strings.Contains(err.Error(), "failed before") && failed != "cuCtxSetCurrent" {
		t.Errorf("call %d, %s fails: error %v", at, failed, err)
	}
	if live := b.driver.Live(); len(live) > 0 && !quiet && !lost {
		t.Errorf("call %d, %s fails: not freed: %v", at, failed, live)
	}
}

// TestWrongCommandsFail has dispatches that the device cannot run.
func TestWrongCommandsFail(t *testing.T) {
	broken, refused, future := *kernels.Scale, *kernels.Scale, *kernels.Scale
	broken.Code = "no module"
	refused.Code = strings.Replace(kernels.Scale.Code, "mul.rn.f32", "mule.rn.f32", 1)
	future.Code = strings.Replace(kernels.Scale.Code, "sm_70", "sm_120", 1)
	for _, c := range []struct {
		name    string
		edit    func(*drivertest.Dispatch)
		want    string
		outside bool
	}{
		{"arguments", func(d *drivertest.Dispatch) { d.Args = d.Args[1:] }, "kernel scale: 3 arguments, it has 4", false},
		{"groups", func(d *drivertest.Dispatch) { d.Groups = 0 }, "0 workgroups, the device allows 1 to", false},
		{"threads", func(d *drivertest.Dispatch) { k := *kernels.Scale; k.Threads = 1 << 20; d.Kernel = &k }, "1048576 threads in a workgroup", false},
		{"code", func(d *drivertest.Dispatch) { d.Kernel = &broken }, "kernel scale: 9 bytes that are no PTX", false},
		{"text", func(d *drivertest.Dispatch) { d.Kernel = &refused }, "kernel scale: the driver refuses the PTX: cuModuleLoadDataEx: CUDA_ERROR_INVALID_PTX: report it\nptxas fatal : ptx: line ", true},
		{"target", func(d *drivertest.Dispatch) { d.Kernel = &future }, "CUDA_ERROR_NO_BINARY_FOR_GPU\nptxas fatal : .target sm_120 on sm_90", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, setting{device: []int64{64}, host: []int64{64}})
			d := kernels.Scaling(drivertest.Arg{}, drivertest.Arg{}, 4, 2)
			c.edit(&d)
			b.Device.Run(0, drivertest.Command(d), b.Blocks[0], 0)
			b.Finish(0)
			var f *runtime.FaultError
			if !errors.As(b.Fault(), &f) || f.Surroundings() != c.outside || f.Command != "@step split 2" || !strings.Contains(fmt.Sprint(f.Value), c.want) {
				t.Errorf("error %v, want %s", b.Fault(), c.want)
			}
		})
	}
}

// TestDriversThatDoNot has drivers and devices on which programs do not run.
func TestDriversThatDoNot(t *testing.T) {
	old, busy := cudasim.Default(), cudasim.Default()
	old.Version = 11030
	busy.Fault = func(name string, _ int) uint32 {
		if name == "cuDevicePrimaryCtxRetain" {
			return 46
		}
		return 0
	}
	mismatch := cudasim.Config{Fault: func(string, int) uint32 { return 803 }}
	mismatch.Fault = func(name string, _ int) uint32 {
		if name == "cuInit" {
			return 803
		}
		return 0
	}
	starting := cudasim.Config{Fault: func(name string, _ int) uint32 {
		if name == "cuInit" {
			return 802
		}
		return 0
	}}
	pascal := cudasim.Config{Devices: []cudasim.Device{{Name: "Old GPU", Memory: 1 << 30, Capability: 61}}}
	for _, c := range []struct {
		name, missing, device string
		config                cudasim.Config
		want                  string
	}{
		{"old driver", "", "", old, "the driver has CUDA 11.3, 11.4 or later is needed: install a newer driver"},
		{"missing function", "cuGraphInstantiateWithFlags", "", cudasim.Default(), "the driver has no cuGraphInstantiateWithFlags: CUDA 11.4 or later is needed"},
		{"no device", "", "", cudasim.Config{}, "there is no NVIDIA GPU: see that one is there, and that CUDA_VISIBLE_DEVICES"},
		{"old device", "", "", pascal, "Old GPU (CUDA 12.8) has compute capability 6.1, 7.0 or later is needed"},
		{"busy device", "", "", busy, "another process has the GPU to itself"},
		{"after an update", "", "", mismatch, "have different versions: start the machine again"},
		{"services that are not up", "", "", starting, "cuInit: CUDA_ERROR_SYSTEM_NOT_READY: start the services of NVIDIA's driver"},
		{"unknown device", "", "no such", cudasim.Default(), `there is no CUDA device "no such": give one of 0: Simulated GPU`},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "_"), func(t *testing.T) {
			d := cudasim.New(c.config)
			library().Use(d)
			l := cuda.Loader{Options: cuda.Options{Device: c.device, Symbol: func(name string) (uintptr, error) {
				if name == c.missing {
					return 0, errors.New("no symbol")
				}
				return library().Symbol(name)
			}}}
			_, err := l.Open(&runtime.DeviceInfo{Name: "gpu"}, 0, new(runtime.Supervisor))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %s", err, c.want)
			}
			if live := d.Live(); len(live) > 0 || len(d.Problems()) > 0 {
				t.Errorf("left %v, problems %q", live, d.Problems())
			}
		})
	}
}

// TestNoLibrary opens the driver that is installed. Where there is none, the error says what to do.
func TestNoLibrary(t *testing.T) {
	d, err := new(cuda.Loader).Open(&runtime.DeviceInfo{Name: "gpu"}, 0, new(runtime.Supervisor))
	if err == nil {
		d.Close()
		t.Skip("skip: there is a CUDA driver on this machine")
	}
	if s := err.Error(); !strings.Contains(s, "there is no CUDA driver: install NVIDIA's driver") && !strings.Contains(s, "there is no NVIDIA GPU") {
		t.Error(err)
	}
}

// TestChoice opens the device with the most memory, or the one that is asked for.
func TestChoice(t *testing.T) {
	devices := []cudasim.Device{
		{Name: "Small", Memory: 1 << 30, Capability: 80}, {Name: "Large", Memory: 1 << 33, Capability: 75}, {Name: "Larger, too old", Memory: 1 << 34, Capability: 60},
	}
	for _, c := range []struct{ target, device, want string }{
		{"cuda", "", "Large"}, {"cuda:0", "", "Large"}, {"cuda:1", "", "Small"}, {"cuda:2", "", "Large"},
		{"cuda", "0", "Small"}, {"cuda", "1", "Large"}, {"cuda", "smal", "Small"}, {"cuda:1", "1,0", "Small"},
	} {
		b := open(t, setting{target: c.target, config: cudasim.Config{Devices: devices}, loader: cuda.Loader{Options: cuda.Options{Device: c.device}}})
		_, err := b.Device.Alloc(runtime.State, 1<<62)
		if err == nil || !strings.HasPrefix(err.Error(), c.want+" (CUDA 12.8) has ") {
			t.Errorf("target %s, device %q: %v, want %s", c.target, c.device, err, c.want)
		}
		b.Close()
	}
}

// TestTooMuchMemory asks for more than there is, at once and in sum.
func TestTooMuchMemory(t *testing.T) {
	b := open(t, setting{device: []int64{1 << 20}})
	for _, n := range []int64{1 << 50, 1<<63 - 1<<20} {
		_, err := b.Device.Alloc(runtime.Weights, n)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprint(n)) || !strings.Contains(err.Error(), "--max-memory") {
			t.Errorf("%d bytes: error %v", n, err)
		}
	}
	s := b.Device.(interface{ Survey([]runtime.Chunk) error })
	part := runtime.Chunk{Bytes: 400 << 20}
	host := runtime.Chunk{Bytes: 1 << 40, Device: -1}
	if err := s.Survey([]runtime.Chunk{part, part, host}); err != nil {
		t.Error(err)
	}
	if at, err := b.Device.(runtime.Located).Locate(); err != nil || at.Kind != "cuda" || at.Number != 0 || at.Left != 1072693248 {
		t.Errorf("%+v, error %v", at, err)
	}
	if err := s.Survey([]runtime.Chunk{part, part, part}); err == nil || !strings.Contains(err.Error(), "has 1072693248 bytes left of 1073741824, 1258291200 are needed") {
		t.Errorf("error %v", err)
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

// TestCommandsAreLaunchedTogether counts launches: the commands of a step are one graph, which is made once.
func TestCommandsAreLaunchedTogether(t *testing.T) {
	const steps, commands = 5, 40
	b := open(t, setting{device: []int64{64}})
	var list []*runtime.Command
	for range commands {
		list = append(list, spinning(1))
	}
	var e runtime.Event
	for step := range uint64(steps) {
		for _, c := range list {
			b.Device.Run(0, c, b.Blocks[0], 0)
		}
		b.Device.Record(0, &e, step+1)
		e.Await(step + 1)
	}
	for name, want := range map[string]int{"cuGraphLaunch": steps, "cuGraphInstantiateWithFlags": 1, "cuLaunchKernel": commands, "cuModuleLoadDataEx": 1} {
		if got := b.driver.Calls(name); got != want {
			t.Errorf("%s is called %d times, want %d", name, got, want)
		}
	}
}

// TestMemoryIsFreed allocates memory and binds a block to it, in which commands and transfers are recorded. Once
// nothing refers to these any more, nothing of them is left.
func TestMemoryIsFreed(t *testing.T) {
	b := open(t, setting{})
	b.Finish(0)
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
	live := b.driver.Live()
	for range 1000 {
		drivertest.Collect()
		if live = b.driver.Live(); live["memory"] == 0 && live["pinned"] == 0 && live["*cudasim.executable"] == 0 {
			return
		}
	}
	t.Errorf("left: %v", live)
}

func TestFlags(t *testing.T) {
	l := new(cuda.Loader)
	set := make(map[string]func(string) error)
	l.Flags(func(name, _, _ string, f func(string) error) { set[name] = f })
	for _, c := range []struct {
		name, value string
		ok          bool
	}{
		{"cuda-device", "0", true}, {"cuda-device", "h200", true}, {"cuda-device", "", false},
		{"cuda-device", "0,", false}, {"cuda-device", ",", false}, {"cuda-timeout", "3s", true}, {"cuda-timeout", "0s", false}, {"cuda-timeout", "soon", false},
	} {
		if err := set[c.name](c.value); (err == nil) != c.ok {
			t.Errorf("--%s %q: %v", c.name, c.value, err)
		}
	}
	if err := set["cuda-timeout"]("-1s"); err == nil || err.Error() != "it must be more than 0, such as 30s" {
		t.Errorf("--cuda-timeout -1s: %v", err)
	}
	if l.Device != "h200" || l.Limit != 3*time.Second {
		t.Errorf("device %q, limit %v", l.Device, l.Limit)
	}
}
