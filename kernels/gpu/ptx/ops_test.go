package ptx

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
)

// assumed is what kernels may assume about the machines of a target.
func assumed(t Target) gpu.Machine { return gpu.Machine{Caps: t.caps(), Lanes: warp} }

// Assumes implements gputest.Machine.
func (m *onPTX) Assumes() gpu.Machine { return assumed(m.target) }

// TestKernelsOfOpsAreRight checks the text of the kernels of all sample cases of ops.
func TestKernelsOfOpsAreRight(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range gputest.Cases() {
		call, err := irtest.Case(c.Op, c.Case, 1)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range call.Module.Func(call.Func).Nodes {
			for _, target := range Targets() {
				if n.Op != c.Op {
					continue
				}
				list, err := gpu.Lower(n, assumed(target))
				if err != nil && !errors.Is(err, gpu.ErrNoKernel) {
					t.Fatalf("%s: %v", c.Name, err)
				}
				for _, d := range list {
					d.Kernel.Name += "_of_op" // some ops are named like instructions
					if text := emit(t, d.Kernel, target); !seen[text] {
						seen[text] = true
						if err := Check(text); err != nil {
							t.Errorf("%s, %v: %v", c.Name, target, err)
						}
					}
				}
			}
		}
	}
	if len(seen) < 100 {
		t.Errorf("only %d kernels", len(seen))
	}
}

// TestProductsRun runs products of tiles and compares with package eval.
func TestProductsRun(t *testing.T) {
	tests := []struct {
		dt            dtype.DType
		rows, cols, k int64
		op            ir.Op
	}{{dtype.F16, 17, 16, 40, ir.OpMatMul}, {dtype.BF16, 65, 3, 32, ir.OpMatMul}, {dtype.Q8_0, 18, 33, 64, ir.OpMatMulSwiGLU}, {dtype.Q4_0, 3, 5, 32, ir.OpMatMul}}
	for seed, tt := range tests {
		rows := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 100})
		x := ir.CaseArg{Type: ir.Type{DType: dtype.F32, Shape: []ir.Dim{rows, ir.Const(tt.k)}}, Lo: -8, Hi: 8}
		w := ir.CaseArg{Type: ir.Type{DType: tt.dt, Shape: ir.Dims(tt.cols, tt.k)}, Lo: -8, Hi: 8, Weight: true}
		c := gputest.Case{Op: tt.op, Case: ir.Case{Args: []ir.CaseArg{x, w}, Sizes: map[string]int64{"tokens": tt.rows}}}
		if tt.op == ir.OpMatMulSwiGLU {
			c.Args, c.Attr = append(c.Args, w), &ir.MatMulSwiGLUAttr{To: dtype.F32}
		}
		for _, target := range Targets() {
			if testing.Short() && target != SM80 {
				continue
			}
			t.Run(fmt.Sprintf("%v_%v_%v", tt.op, tt.dt, target), func(t *testing.T) {
				call, err := irtest.Case(c.Op, c.Case, uint64(seed))
				if err != nil {
					t.Fatal(err)
				}
				on := &onPTX{t: t, target: target, seed: int64(seed)}
				if err := gputest.Compare(t.Context(), call, on, 2, gputest.Tolerance(c, on.Assumes())); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
