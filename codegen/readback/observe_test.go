package readback_test

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/readback"
)

// observedLayers has a value before a loop that roll makes, and one in it.
const observedLayers = `ggir 1
module "observed"
after import
props imported
func @f(%x: f32[4,8]) -> (y: f32[4,8]) {
  %e = exp %x pos="output"
  %a0 = neg %e
  %b0 = silu %a0 pos="output"
  %c0 = add %b0, %a0
  %a1 = neg %c0
  %b1 = silu %a1 pos="output"
  %c1 = add %b1, %a1
  %a2 = neg %c1
  %b2 = silu %a2 pos="output"
  %c2 = add %b2, %a2
  %a3 = neg %c2
  %b3 = silu %a3 pos="output"
  %c3 = add %b3, %a3
  return %c3
}
`

// TestHandOversAreCompared changes the table of observed values and the calls that hand them out.
func TestHandOversAreCompared(t *testing.T) {
	for name, set := range map[string]setting{
		"cpu":   {observe: "^output$"},
		"fakes": {observe: "^output$", targets: twoFakes, pins: ".=fake:0"},
	} {
		s := subjectOf(t, name, observedLayers, set)
		if err := s.check(s.files); err != nil {
			t.Errorf("%s: as it was emitted: %v", name, err)
		}
		for what, edit := range map[string][2]string{
			"name":           {`Names: +\[\]string\{"e"\}`, `Names: []string{"f"}`},
			"order of names": {`"b0", "b1"`, `"b1", "b0"`},
			"shape":          {`(Observed\{\{\n\s+Dims: +\[\]runtime\.Dim\{\{Const: )4`, `${1}5`},
			"table":          {`(?s)Observed: \[\]runtime\.Observed\{.*?\n\t\t\}\},?\n`, ``},
			"number":         {`w\.Observe\(a, 1, l`, `w.Observe(a, 0, l`},
			"iteration":      {`w\.Observe\(a, 1, l`, `w.Observe(a, 1, 0`},
			"address":        {`(w\.Observe\(a, 0, 0, unsafe\.Add\(\w+, )`, `${1}64+`},
			"call":           {`(?s)\tif w\.Part == 0 \{\n\t\tw\.Observe\(a, 0[^}]*\}\n`, ``},
			"every worker":   {`(?s)if w\.Part == 0 (\{\n\t\tw\.Observe\(a, 0[^}]*\})`, `${1}`},
			"twice":          {`(?s)(\tif w\.Part == 0 \{\n\t\tw\.Observe\(a, 0[^}]*\}\n)`, `${1}${1}`},
		} {
			find := regexp.MustCompile(edit[0])
			at := slices.IndexFunc(s.files, func(f readback.File) bool { return find.Match(f.Data) })
			if at < 0 {
				t.Errorf("%s: no file has the %s", name, what)
				continue
			}
			files := slices.Clone(s.files)
			files[at].Data = find.ReplaceAll(files[at].Data, []byte(edit[1]))
			if err := s.check(files); err == nil || bytes.Equal(files[at].Data, s.files[at].Data) {
				t.Errorf("%s: a changed %s is not noticed", name, what)
			}
		}
	}
}
