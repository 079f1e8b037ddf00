package compare

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/ir"
)

const text = `ggir 1
func @f(%x: f32[2,3]) -> f32[2,3] {
  %e = exp %x pos="first"
  %n = neg %e pos="second"
  %y = add %n, %x
  return %y
}
`

// steps writes what a program with these values has done, and reads it.
func steps(t *testing.T, values map[string][]float32) []*Step {
	t.Helper()
	arrays := make(map[string]array)
	for name, v := range values {
		arrays[name] = array{v, []int{2, 3}}
	}
	return written(t, arrays)
}

func module(t *testing.T) *ir.Module {
	t.Helper()
	return parse(t, text)
}

// right returns the values of @f for an x.
func right() map[string][]float32 {
	v := map[string][]float32{"x": {0, 1, -1, 0.5, 2, -2}}
	for _, x := range v["x"] {
		e := math.Exp(float64(x))
		v["e"], v["n"], v["y"] = append(v["e"], float32(e)), append(v["n"], float32(-e)), append(v["y"], float32(float64(x)-e))
	}
	return v
}

type none struct{}

func (none) Tensor(source, tensor string) (codegen.Rows, error) {
	return nil, fmt.Errorf("no %s of %s", tensor, source)
}

// TestFirstWrongValueIsNamed changes one element of one value, as a wrong kernel would, and expects that node and
// element.
func TestFirstWrongValueIsNamed(t *testing.T) {
	all := func(*ir.Node) bool { return true }
	for _, tt := range []struct {
		name, node string
		change     func(map[string][]float32)
		tolerance  float64
		index      []int
	}{
		{"right", "", func(map[string][]float32) {}, -1, nil},
		{"one rounding", "", func(v map[string][]float32) { v["e"][0] = math.Nextafter32(v["e"][0], 9) }, -1, nil},
		{"one rounding, exact", "e", func(v map[string][]float32) { v["e"][0] = math.Nextafter32(v["e"][0], 9) }, 0, []int{0, 0}},
		{"first", "e", func(v map[string][]float32) { v["e"][4] += 0.01 }, -1, []int{1, 1}},
		{"second", "n", func(v map[string][]float32) { v["n"][2], v["n"][5] = 7, 8 }, -1, []int{1, 2}},
		{"allowed", "", func(v map[string][]float32) { v["e"][4] += 0.01 }, 1e-2, nil},
		{"NaN", "y", func(v map[string][]float32) { v["y"][3] = float32(math.NaN()) }, 1e9, []int{1, 0}},
		{"missing", "y", func(v map[string][]float32) { delete(v, "n"); v["y"][0] = 5 }, -1, []int{0, 0}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			values := right()
			tt.change(values)
			m := module(t)
			o := Options{Nodes: m, Wanted: all, Tolerance: tt.tolerance}
			a := &Program{Name: "a", Module: m, Steps: steps(t, values)}
			rows, err := WithDefinition(t.Context(), a, Definition{m, none{}}, o)
			if err != nil {
				t.Fatal(err)
			}
			check(t, rows, tt.node, tt.index)
			b := &Program{Name: "b", Module: m, Steps: steps(t, right())}
			if rows, err = With(a, b, o); err != nil {
				t.Fatal(err)
			}
			check(t, rows, tt.node, tt.index)
		})
	}
}

func check(t *testing.T, rows []Row, node string, index []int) {
	t.Helper()
	if len(rows) != 3 {
		t.Errorf("%d rows, want 3", len(rows))
	}
	r := First(rows)
	switch {
	case r == nil && node != "":
		t.Errorf("nothing differs, want %s", node)
	case r != nil && (r.Node.Result().Name() != node || !slices.Equal(r.Index, index)):
		t.Errorf("%v differs at %v (%v and %v), want %s at %v", r.Node, r.Index, r.A, r.B, node, index)
	}
}

func TestProgramsNeedTheSameInputs(t *testing.T) {
	m := module(t)
	other := right()
	other["x"][0] = 3
	o := Options{Nodes: m, Wanted: func(*ir.Node) bool { return true }, Tolerance: -1}
	_, err := With(&Program{Name: "a", Module: m, Steps: steps(t, right())}, &Program{Name: "b", Module: m, Steps: steps(t, other)}, o)
	if err == nil || !strings.Contains(err.Error(), "different values of the input x") {
		t.Errorf("error %v", err)
	}
	if _, err = With(&Program{Name: "a", Module: m, Steps: steps(t, right())}, &Program{Name: "b", Module: m, Steps: nil}, o); err == nil {
		t.Error("no error for another number of steps")
	}
}

// TestTolerancesAddUp expects that of a value to grow along the way, and to be the largest of its operands'.
func TestTolerancesAddUp(t *testing.T) {
	tol := tolerances(module(t).Func("f"), nil)
	e, n, y := tol["e"], tol["n"], tol["y"]
	if e != ir.OpExp.Info().Tol.NMSE || !(n >= e) || !(y > n) || y > 1e-9 {
		t.Errorf("e %v, n %v, y %v", e, n, y)
	}
	if got := both(1e-4, 9e-4); math.Abs(got-16e-4) > 1e-12 {
		t.Errorf("both: %v, want 16e-4", got)
	}
}

func TestDamagedIndexesAreErrors(t *testing.T) {
	for _, index := range []string{"func\tf\t\n", "value\t\"x\"\n", "size\t\"n\"\tmany\n"} {
		dir := t.TempDir()
		if err := os.MkdirAll(filepath.Join(dir, "0"), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "0", "index.tsv"), []byte(index), 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadSteps(dir); err == nil {
			t.Errorf("%q: no error", index)
		}
	}
}

func TestPrintNamesWhatIsMissing(t *testing.T) {
	m := module(t)
	rows := []Row{
		{Func: "f", Node: m.Funcs[0].Nodes[0], NMSE: 1e-3, MaxAbs: 2, Tolerance: 1e-4},
		{Func: "f", Node: m.Funcs[0].Nodes[1], Missing: "a: a view of %x"},
	}
	var b bytes.Buffer
	if err := Print(&b, rows); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"%e ", "first ", "differs\n", "a: a view of %x\n", "1 values compared, 1 not there on both sides, 1 differ\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, b.String())
		}
	}
}
