package gpu_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/eval"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/kernels/gpu/gputest"
	"github.com/ggmlc/ggmlc/kernels/gpu/interp"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// tileMachines are machines that multiply tiles.
var tileMachines = []gpu.Machine{
	{Caps: kir.CapSubgroup | kir.CapTile, Lanes: 32},
	{Caps: kir.CapSubgroup | kir.CapTile | kir.CapAsync, Lanes: 32},
	{Caps: kir.CapSubgroup | kir.CapTile | kir.CapAsync, Lanes: 16},
	{Caps: kir.CapSubgroup | kir.CapTile, Lanes: 64},
	{Caps: kir.CapSubgroup | kir.CapTile | kir.CapSlab, Lanes: 32},
	{Caps: kir.CapSubgroup | kir.CapTile | kir.CapAsync | kir.CapSlab, Lanes: 32},
}

// tileCase is a product of rows of k elements with matrices of cols rows.
type tileCase struct {
	dt            dtype.DType
	rows, cols, k int64
	form          string // plain, residual, swiglu or symbol
}

func (c tileCase) build() gputest.Case { return c.buildIn(dtype.Plain) }

// buildIn returns the case with matrices in a layout.
func (c tileCase) buildIn(l dtype.Layout) gputest.Case {
	operand := func(d dtype.DType, shape ...ir.Dim) ir.CaseArg {
		return ir.CaseArg{Type: ir.Type{DType: d, Shape: shape}, Lo: -8, Hi: 8}
	}
	rows := ir.Const(c.rows)
	if c.form == "symbol" {
		rows = ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 300})
	}
	w := operand(c.dt, ir.Const(c.cols), ir.Const(c.k))
	w.Weight, w.Type.Layout = true, l
	out := gputest.Case{Op: ir.OpMatMul, Name: fmt.Sprintf("%v.%v %dx%dx%d %s", c.dt, l, c.rows, c.cols, c.k, c.form)}
	out.Args, out.Sizes = []ir.CaseArg{operand(dtype.F32, rows, ir.Const(c.k)), w}, map[string]int64{"tokens": c.rows}
	switch c.form {
	case "residual":
		out.Args = append(out.Args, operand(dtype.F32, rows, ir.Const(c.cols)))
	case "swiglu":
		out.Op, out.Args, out.Attr = ir.OpMatMulSwiGLU, append(out.Args, w), &ir.MatMulSwiGLUAttr{To: dtype.F32}
	}
	return out
}

// TestTilesComputeWhatEvalDoes has extents beside the sizes of tiles and slices, all formats and forms.
func TestTilesComputeWhatEvalDoes(t *testing.T) {
	cases := []tileCase{
		{dtype.F16, 17, 16, 8, "plain"}, {dtype.F16, 64, 64, 32, "plain"}, {dtype.F16, 65, 65, 40, "residual"}, {dtype.F16, 33, 129, 96, "swiglu"},
		{dtype.BF16, 17, 3, 72, "plain"}, {dtype.BF16, 130, 33, 64, "residual"}, {dtype.BF16, 31, 33, 24, "swiglu"}, {dtype.F16, 18, 1, 104, "symbol"},
		{dtype.Q8_0, 17, 64, 32, "plain"}, {dtype.Q8_0, 63, 65, 96, "residual"}, {dtype.Q8_0, 20, 31, 64, "swiglu"}, {dtype.Q8_0, 66, 7, 288, "symbol"},
		{dtype.Q4_0, 17, 16, 64, "plain"}, {dtype.Q4_0, 65, 33, 96, "residual"}, {dtype.Q4_0, 40, 65, 32, "swiglu"}, {dtype.Q4_0, 16, 40, 64, "symbol"},
		{dtype.Q4_0, 1, 40, 64, "symbol"}, {dtype.F16, 3, 40, 64, "symbol"},
	}
	for n, c := range cases {
		for m, on := range tileMachines {
			if testing.Short() && (n+m)%2 == 1 {
				continue
			}
			layout := dtype.Plain
			if dtype.Planar.Holds(c.dt) && m%3 > 0 {
				layout = dtype.Planar
			}
			built := c.buildIn(layout)
			t.Run(fmt.Sprintf("%s/%d", built.Name, m), func(t *testing.T) {
				call, err := irtest.Case(built.Op, built.Case, uint64(n))
				if err != nil {
					t.Fatal(err)
				}
				if !usesTiles(t, call, on) {
					t.Error("the kernel has no tiles")
				}
				sim := simulated{interp.NewMemory(), interp.Options{Seed: uint64(n + m), Subgroup: on.Lanes}, on}
				if err := gputest.Compare(t.Context(), call, sim, 1+n%4, gputest.Tolerance(built, on)); err != nil {
					t.Error(err)
				}
			})
		}
	}
}

