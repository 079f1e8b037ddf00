package gpu_test

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
)

// TestAttentionsFitEveryDevice lowers attentions of known families' shapes, for prompts and for one token. The shared
// memory may not be more than Vulkan promises.
func TestAttentionsFitEveryDevice(t *testing.T) {
	const text = `ggir 1
props imported
symbol tokens 1 512
func @f(%%q: f32[%[1]v,%[2]d,%[4]d], %%k: f16[1,%[3]d,4096,%[4]d], %%s: i32[%[1]v], %%n: i32[1]) -> f32[%[1]v,%[2]d,%[4]d] {
  %%y = attention %%q, %%k, %%k, %%s, %%s, %%n {scale=0.1} : f32[%[1]v,%[2]d,%[4]d]
  return %%y
}
`
	for _, tokens := range []string{"1", "8", "tokens"} {
		for _, heads := range [][2]int{{32, 32}, {32, 8}, {24, 8}, {40, 8}, {71, 1}, {16, 1}} {
			for _, size := range []int{32, 64, 80, 128, 256, 512} {
				m := irtest.Parse(t, fmt.Sprintf(text, tokens, heads[0], heads[1], size))
				list, err := gpu.Lower(m.Funcs[0].Nodes[0], gpu.Machine{})
				if err != nil {
					t.Fatal(err)
				}
				if n := list[0].Kernel.SharedBytes(); n > 16<<10 {
					t.Errorf("%s tokens, heads %v of %d: %d bytes of shared memory", tokens, heads, size, n)
				}
			}
		}
	}
}
