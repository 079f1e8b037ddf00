package ir

import (
	"slices"
	"strings"
	"testing"
)

// written is a function of which two devices have parts.
const written = `ggir 1
props imported,shaped
weight "up@0" : f32[8,8]
weight "up@1" : f32[4,8]
func @f(%x: f32[3,8]) -> (y: f32[3,8]) {
  parts "a" split(1, 2*(3 1), 2 2) ["a@0", "a@1"]
  parts "b" split(1, 0 4) ["", "a@1"]
  parts "s" partial ["s@0", "a gone one"]
  parts "y" mirrored ["y", "y@1"]
  %"up@0" = weight "up@0" : f32[8,8]
  %"up@1" = weight "up@1" : f32[4,8]
  %"a@0" = matmul %x, %"up@0" : f32[3,8]
  %"a@1" = matmul %x, %"up@1" : f32[3,4]
  %y = exp %"a@0" : f32[3,8]
  return %y
}
`

func TestPartsAreReadBack(t *testing.T) {
	m, err := Parse("test", []byte(written))
	if err != nil {
		t.Fatal(err)
	}
	if err := Verify(m); err != nil {
		t.Error(err)
	}
	if got := m.String(); got != written {
		t.Errorf("got\n%swant\n%s", got, written)
	}
	other := m.Clone()
	if equal, diff := Equal(m, other); !equal {
		t.Error(diff)
	}
	other.Funcs[0].Parts[0].Names[0] = "y"
	other.Funcs[0].Parts[1].State.Segments[0].Counts[1] = 3
	if equal, diff := Equal(m, other); equal || !strings.Contains(diff, "parts") {
		t.Errorf("other parts: equal %v, %s", equal, diff)
	}
	if got := m.String(); got != written {
		t.Errorf("a change of the copy has changed the module:\n%s", got)
	}
}

func TestIndexesOfParts(t *testing.T) {
	m, err := Parse("test", []byte(written))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Funcs[0]
	index := f.PartIndexes()
	for name, want := range map[string]string{"a@0": "[:,0:3+4:7+8:10]", "a@1": "[:,3:4+7:8+10:12]", "s@0": "[+]", "y": "", "y@1": "", "up@0": ""} {
		if index[name] != want {
			t.Errorf("%s%s, want %s", name, index[name], want)
		}
	}
	if p := f.PartsOf("s"); len(p) != 1 || p[0].State.Kind != ShardPartial || f.PartsOf("x") != nil {
		t.Errorf("parts of s are %v, of x %v", p, f.PartsOf("x"))
	}
	if r := f.Parts[0].State.Ranges(1); !slices.Equal(r, [][2]int64{{3, 1}, {7, 1}, {10, 2}}) {
		t.Errorf("ranges %v", r)
	}
	if r := SplitOn(0, Segment{Times: 1 << 60, Counts: []int64{0, 0}}, Segment{Times: 1, Counts: []int64{1, 2}}).Ranges(1); !slices.Equal(r, [][2]int64{{1, 2}}) {
		t.Errorf("ranges %v after a segment without elements", r)
	}
	shared := SplitOn(0, Segment{Times: 1, Counts: []int64{4, 2}}, Segment{Times: 2, Counts: []int64{3, 3}, Starts: []int64{0, 1}})
	if r := shared.Ranges(1); !slices.Equal(r, [][2]int64{{4, 2}, {7, 3}, {11, 3}}) || shared.Index(0) != "[0:4+6:9+10:13]" {
		t.Errorf("ranges %v of elements in common, and %s", r, shared.Index(0))
	}
}

func TestWrongPartsAreReported(t *testing.T) {
	for _, tt := range []struct{ old, new, want string }{
		{`["a@0", "a@1"]`, `["a@0"]`, "the numbers of devices differ"},
		{`["a@0", "a@1"]`, `["a@0", ""]`, `device 1 has 4 elements and the value ""`},
		{`["", "a@1"]`, `["y", "a@1"]`, `device 0 has 0 elements and the value "y"`},
		{"2*(3 1), 2 2", "2*(3 1), 1 2", `device 0 has 7 elements, and %"a@0" is f32[3,8]`},
		{"split(1, 2*(3 1), 2 2)", "split(7, 2*(3 1), 2 2)", `device 0 has 8 elements, and %"a@0" is f32[3,8]`},
		{"2*(3 1), 2 2", "0*(3 1), 2 2", "a count is out of bounds"},
		{"2*(3 1), 2 2", "2*(3 1), 2", "the numbers of devices differ"},
		{`parts "s"`, `parts ""`, "there is no name"},
		{`parts "s" partial`, `parts "s" half`, "half where split is expected"},
		{`["s@0", "a gone one"]`, `[]`, "the name of a value in quotes"},
		{`["y", "y@1"]`, `["y", "y@1"] %y`, "%y"},
	} {
		if strings.Count(written, tt.old) != 1 {
			t.Fatalf("%q is not there once", tt.old)
		}
		m, err := Parse("test", []byte(strings.Replace(written, tt.old, tt.new, 1)))
		if err == nil {
			err = Verify(m)
		}
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.new, err, tt.want)
		}
	}
}
