package device

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	kernels "github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/spirv"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

// TestKernelsAreValidSPIRV runs spirv-val on the kernels of the cases of all ops, and of random ones, for Vulkan and for
// any GPU.
func TestKernelsAreValidSPIRV(t *testing.T) {
	tool := needtest.Tool(t, "spirv-val", "spirv-val")
	cases, random := gputest.Cases(), uint64(100)
	if testing.Short() {
		random = 10
	}
	for seed := range random {
		cases = append(cases, gputest.RandomCase(seed))
	}
	vulkan, _ := kernels.Of("vulkan")
	seen := make(map[string]bool)
	for _, c := range cases {
		call, err := irtest.Case(c.Op, c.Case, 1)
		if err != nil {
			t.Fatal(err)
		}
		nodes := call.Module.Funcs[0].Nodes
		for _, on := range []kernels.Machine{vulkan, {}} {
			list, _ := kernels.Lower(nodes[len(nodes)-1], on) // other tests want a kernel
			for _, d := range list {
				words, err := spirv.Emit(d.Kernel)
				if err != nil {
					t.Fatalf("%s: %v", c.Name, err)
				}
				code := spirv.Bytes(words)
				if seen[string(code)] {
					continue
				}
				seen[string(code)] = true
				validate := exec.Command(tool, "--target-env", "vulkan1.2", "-")
				validate.Stdin = bytes.NewReader(code)
				if out, err := validate.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", c.Name, err, out)
				}
			}
		}
	}
	t.Logf("%d modules", len(seen))
}
