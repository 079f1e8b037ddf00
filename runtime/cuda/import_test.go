//go:build linux

package cuda_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/cuda"
	"github.com/ggmlc/ggmlc/tests/cudasim"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// TestKernelsAddressTheHost scales memory of the host in place, in two steps under way.
func TestKernelsAddressTheHost(t *testing.T) {
	const n = 5000
	b := open(t, setting{slots: 2, device: []int64{64}, host: []int64{4 * n, 4 * n}, shared: true})
	copy(b.Host(1), drivertest.Ramp(n))
	double := drivertest.Command(kernels.Scaling(drivertest.Arg{Memory: 2}, drivertest.Arg{Memory: 1}, n, 2), kernels.Scaling(drivertest.Arg{Memory: 1}, drivertest.Arg{Memory: 2}, n, 1))
	b.Device.Run(0, double, b.Blocks[0], 0)
	b.Device.Run(0, double, b.Blocks[1], 0)
	b.Finish(0)
	if err := b.Fault(); err != nil {
		t.Fatal(err)
	}
	for i, y := range b.Host(1) {
		if want := 4 * float32(i+1); y != want {
			t.Fatalf("y[%d] = %v, want %v", i, y, want)
		}
	}
	if n := b.driver.Live()["registered"]; n != 2 {
		t.Errorf("%d memories are registered for two blocks that use the same two", n)
	}
}

// TestTransfersOfAddressedMemory copies between memory of the host that the device addresses and memory of all kinds,
// and a picked element by an index there. Nothing is pinned for that, except for what the device does not address.
func TestTransfersOfAddressedMemory(t *testing.T) {
	const n = 64
	b := open(t, setting{device: []int64{4 * n}, host: []int64{4 * n, 4 * n, 64}, shared: true})
	labels := make([]runtime.Label, 4)
	copy(b.Host(1), drivertest.Ramp(n))
	before := b.driver.Calls("cuMemHostAlloc")
	b.Device.Copy(0, drivertest.Dense(&labels[0], 0, 0, 1, 0, 4*n), b.Blocks[0])
	b.Device.Copy(0, drivertest.Dense(&labels[1], 2, 0, 0, 4, 4*n-4), b.Blocks[0])
	b.Device.Copy(0, drivertest.Dense(&labels[2], 2, 4*n-4, 1, 0, 4), b.Blocks[0])
	b.Finish(0)
	if got, want := b.Host(2), append(drivertest.Ramp(n)[1:], 1); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := b.driver.Calls("cuMemHostAlloc"); got != before {
		t.Errorf("%d buffers are pinned", got-before)
	}
	*(*int32)(b.Memory[3].(runtime.HostMemory).Base) = 3
	picked := runtime.Transfer{
		Dst: runtime.Span{Memory: 2}, Src: runtime.Span{Memory: 1}, Elem: 16, Shape: [4]int{1, 1, 1, 4}, Stride: [4]int{0, 0, 0, 16},
		Index: runtime.Span{Memory: 3}, Picks: 1, Label: &labels[3],
	}
	b.Device.Copy(0, picked, b.Blocks[0])
	b.Finish(0)
	if got := b.Host(2)[12:16]; b.Fault() != nil || !slices.Equal(got, drivertest.Ramp(n)[12:16]) {
		t.Errorf("picked %v, error %v", got, b.Fault())
	}
}

// refusing returns a driver on which registrations fail from one on.
func refusing(result uint32) cudasim.Config {
	c := cudasim.Default()
	c.Fault = func(name string, _ int) uint32 {
		if name == "cuMemHostRegister" {
			return result
		}
		return 0
	}
	return c
}

// mapped returns memory that a file of the given bytes is mapped to, for reading only.
func mapped(t *testing.T, data []byte) runtime.HostMemory {
	t.Helper()
	path := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := syscall.Mmap(int(f.Fd()), 0, len(data), syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Munmap(b) })
	return runtime.HostMemory{Base: unsafe.Pointer(unsafe.SliceData(b)), Size: int64(len(b))}
}

// TestWeightsOfTheHost reads weights that are imported, or copied where the driver refuses to register them, such as
// those of a file that is mapped for reading only.
func TestWeightsOfTheHost(t *testing.T) {
	const n = 1000
	all := append(make([]byte, 8), drivertest.FloatBytes(drivertest.Ramp(n))...)
	own := drivertest.HostMemory(int64(len(all)))
	copy(unsafe.Slice((*byte)(own.Base), len(all)), all)
	for _, c := range []struct {
		name    string
		file    runtime.HostMemory
		result  uint32 // the error that registering returns; 0 is none
		refused bool
	}{{"imported", own, 0, false}, {"refused", own, 1, true}, {"mapped", mapped(t, all), 0, true}} {
		refused := c.refused
		s := setting{device: []int64{4 * n}}
		if c.result != 0 {
			s.config = refusing(c.result)
		}
		b := open(t, s)
		weights := runtime.HostMemory{Base: unsafe.Add(c.file.Base, 8), Size: 4 * n} // others are before them
		b.Memory = append(b.Memory, weights)
		if err := b.Device.(runtime.Sharer).Share(weights); err != nil {
			t.Fatal(err)
		}
		if got := b.driver.Live()["registered"] == 0; got != refused {
			t.Errorf("%s: the weights are copied: %v, want %v", c.name, got, refused)
		}
		b.Info.Memory = append(b.Info.Memory, 1)
		block := &runtime.Block{Memory: b.Memory}
		bound, err := b.Device.Bind(block)
		if err != nil {
			t.Fatal(err)
		}
		block.Bound = []any{bound}
		b.Device.Run(0, drivertest.Command(kernels.Scaling(drivertest.Arg{}, drivertest.Arg{Memory: 1}, n, 3)), block, 0)
		for i, y := range b.Read(0, n) {
			if want := 3 * float32(i+1); y != want {
				t.Fatalf("%s: y[%d] = %v, want %v", c.name, i, y, want)
			}
		}
		b.Close()
	}
}

