package device

import (
	"errors"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestGPUsClaimWhatHasKernels compares the descriptors with the kernels on the cases of all ops: what they claim can be
// lowered, and for each op that they claim there is such a case.
func TestGPUsClaimWhatHasKernels(t *testing.T) {
	for _, d := range []*target.Descriptor{target.CUDA(), target.Vulkan()} {
		t.Run(d.Name, func(t *testing.T) { claims(t, d) })
	}
}

func claims(t *testing.T, d *target.Descriptor) {
	on, _ := gpu.Of(d.Kind)
	claimed, shown := make(map[ir.Op]bool), make(map[ir.Op]bool)
	for _, row := range d.Rows {
		claimed[row.Op] = true
	}
	for op := range ir.Ops {
		if op.Info().Cases == nil {
			continue
		}
		for c := range op.Info().Cases {
			call, err := irtest.Case(op, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			nodes := call.Module.Funcs[0].Nodes
			n := nodes[len(nodes)-1]
			claims := d.Reads(n) && !n.Is(ir.View)
			_, err = gpu.Lower(n, on)
			if err != nil && !errors.Is(err, gpu.ErrNoKernel) {
				t.Errorf("%v %s: %v", op, c.Name, err)
			}
			if claims && err != nil {
				t.Errorf("%v %s is claimed: %v", op, c.Name, err)
			}
			shown[op] = shown[op] || claims
		}
	}
	for op := range claimed {
		if !shown[op] {
			t.Errorf("%v is claimed, and no case shows it", op)
		}
	}
	t.Logf("%s claims %d of %d ops", d.Name, len(claimed), ir.NumOps-1)
}

// onlyCPU are the ops of the processor that GPUs need no kernels for.
var onlyCPU = map[ir.Op]string{
	ir.OpCopyExperts: "it is a transfer between spaces, which the runtime makes",
	ir.OpObserve:     "the host calls the observer",
	ir.OpPack:        "kernels of GPUs read plain weights",
}

// TestVulkanRunsWhatTheCPURuns demands a kernel for each op that the processor has one for.
func TestVulkanRunsWhatTheCPURuns(t *testing.T) {
	vulkan := target.Vulkan()
	for _, row := range target.CPU().Rows {
		switch has, reason := vulkan.Has(row.Op), onlyCPU[row.Op]; {
		case has && reason != "":
			t.Errorf("%v: vulkan has it: remove it from onlyCPU (%q)", row.Op, reason)
		case !has && reason == "" && gpu.Has(row.Op):
			t.Errorf("%v: there is a kernel that no target claims: add a row to gpuRows in passes/target/vulkan.go", row.Op)
		case !has && reason == "":
			t.Errorf("%v: add a kernel to lowerings in kernels/gpu/lower.go and a row to gpuRows in passes/target/vulkan.go, "+
				"or the reason why GPUs need none to onlyCPU", row.Op)
		}
	}
}
