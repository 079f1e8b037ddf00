package vulkan_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/runtime"
	"github.com/ggmlc/ggmlc/runtime/vulkan"
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
	if n := vulkan.Imported(b.Device); n != 2 {
		t.Errorf("%d memories are imported for two blocks that use the same two", n)
	}
}

// TestWeightsOfTheHost reads weights that are imported, or copied where the driver refuses to import them.
func TestWeightsOfTheHost(t *testing.T) {
	const n = 1000
	for _, refused := range []bool{false, true} {
		b := open(t, setting{device: []int64{4 * n}})
		file := drivertest.HostMemory(4*n + 8)
		weights := runtime.HostMemory{Base: unsafe.Add(file.Base, 8), Size: 4 * n} // others are before them
		b.Memory = append(b.Memory, weights)
		copy(b.Host(1), drivertest.Ramp(n))
		if refused {
			vulkan.Refuse(b.Device)
		}
		if err := b.Device.(runtime.Sharer).Share(weights); err != nil {
			t.Fatal(err)
		}
		if got := vulkan.Imported(b.Device) == 0; got != refused {
			t.Errorf("the weights are copied: %v, want %v", got, refused)
		}
		b.Info.Memory = append(b.Info.Memory, 1)
		block := b.Bind()
		b.Device.Run(0, drivertest.Command(kernels.Scaling(drivertest.Arg{}, drivertest.Arg{Memory: 1}, n, 3)), block, 0)
		for i, y := range b.Read(0, n) {
			if want := 3 * float32(i+1); y != want {
				t.Fatalf("refused: %v: y[%d] = %v, want %v", refused, i, y, want)
			}
		}
		b.Close()
	}
}

// TestHostMemoryThatIsNotImported has devices that cannot address the host.
func TestHostMemoryThatIsNotImported(t *testing.T) {
	chunks := []runtime.Chunk{{Space: "gpu", Device: 0, Bytes: 64}, {Space: "host", Class: runtime.Activations, Device: -1, Bytes: 64}}
	for _, c := range []struct {
		name     string
		edit     func(runtime.Device)
		surveyed bool // the error comes before anything is allocated
		want     string
	}{
		{"extension", func(d runtime.Device) { vulkan.Lack(d, "VK_EXT_external_memory_host") }, true,
			"lacks the extension VK_EXT_external_memory_host, by which it would address memory of the host: choose another device (--vulkan-device), or give the target memory of its own"},
		{"driver", vulkan.Refuse, false, "cannot import 64 bytes of the host: vkGetMemoryHostPointerPropertiesEXT: VK_ERROR_INVALID_EXTERNAL_HANDLE: give the target memory of its own"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, setting{device: []int64{64}})
			c.edit(b.Device)
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

// TestSurvey asks for more memory than there is, and for that of another device.
func TestSurvey(t *testing.T) {
	b := open(t, setting{quiet: true})
	survey := func(chunks ...runtime.Chunk) string {
		if err := b.Device.(runtime.Surveyor).Survey(chunks); err != nil {
			return err.Error()
		}
		return ""
	}
	small, large := runtime.Chunk{Space: "gpu", Bytes: 1 << 20}, runtime.Chunk{Space: "gpu", Bytes: 1 << 49}
	if err := survey(small, small); err != "" {
		t.Error(err)
	}
	if at, err := b.Device.(runtime.Located).Locate(); err != nil || at.Kind != "vulkan" || at.Number != 0 || at.Left < 1<<20 || at.Left > 1<<49 {
		t.Errorf("%+v, error %v", at, err)
	}
	err := survey(large, small, large)
	for _, want := range []string{" bytes left of ", "1125899907891200 are needed", "--max-memory gpu="} {
		if !strings.Contains(err, want) {
			t.Errorf("error %q, want %q", err, want)
		}
	}
	other := runtime.Chunk{Space: "vram", Device: 1, Bytes: 64}
	if err := survey(other); !strings.Contains(err, "does not address the space vram, which is memory of another device") {
		t.Error(err)
	}
}

// TestImportsAreFreed binds blocks to memory of the host. Once nothing refers to these, nothing of them is left.
func TestImportsAreFreed(t *testing.T) {
	b := open(t, setting{device: []int64{64}})
	b.Info.Memory = append(b.Info.Memory, 1)
	before := vulkan.Live(b.Device)
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
		if drivertest.Collect(); vulkan.Live(b.Device) == before && vulkan.Imported(b.Device) == 0 {
			return
		}
	}
	t.Errorf("%d objects of the driver, %d before", vulkan.Live(b.Device), before)
}

// TestMemoryLargerThanAnAllocationIsNotImported names the limit once, and does not advise a limit of allocations: a
// program has the memory of the host in one piece.
func TestMemoryLargerThanAnAllocationIsNotImported(t *testing.T) {
	b := open(t, setting{device: []int64{64}})
	defer b.Close()
	h := drivertest.HostMemory(64)
	h.Size = 1 << 40
	err := vulkan.Import(b.Device, h)
	if err == nil || strings.Contains(err.Error(), "maxalloc") || !strings.Contains(err.Error(), "bytes at once, ") ||
		!strings.HasSuffix(err.Error(), "are needed: give the target memory of its own (leave out space=host)") {
		t.Errorf("error %v", err)
	}
}
