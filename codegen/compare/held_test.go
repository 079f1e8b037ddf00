package compare

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime"
)

// spread is @f of before on a group: %e on two devices, columns of %n, summands of %c, and %y. Each device has a %h of
// its own, and both have the columns 1 and 2 of %k.
const before = `ggir 1
func @f(%x: f32[2,4]) -> f32[2,4] {
  %e = exp %x
  %n = neg %e
  %c = abs %n
  %y = add %c, %x
  %h = tanh %n
  %k = sigmoid %n
  return %y
}
`

const spread = `ggir 1
func @f(%x: f32[2,4]) -> f32[2,4] {
  parts "e" mirrored ["e", "e@1"]
  parts "n" split(1, 2*(1 1)) ["n@0", "n@1"]
  parts "c" partial ["c@0", "c@1"]
  parts "h" held(1 1) ["h@0", "h@1"]
  parts "k" split(1, 3 3 at 0 1) ["k@0", "k@1"]
  parts "y" split(0, 1 1) ["y@0", "y@1"]
  parts "y" mirrored ["y", "y.all@1"]
  %e = exp %x
  %"n@0" = slice %e {axis=1, start=0, len=2}
  %"n@1" = slice %e {axis=1, start=2, len=2}
  %"c@0" = abs %e
  %"e@1" = exp %x
  %"c@1" = neg %e
  %y = add %"c@0", %"c@1"
  %"h@0" = exp %x
  %"h@1" = exp %x
  %"k@0" = slice %e {axis=1, start=0, len=3}
  %"k@1" = slice %e {axis=1, start=1, len=3}
  return %y
}
`

// array is a value of a step.
type array struct {
	data  []float32
	shape []int
}

// onDevices returns what the devices have where each element of e is 10 r + c, n, h and k have the same elements, c and
// y are twice it.
func onDevices() map[string]array {
	e := []float32{0, 1, 2, 3, 10, 11, 12, 13}
	twice := make([]float32, len(e))
	for i, v := range e {
		twice[i] = 2 * v
	}
	whole := []int{2, 4}
	return map[string]array{
		"e": {e, whole}, "e@1": {slices.Clone(e), whole},
		"n@0[:,0:1+2:3]": {[]float32{0, 2, 10, 12}, []int{2, 2}}, "n@1[:,1:2+3:4]": {[]float32{1, 3, 11, 13}, []int{2, 2}},
		"c@0[+]": {slices.Clone(e), whole}, "c@1[+]": {slices.Clone(e), whole},
		"h@0": {slices.Clone(e), whole}, "h@1": {slices.Clone(e), whole},
		"k@0[:,0:3]": {[]float32{0, 1, 2, 10, 11, 12}, []int{2, 3}}, "k@1[:,1:4]": {[]float32{1, 2, 3, 11, 12, 13}, []int{2, 3}},
		"y": {twice, whole},
	}
}

// onOne returns the same on one device.
func onOne() map[string]array {
	v := onDevices()
	return map[string]array{"e": v["e"], "n": v["e"], "h": v["e"], "k": v["e"], "c": v["y"], "y": v["y"]}
}

