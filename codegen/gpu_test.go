package codegen

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestSlabsAreAskedFor compares the modules that a program has for CUDA: those for sm_90a are of kernels that differ,
// on targets with mma=wgmma only.
func TestSlabsAreAskedFor(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
weight "w" : f16[64,64]
func @f(%x: f32[32,64]) -> f32[32,64] {
  %w = weight "w" : f16[64,64]
  %y = matmul %x, %w : f32[32,64]
  %z = relu %y : f32[32,64]
  return %z
}
`)
	product, relu := m.Funcs[0].Nodes[1], m.Funcs[0].Nodes[2]
	for mma, want := range map[string]string{
		target.MMASync:  "sm_70 sm_80",
		target.MMAWgmma: "sm_70 sm_80 sm_90a",
	} {
		d := target.CUDA()
		d.MMA = mma
		if got := architectures(assembled(lowered(product, d), gpuKinds["cuda"])); got != want {
			t.Errorf("mma=%s: the product has modules for %s, want %s", mma, got, want)
		}
		if got := architectures(assembled(lowered(relu, d), gpuKinds["cuda"])); got != "sm_70" {
			t.Errorf("mma=%s: relu has modules for %s", mma, got)
		}
	}
}

// architectures returns what modules of PTX are for.
func architectures(code []byte) string {
	var list []string
	for line := range strings.Lines(string(code)) {
		if a, ok := strings.CutPrefix(line, ".target "); ok {
			list = append(list, strings.TrimSpace(a))
		}
	}
	return strings.Join(list, " ")
}