// usesTiles reports whether the kernel of the product multiplies tiles.
func usesTiles(t *testing.T, call *irtest.Call, on gpu.Machine) bool {
	t.Helper()
	for _, n := range call.Module.Func(call.Func).Nodes {
		if n.Op != ir.OpMatMul && n.Op != ir.OpMatMulSwiGLU {
			continue
		}
		list, err := gpu.Lower(n, on)
		if err != nil {
			t.Fatal(err)
		}
		return list[0].Kernel.Needs&kir.CapTile != 0
	}
	return false
}

// TestLargeElementsOfXStayFinite has elements that no f16 has. A NaN stays one.
func TestLargeElementsOfXStayFinite(t *testing.T) {
	built := tileCase{dtype.F16, 20, 16, 32, "plain"}.build()
	tests := []struct {
		x    float64
		want string
	}{{1e6, "element 0 of [20 16] is 65504, want 1e+06"}, {-7e4, "element 0 of [20 16] is -65504, want -70000"}, {65504, ""}, {math.NaN(), ""}}
	for _, tt := range tests {
		call, err := irtest.Case(built.Op, built.Case, 1)
		if err != nil {
			t.Fatal(err)
		}
		x, ones := make([]float64, 20*32), make([]float64, 16*32)
		x[0] = tt.x
		for i := range ones {
			ones[i] = 1
		}
		for name := range call.Env.Inputs {
			call.Env.Inputs[name] = eval.Of(x, 20, 32)
		}
		for name := range call.Env.Weights {
			call.Env.Weights[name] = eval.Of(ones, 16, 32)
		}
		on := tileMachines[0]
		sim := simulated{interp.NewMemory(), interp.Options{Subgroup: on.Lanes}, on}
		err = gputest.Compare(t.Context(), call, sim, 1, gputest.Tolerance(built, on))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%v: got %v, want %q", tt.x, err, tt.want)
		}
	}
}

// TestTilesAreForManyRows demands tiles where they are worth while and possible only.
func TestTilesAreForManyRows(t *testing.T) {
	tests := []struct {
		c    tileCase
		on   gpu.Machine
		want bool
	}{
		{tileCase{dtype.F16, 17, 64, 64, "plain"}, tileMachines[0], true},
		{tileCase{dtype.F16, 16, 64, 64, "plain"}, tileMachines[0], false},
		{tileCase{dtype.F16, 1, 64, 64, "symbol"}, tileMachines[0], true},
		{tileCase{dtype.F16, 64, 64, 64, "plain"}, gpu.Machine{Caps: kir.CapSubgroup, Lanes: 32}, false},
		{tileCase{dtype.F16, 64, 64, 64, "plain"}, gpu.Machine{Caps: kir.CapSubgroup | kir.CapTile}, false},
		{tileCase{dtype.F32, 64, 64, 64, "plain"}, tileMachines[0], false},
		{tileCase{dtype.F16, 64, 64, 63, "plain"}, tileMachines[0], false},
	}
	for _, tt := range tests {
		built := tt.c.build()
		call, err := irtest.Case(built.Op, built.Case, 1)
		if err != nil {
			t.Fatal(err)
		}
		if got := usesTiles(t, call, tt.on); got != tt.want {
			t.Errorf("%s on %+v: tiles %v", built.Name, tt.on, got)
		}
	}
}

// TestCopiesAreForUndecodedMatrices demands asynchronous copies of matrices of 16-bit floats, on machines that have
// them.
func TestCopiesAreForUndecodedMatrices(t *testing.T) {
	for _, dt := range []dtype.DType{dtype.F16, dtype.BF16, dtype.Q8_0} {
		for _, on := range tileMachines {
			built := tileCase{dt, 64, 64, 64, "plain"}.build()
			call, err := irtest.Case(built.Op, built.Case, 1)
			if err != nil {
				t.Fatal(err)
			}
			nodes := call.Module.Func(call.Func).Nodes
			list, err := gpu.Lower(nodes[slices.IndexFunc(nodes, func(n *ir.Node) bool { return n.Op == ir.OpMatMul })], on)
			if err != nil {
				t.Fatal(err)
			}
			want := on.Caps&kir.CapAsync != 0 && dt != dtype.Q8_0
			if got := list[0].Kernel.Needs&kir.CapAsync != 0; got != want {
				t.Errorf("%v, %+v: copies %v", dt, on, got)
			}
		}
	}
}
