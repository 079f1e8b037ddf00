//go:build linux

package cuda_test

import (
	"testing"

	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/runtime/gpu"
	"github.com/ggmlc/ggmlc/tests/cudasim"
	"github.com/ggmlc/ggmlc/tests/drivertest"
)

// stores returns a kernel for workgroups of so many threads: x[t] = number for each thread t. Argument: x.
func stores(threads int, number float32, target ptx.Target) string {
	b := kir.NewBuilder("stores", threads)
	b.Store(b.At(b.Arg("x", kir.U64), b.Thread(), 4), b.Float(number))
	k, err := b.Kernel()
	if err != nil {
		panic(err)
	}
	text, err := ptx.Emit(k, target)
	if err != nil {
		panic(err)
	}
	return text
}

// TestModulesForLaterDevices has a kernel with modules for three architectures, whose workgroups differ. The last one
// runs on devices of capability 9.0 only.
func TestModulesForLaterDevices(t *testing.T) {
	k := &gpu.Kernel{Name: "stores", Threads: 64, Args: 1, Code: stores(64, 70, ptx.SM70) + stores(32, 80, ptx.SM80) + stores(64, 90, ptx.SM90a)}
	for capability, want := range map[int][]float32{70: {70, 70}, 75: {70, 70}, 80: {80, 0}, 86: {80, 0}, 90: {90, 90}, 100: {80, 0}, 120: {80, 0}} {
		config := cudasim.Config{Devices: []cudasim.Device{{Name: "GPU", Memory: 1 << 30, Capability: capability}}}
		b := open(t, setting{config: config, device: []int64{4 * 64}})
		if err := b.Device.Clear(b.Memory[0]); err != nil {
			t.Fatal(err)
		}
		b.Device.Run(0, drivertest.Command(drivertest.Dispatch{Kernel: k, Groups: 1, Args: []drivertest.Arg{{}}}), b.Blocks[0], 0)
		if got := b.Read(0, 64); got[0] != want[0] || got[63] != want[1] {
			t.Errorf("capability %d: the first and the last thread store %v and %v, want %v", capability, got[0], got[63], want)
		}
		b.Close()
	}
}
