package sched

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

var tracesDir = flag.String("traces", "", "folder of traces (*.jsonl.gz); by default ../shared/data/sched beside the repository")

// traces returns the folder of traces. A relative one is looked for in the test's folder,
// then in the repository's.
func traces(t *testing.T) string {
	dir := *tracesDir
	if dir == "" {
		return needtest.Data(t, "sched")
	}
	if _, err := os.Stat(dir); err != nil && !filepath.IsAbs(dir) {
		dir = filepath.Join(needtest.Root(t), dir)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Fatalf("-traces: %v", err)
	}
	return dir
}

// TestTraces runs the passes on every trace and compares all that its README calls equal.
func TestTraces(t *testing.T) {
	dir := traces(t)
	files, err := Files(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("there are no traces (*.jsonl.gz) in %s", dir)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) { traceFile(t, path) })
	}
}

// shortEvery thins the cases out under -short.
const shortEvery = 10

func traceFile(t *testing.T, path string) {
	cases, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	wrong := make(map[string]int)
	agreed, compared := 0, 0
	for i := 0; i < len(cases); {
		n := 1
		if i+1 < len(cases) && cases[i+1].Name == cases[i].Name+"#1" {
			n = 2
		}
		group := cases[i : i+n]
		i += n
		if testing.Short() && i%shortEvery != 0 {
			continue
		}
		for _, diffs := range compare(t, group) {
			compared++
			if len(diffs) == 0 {
				agreed++
			}
			for item := range diffs {
				wrong[item]++
			}
		}
	}
	for _, item := range Items {
		t.Logf("%s: %s: %d of %d cases agree", filepath.Base(path), item, compared-wrong[item], compared)
	}
	t.Logf("%s: %d of %d cases agree in everything", filepath.Base(path), agreed, compared)
}

// compare returns the differences of the cases of one scheduler.
func compare(t *testing.T, cases []*Case) []map[string]string {
	failed := slices.Repeat([]map[string]string{{"run": "failed"}}, len(cases))
	g, err := Build(cases...)
	if err != nil {
		t.Errorf("%s: %v", cases[0].Name, err)
		return failed
	}
	if err := g.Run(t.Context()); err != nil {
		t.Errorf("%s: %v", cases[0].Name, err)
		return failed
	}
	all := make([]map[string]string, len(cases))
	for i, c := range cases {
		all[i] = g.Differences(i)
		if len(all[i]) > 0 {
			texts := slices.Sorted(maps.Values(all[i]))
			t.Errorf("%s: %s", c.Name, strings.Join(texts, "; "))
		}
	}
	return all
}
