package shard

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/tests/needtest"
)

var tracesDir = flag.String("traces", "", "folder of traces (*.jsonl.gz); by default ../shared/data/shard beside the repository")

// traces returns the files of traces. A relative folder is resolved in the test's folder first, then in the
// repository's.
func traces(t *testing.T) []string {
	dir := *tracesDir
	switch {
	case dir == "":
		dir = needtest.Data(t, "shard")
	case !filepath.IsAbs(dir):
		if _, err := os.Stat(dir); err != nil {
			dir = filepath.Join(needtest.Root(t), dir)
		}
	}
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("there are no traces (*.jsonl.gz) in %s", dir)
	}
	return files
}

// TestDecisionsAreThoseOfTheTraces derives every case from its inputs and compares all items.
func TestDecisionsAreThoseOfTheTraces(t *testing.T) {
	for _, path := range traces(t) {
		t.Run(filepath.Base(path), func(t *testing.T) {
			cases, err := Read(path)
			if err != nil {
				t.Fatal(err)
			}
			wrong, agreed := make(map[string]int), 0
			for _, c := range cases {
				for _, w := range c.wrongCuts() {
					t.Errorf("%s: %s", c.Name, w)
				}
				diffs := differences(t, c)
				if len(diffs) == 0 {
					agreed++
				}
				for item := range diffs {
					wrong[item]++
				}
			}
			for _, item := range Items {
				t.Logf("%s: %d of %d cases agree", item, len(cases)-wrong[item], len(cases))
			}
			t.Logf("%d of %d cases agree in everything", agreed, len(cases))
		})
	}
}

// differences reports where a case differs.
func differences(t *testing.T, c *Case) map[string]string {
	got, err := Derive(c)
	if err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return map[string]string{"states": err.Error()}
	}
	diffs := Differences(c, got)
	if len(diffs) > 0 {
		t.Errorf("%s: %s", c.Name, strings.Join(slices.Sorted(maps.Values(diffs)), "; "))
	}
	return diffs
}
