package readback_test

import (
	"bytes"
	"regexp"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/codegen/readback"
)

// observedTable matches the table of a function's observed values.
var observedTable = regexp.MustCompile(`(?s)Observed: \[\]runtime\.Tensor\{.*?Offset: +(\d+).*?\}\},?\n`)

// TestObservedValuesAreCompared changes where the program looks for a value that is observed, what it calls it, and
// drops the table.
func TestObservedValuesAreCompared(t *testing.T) {
	llamas := map[string]setting{"cpu": {observe: "^output$"}, "fakes": {observe: "^output$", targets: twoFakes, pins: ".=fake:0"}}
	for name, set := range llamas {
		s := subjectOf(t, name, `ggir 1
module "observed"
after import
props imported
func @f(%x: f32[4,8]) -> (y: f32[4,8]) {
  %e = exp %x pos="output"
  %n = neg %e pos="output"
  %y = sqrt %n
  return %y
}
`, set)
		at := slices.IndexFunc(s.files, func(f readback.File) bool { return observedTable.Match(f.Data) })
		if at < 0 {
			t.Fatalf("%s: no file has a table of observed values", name)
		}
		if err := s.check(s.files); err != nil {
			t.Errorf("%s: as it was emitted: %v", name, err)
		}
		data := s.files[at].Data
		offset := observedTable.FindSubmatchIndex(data)
		for what, changed := range map[string][]byte{
			"offset": slices.Concat(data[:offset[2]], []byte("7"), data[offset[3]:]),
			"name":   bytes.Replace(data, []byte(`"e"`), []byte(`"f"`), 1),
			"table":  slices.Concat(data[:offset[0]], data[offset[1]:]),
		} {
			files := slices.Clone(s.files)
			files[at].Data = changed
			if err := s.check(files); err == nil || bytes.Equal(changed, data) {
				t.Errorf("%s: a changed %s is not noticed", name, what)
			}
		}
	}
}
