package spirv

import (
	"errors"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// TestKernelsOfOpsAreValid validates the kernels of all sample cases of ops.
func TestKernelsOfOpsAreValid(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range gputest.Cases() {
		for _, k := range kernels(t, c) {
			module, err := Emit(k)
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if text := string(Bytes(module)); !seen[text] {
				seen[text] = true
				validate(t, module)
			}
		}
	}
	if len(seen) < 50 {
		t.Errorf("only %d kernels", len(seen))
	}
}

// kernels returns those of the nodes of a case; none if there is no kernel for one of its formats.
func kernels(t *testing.T, c gputest.Case) (out []*kir.Kernel) {
	call, err := irtest.Case(c.Op, c.Case, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range call.Module.Func(call.Func).Nodes {
		if n.Op != c.Op {
			continue
		}
		list, err := gpu.Lower(n, gpu.Machine{})
		if err != nil && !errors.Is(err, gpu.ErrNoKernel) {
			t.Fatalf("%s: %v", c.Name, err)
		}
		for _, d := range list {
			out = append(out, d.Kernel)
		}
	}
	return out
}
