package tune

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu"
	"github.com/ggmlc/ggmlc/passes/target"
	"github.com/ggmlc/ggmlc/runtime"
)

// model has products with weights of two dtypes, one shape twice.
func model(t *testing.T) *ir.Module {
	t.Helper()
	b := ir.NewBuilder("m")
	f := b.Func("f")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(1, 64)})
	for i, d := range []dtype.DType{dtype.F32, dtype.F32, dtype.Q8_0} {
		name := string(rune('a' + i))
		b.Weight(name, ir.Type{DType: d, Shape: ir.Dims(64, 64)}, nil)
		x = f.MatMul(x, f.Weight(name))
	}
	f.Return("y", x)
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestMeasureFillsAllFigures measures a small model and demands figures for each of its products.
func TestMeasureFillsAllFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for a second")
	}
	var said []string
	r, err := Measure(t.Context(), model(t), nil, func(what string) { said = append(said, what) })
	if err != nil {
		t.Fatal(err)
	}
	if len(said) != 3 || len(r.Products) != 2 || len(r.Products[0].Shapes) != 1 {
		t.Fatalf("measured %+v, said %q", r.Products, said)
	}
	m := r.Machine
	for name, v := range map[string]float64{"f32": m.F32, "int8": m.Int8, "read": m.Read, "one": m.ReadOne, "cache": m.ReadCache, "barrier": m.Barrier, "step": m.Handoff} {
		if !(v > 0) {
			t.Errorf("%s is %v", name, v)
		}
	}
	for _, p := range r.Products {
		if !(p.Ops > 1e6) || len(p.Many) == 0 || len(p.Single) == 0 {
			t.Errorf("%+v", p)
		}
	}
	for _, want := range []string{"# measured on ", "# f32 weights, 1 shapes: many rows by ", "# q8_0 weights"} {
		if !strings.Contains(r.Comments(), want) {
			t.Errorf("comments lack %q:\n%s", want, r.Comments())
		}
	}
	d := target.CPU()
	r.Apply(d)
	back, err := target.ParseDescriptor(d.String())
	if err != nil || back.String() != d.String() {
		t.Errorf("%v is read as %v: %v", d, back, err)
	}
}

func TestMeasureReportsWhenNothingCanBeMeasured(t *testing.T) {
	if _, err := Measure(t.Context(), model(t), []string{"sse2"}, nil); !errors.Is(err, ErrKernels) {
		t.Errorf("kernels that there are not: %v", err)
	}
}

func TestMeasureStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Measure(ctx, model(t), nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// TestApplyChoosesTheFastest looks at the choices for given figures.
func TestApplyChoosesTheFastest(t *testing.T) {
	all := choices(cpu.Active(), dtype.F32)
	if len(all) < 2 {
		t.Skip("one tile for f32 on this machine")
	}
	many := []Candidate{{all[0].N, 1}, {16, 0.99}}
	single := []Candidate{{all[0].V, 1}, {16, 0.8}, {32, 0.9}}
	r := &Result{
		Machine:  runtime.Machine{Workers: 3, Read: 5.4321e10, Barrier: 2e-7},
		Kernels:  cpu.Active(),
		Products: []Product{{Weight: dtype.F32, Ops: 1.234e11, Many: many, Single: single}},
	}
	d := target.CPU()
	before := d.Rates
	r.Apply(d)
	want := before
	want.Bandwidth, want.Barrier, want.FLOPs = 5.4e10, 4e-7, 1.2e11
	if d.Rates != want || d.Hint != 3 {
		t.Errorf("rates %+v, want %+v", d.Rates, want)
	}
	c := all[0]
	c.V = 16 // what gains a hundredth is not taken
	if len(d.Tiles) != 1 || d.Tiles[0] != c {
		t.Errorf("tiles %v, want %v", d.Tiles, c)
	}
}
