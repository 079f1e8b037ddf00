package device

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
	"github.com/ggmlc/ggmlc/kernels/gpu/ptx"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// eachKernel calls visit for the kernels of the cases of all ops, and of random ones, for the given machines. The same
// text is visited once.
func eachKernel(t *testing.T, visit func(name string, k *kir.Kernel), machines ...kernels.Machine) {
	cases, random := gputest.Cases(), uint64(100)
	if testing.Short() {
		random = 10
	}
	for seed := range random {
		cases = append(cases, gputest.RandomCase(seed))
	}
	seen := make(map[string]bool)
	for _, c := range cases {
		call, err := irtest.Case(c.Op, c.Case, 1)
		if err != nil {
			t.Fatal(err)
		}
		nodes := call.Module.Funcs[0].Nodes
		for _, on := range machines {
			list, _ := kernels.Lower(nodes[len(nodes)-1], on) // other tests want a kernel
			for _, d := range list {
				if text := d.Kernel.String(); !seen[text] {
					seen[text] = true
					visit(c.Name, d.Kernel)
				}
			}
		}
	}
	t.Logf("%d kernels", len(seen))
}

// TestKernelsAreValidSPIRV runs spirv-val on kernels for Vulkan and for any GPU.
func TestKernelsAreValidSPIRV(t *testing.T) {
	tool := needtest.Tool(t, "spirv-val", "spirv-val")
	vulkan, _ := kernels.Of("vulkan")
	eachKernel(t, func(name string, k *kir.Kernel) {
		words, err := spirv.Emit(k)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		validate := exec.Command(tool, "--target-env", "vulkan1.2", "-")
		validate.Stdin = bytes.NewReader(spirv.Bytes(words))
		if out, err := validate.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}, vulkan, kernels.Machine{})
}

// TestKernelsAreValidPTX checks the PTX of kernels for GPUs of NVIDIA and for any GPU.
func TestKernelsAreValidPTX(t *testing.T) {
	nvidia := kernels.Machine{Caps: kir.CapSubgroup | kir.CapF16 | kir.CapDot4, Lanes: 32}
	eachKernel(t, func(name string, k *kir.Kernel) {
		named := *k
		named.Name += "_kernel" // some ops have names of instructions
		text, err := ptx.Emit(&named, ptx.SM70)
		if err == nil {
			err = ptx.Check(text)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}, nvidia, kernels.Machine{})
}