// TestPartsArePutTogether changes one element of what a device has, and expects the node, the element and the device.
func TestPartsArePutTogether(t *testing.T) {
	for _, tt := range []struct {
		value string
		at    int // in it
		node  string
		index []int
		on    string
	}{
		{"", 0, "", nil, ""},
		{"e", 5, "e", []int{1, 1}, ""},
		{"e@1", 5, "e", []int{1, 1}, "b"},
		{"n@0[:,0:1+2:3]", 2, "n", []int{1, 0}, "a"},
		{"n@1[:,1:2+3:4]", 1, "n", []int{0, 3}, "b"},
		{"c@0[+]", 5, "c", []int{1, 1}, ""},
		{"c@1[+]", 5, "c", []int{1, 1}, ""},
		{"y", 5, "y", []int{1, 1}, "b"},
		{"h@0", 5, "h", []int{1, 1}, "a"},
		{"h@1", 5, "h", []int{1, 1}, "b"},
		{"k@0[:,0:3]", 4, "k", []int{1, 1}, "a"}, // the other device has it too
		{"k@1[:,1:4]", 3, "k", []int{1, 1}, "b"},
		{"k@1[:,1:4]", 5, "k", []int{1, 3}, "b"},
	} {
		t.Run(tt.value, func(t *testing.T) {
			m, n := parse(t, before), parse(t, spread)
			values := onDevices()
			if a, ok := values[tt.value]; ok {
				a.data[tt.at]++
			}
			group := &Program{Name: "group", Module: n, Steps: written(t, values), Devices: []string{"a", "b"}}
			one := &Program{Name: "one", Module: m, Steps: written(t, onOne())}
			o := Options{Nodes: m, Wanted: func(*ir.Node) bool { return true }, Tolerance: 1e-9}
			rows, err := With(group, one, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(rows) != 6 || slices.ContainsFunc(rows, func(r Row) bool { return r.Missing != "" }) {
				t.Fatalf("not all nodes are compared: %+v", rows)
			}
			r := First(rows)
			if tt.node == "" {
				if r != nil {
					t.Errorf("%v differs", r.Node)
				}
				return
			}
			if r == nil || r.Node.Result().Name() != tt.node || r.OnA != tt.on || r.OnB != "" {
				t.Fatalf("%+v, want %s on %q", r, tt.node, tt.on)
			}
			back, err := With(one, group, o)
			if err != nil {
				t.Fatal(err)
			}
			if b := First(back); b == nil || b.OnA != "" || b.OnB != tt.on || !slices.Equal(b.Index, r.Index) {
				t.Errorf("the other way: %+v, want %s on %q", b, tt.node, tt.on)
			}
			if !slices.Equal(r.Index, tt.index) {
				t.Errorf("element %v, want %v", r.Index, tt.index)
			}
		})
	}
}

// TestMissingPartsAreNamed takes away what a device has, or gives it another shape.
func TestMissingPartsAreNamed(t *testing.T) {
	m, n := parse(t, before), parse(t, spread)
	o := Options{Nodes: m, Wanted: func(*ir.Node) bool { return true }, Tolerance: 1e-9}
	values := onDevices()
	delete(values, "n@1[:,1:2+3:4]")
	rows, err := With(&Program{Name: "group", Module: n, Steps: written(t, values)}, &Program{Name: "one", Module: m, Steps: written(t, onOne())}, o)
	if err != nil {
		t.Fatal(err)
	}
	if got := rows[1].Missing; got != `group: %"n@1": a view of %e` {
		t.Errorf("n is missing, as it is %q", got)
	}
	for _, name := range []string{"n@1[:,1:2+3:4]", "c@1[+]"} {
		values := onDevices()
		values[name] = array{[]float32{1, 2, 3}, []int{3, 1}}
		_, err := With(&Program{Name: "group", Module: n, Steps: written(t, values)}, &Program{Name: "one", Module: m, Steps: written(t, onOne())}, o)
		if err == nil || !strings.Contains(err.Error(), "[3 1]") {
			t.Errorf("%s of another shape: error %v", name, err)
		}
	}
}

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("f.ggir", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// written writes what a step of @f has computed, and reads it.
func written(t *testing.T, values map[string]array) []*Step {
	t.Helper()
	dir := t.TempDir()
	step := filepath.Join(dir, "000000")
	if err := os.Mkdir(step, 0o777); err != nil {
		t.Fatal(err)
	}
	var index strings.Builder
	index.WriteString("func\t\"f\"\t\n")
	for name, v := range values {
		file := strings.NewReplacer(":", "_", "+", "-").Replace(name) + ".npy"
		kind := "value"
		if name == "x" {
			kind = "input"
		}
		fmt.Fprintf(&index, "%s\t%q\t%s\n", kind, name, file)
		data := make([]byte, dtype.F32.Bytes(len(v.data)))
		if err := dtype.Encode(dtype.F32, data, v.data); err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(step, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := runtime.WriteNPY(f, runtime.Array{Type: dtype.F32, Shape: v.shape, Data: data}); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	if err := os.WriteFile(filepath.Join(step, "index.tsv"), []byte(index.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	steps, err := ReadSteps(dir)
	if err != nil {
		t.Fatal(err)
	}
	return steps
}
