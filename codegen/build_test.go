package codegen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/runtime"
)

func TestWeightsReplaceOnlyWeights(t *testing.T) {
	trailer := func(b []byte, offset, before int64) []byte {
		return runtime.AppendTrailer(b, runtime.Trailer{Offset: offset, Length: int64(len(b)) - offset, Before: before})
	}
	one := trailer([]byte("weights"), 0, 0)
	filled := append(one, make([]byte, runtime.WeightsBoundary-len(one)+7)...)
	two := trailer(filled, runtime.WeightsBoundary, int64(len(one)))
	for _, c := range []struct {
		name string
		data []byte
		ok   bool
	}{
		{"empty", nil, true},
		{"weights", one, true},
		{"weights of a program and its fallback", two, true},
		{"text", []byte("the only copy of a text\n"), false},
		{"text longer than a trailer", make([]byte, 4096), false},
		{"weights with more after them", append(one, 0), false},
		{"weights of which the beginning is gone", one[1:], false},
		{"executable with weights", trailer(make([]byte, runtime.WeightsBoundary+7), runtime.WeightsBoundary, 0), false},
	} {
		path := filepath.Join(t.TempDir(), "w.bin")
		if err := os.WriteFile(path, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := WeightsWritable(path); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := WeightsWritable(filepath.Join(t.TempDir(), "gone")); err != nil {
		t.Errorf("no file: %v", err)
	}
	if WeightsWritable(t.TempDir()) == nil {
		t.Error("a folder may be replaced")
	}
}

// TestTempFolderTellsWhatToSet has no folder for temporary files.
func TestTempFolderTellsWhatToSet(t *testing.T) {
	none := filepath.Join(t.TempDir(), "none")
	for _, name := range []string{"TMPDIR", "TMP"} {
		t.Setenv(name, none)
	}
	if dir, err := TempFolder("x"); err == nil || !strings.Contains(err.Error(), none) || !strings.Contains(err.Error(), "let TMPDIR") {
		t.Errorf("folder %q, error %v", dir, err)
	}
}