// TestHostMemoryThatIsNotImported has devices that cannot address the host, and a driver that refuses.
func TestHostMemoryThatIsNotImported(t *testing.T) {
	chunks := []runtime.Chunk{{Space: "gpu", Device: 0, Bytes: 64}, {Space: "host", Class: runtime.Activations, Device: -1, Bytes: 64}}
	lacking := func(attribute int32) cudasim.Config {
		c := cudasim.Default()
		c.Devices[0].Lacks = attribute
		return c
	}
	for _, c := range []struct {
		name     string
		config   cudasim.Config
		surveyed bool // the error comes before anything is allocated
		want     string
	}{
		{"mapping", lacking(19), true, "lacks the attribute CAN_MAP_HOST_MEMORY, by which it would address memory of the host: choose another device (--cuda-device), or give the target memory of its own"},
		{"registering", lacking(99), true, "lacks the attribute HOST_REGISTER_SUPPORTED, by which it would address memory of the host"},
		{"driver", refusing(801), false, "cannot import 64 bytes of the host: cuMemHostRegister: CUDA_ERROR_NOT_SUPPORTED: give the target memory of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, setting{config: c.config, device: []int64{64}})
			if err := b.Device.(runtime.Surveyor).Survey(chunks); (err != nil) != c.surveyed || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("Survey: %v", err)
			}
			b.Info.Memory = append(b.Info.Memory, 1)
			_, err := b.Device.Bind(&runtime.Block{Memory: append(b.Memory, drivertest.HostMemory(64))})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("Bind: %v, want %s", err, c.want)
			}
		})
	}
}

// TestSpacesOfOtherDevices surveys memory that is another device's.
func TestSpacesOfOtherDevices(t *testing.T) {
	b := open(t, setting{})
	err := b.Device.(runtime.Surveyor).Survey([]runtime.Chunk{{Space: "vram", Device: 1, Bytes: 64}})
	if err == nil || !strings.Contains(err.Error(), "does not address the space vram, which is memory of another device") {
		t.Error(err)
	}
}

// TestImportsAreFreed binds blocks to memory of the host. Once nothing refers to these, nothing of them is left.
func TestImportsAreFreed(t *testing.T) {
	b := open(t, setting{device: []int64{64}})
	b.Info.Memory = append(b.Info.Memory, 1)
	for range 5 {
		block := &runtime.Block{Memory: append(b.Memory[:1:1], drivertest.HostMemory(1<<20))}
		bound, err := b.Device.Bind(block)
		if err != nil {
			t.Fatal(err)
		}
		block.Bound = []any{bound}
		b.Device.Run(0, drivertest.Command(kernels.Scaling(drivertest.Arg{Memory: 1}, drivertest.Arg{}, 16, 2)), block, 0)
		b.Finish(0)
	}
	for range 1000 {
		if drivertest.Collect(); b.driver.Live()["registered"] == 0 {
			return
		}
	}
	t.Errorf("left: %v", b.driver.Live())
}

// TestDevicesShareRegistrations has two devices of a loader that address the same memory. It is registered once, until
// neither needs it.
func TestDevicesShareRegistrations(t *testing.T) {
	const n = 100
	d := cudasim.New(cudasim.Config{Devices: []cudasim.Device{{Name: "one", Memory: 1 << 30, Capability: 90}, {Name: "two", Memory: 1 << 30, Capability: 90}}})
	library().Use(d)
	l := new(cuda.Loader)
	l.Symbol, l.Device = library().Symbol, "0,1"
	host := drivertest.HostMemory(4 * n)
	copy(unsafe.Slice((*float32)(host.Base), n), drivertest.Ramp(n))
	double := drivertest.Command(kernels.Scaling(drivertest.Arg{}, drivertest.Arg{}, n, 2))
	var devices []runtime.Device
	for i, name := range []string{"cuda:0", "cuda:1"} {
		device, err := l.Open(&runtime.DeviceInfo{Name: name, Queues: []string{name}, Memory: []int{0}}, i, new(runtime.Supervisor))
		if err != nil {
			t.Fatal(err)
		}
		devices = append(devices, device)
		block := &runtime.Block{Memory: []runtime.Memory{host}, Bound: make([]any, 2)}
		if block.Bound[i], err = device.Bind(block); err != nil {
			t.Fatal(err)
		}
		device.Run(0, double, block, 0)
		var e runtime.Event
		device.Record(0, &e, 1)
		e.Await(1)
	}
	if got := unsafe.Slice((*float32)(host.Base), n)[n-1]; got != 4*n {
		t.Errorf("the last element is %v, want %v", got, 4*n)
	}
	for i, want := range []int{1, 0} {
		if n := d.Calls("cuMemHostRegister"); n != 1 {
			t.Errorf("the memory is registered %d times", n)
		}
		if err := devices[i].Close(); err != nil {
			t.Error(err)
		}
		if got := d.Live()["registered"]; got != want {
			t.Errorf("%d registered memories after %d devices are closed, want %d", got, i+1, want)
		}
	}
	if live := d.Live(); len(live) > 0 || len(d.Problems()) > 0 {
		t.Errorf("left %v, problems %q", live, d.Problems())
	}
}
