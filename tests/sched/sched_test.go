package sched

import (
	"flag"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/passes/check"
	"github.com/ggmlc/ggmlc/tests/needtest"
)

var tracesDir = flag.String("traces", "", "folder of traces (*.jsonl.gz); by default ../shared/data/sched beside the repository")

// traces returns the folder of traces. A relative path is resolved in the test's folder first, then in the
// repository's.
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

// TestDecisionsAreThoseOfTheTraces runs the passes on every trace and compares all items that the README calls equal.
func TestDecisionsAreThoseOfTheTraces(t *testing.T) {
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

// shortEvery is the interval of the cases that run under -short.
const shortEvery = 10

// groups returns the cases of a file, grouped by scheduler, and only some of them under -short.
func groups(t *testing.T, path string) [][]*Case {
	cases, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var list [][]*Case
	for i, c := range cases {
		if n := len(list); n > 0 && c.Name == list[n-1][0].Name+"#1" {
			list[n-1] = append(list[n-1], c)
			continue
		}
		list = append(list, cases[i:i+1:i+1])
	}
	if testing.Short() {
		every := slices.Collect(slices.Chunk(list, shortEvery))
		list = nil
		for _, chunk := range every {
			list = append(list, chunk[0])
		}
	}
	return list
}

func traceFile(t *testing.T, path string) {
	count := tally{file: filepath.Base(path), wrong: make(map[string]int)}
	for _, group := range groups(t, path) {
		g, err := Build(group...)
		if err == nil {
			err = g.Run(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", group[0].Name, err)
			count.compared += len(group)
			continue
		}
		for i := range group {
			count.decisions(t, g, i)
			count.findings(t, g, i)
		}
	}
	count.report(t)
}

// tally counts the cases of a file.
type tally struct {
	file             string
	compared, agreed int
	wrong            map[string]int // cases, by item

	unreachable, misaligned, noKernel int // findings
	overlapping                       []string
}

func (c *tally) decisions(t *testing.T, g *Graph, i int) {
	c.compared++
	diffs := g.Differences(i)
	if len(diffs) == 0 {
		c.agreed++
		return
	}
	for item := range diffs {
		c.wrong[item]++
	}
	t.Errorf("%s: %s", g.Cases[i].Name, strings.Join(slices.Sorted(maps.Values(diffs)), "; "))
}

// findings checks that passes/check finds overlaps at ggml's addresses exactly where overlap.go finds them, and that
// these are the cases that the README next to the traces names. Its other findings follow from overlaps, with two
// exceptions: values that cannot be addressed, which are compared case by case, and a user's pin to a backend without
// a kernel.
func (c *tally) findings(t *testing.T, g *Graph, i int) {
	name := g.Cases[i].Name
	by := make(map[string][]*check.Violation)
	for _, v := range g.Found(i) {
		by[v.Rule] = append(by[v.Rule], v)
	}
	overlaps := len(by[check.RuleOverlap]) > 0
	if overlaps {
		c.overlapping = append(c.overlapping, name)
	}
	if want := g.Cases[i].overlaps(); overlaps != want {
		t.Errorf("%s: overlaps found: %v, at the addresses of the trace there are some: %v", name, overlaps, want)
	}
	if want := slices.Contains(overlaps2024, name) && strings.Contains(c.file, "2024"); *tracesDir == "" && overlaps != want {
		t.Errorf("%s: overlaps found: %v, the README says %v", name, overlaps, want)
	}
	c.unreachable += len(by[check.RuleReach])
	c.misaligned += len(by[check.RuleAlign])
	c.noKernel += len(by[check.RuleKernel])
	for rule, vs := range by {
		switch {
		case rule == check.RuleReach || rule == check.RuleOverlap:
		case rule == check.RuleKernel && !slices.ContainsFunc(vs, func(v *check.Violation) bool { return !g.pinned(i, v.Nodes[0]) }):
		case overlaps && rule == check.RuleReads:
		case rule == check.RuleAlign && strings.HasPrefix(g.Cases[i].Rules, "ggml-2024"): // it frees bytes into the wrong buffer
		default:
			t.Errorf("%s: %v", name, vs[0])
		}
	}
}

func (c *tally) report(t *testing.T) {
	for _, item := range Items {
		t.Logf("%s: %s: %d of %d cases agree", c.file, item, c.compared-c.wrong[item], c.compared)
	}
	t.Logf("%s: %d of %d cases agree in everything", c.file, c.agreed, c.compared)
	t.Logf("%s: check at ggml's addresses: %d unreachable, overlaps in %d cases (%s), there %d addresses out of alignment; %d nodes pinned to where there is no kernel",
		c.file, c.unreachable, len(c.overlapping), strings.Join(c.overlapping, " "), c.misaligned, c.noKernel)
}

// overlaps2024 are the cases of the rules of 2024 in which live tensors overlap, according to the README next to the
// traces. Under those of 2026 there are none.
var overlaps2024 = []string{
	"random-gpu-s21", "random-gpu-s51", "random-gpu2-s52", "random-gpu2-s52#1", "random-gpu2-s82", "random-gpu2-s152", "random-gpu2-s242",
	"random-gpu3npu-s45", "random-gpu3npu-s195", "random-gpu3npu-s325", "random-gpu3npu-s415", "random-gpu3npu-s415#1",
	"random-gpu8-s438", "random-gpu8-s438#1", "random-igpu-s24", "random-igpu-s24#1", "random-igpu-s304", "random-igpu-s304#1",
	"random-npu-s73", "random-peer-s217", "random-peer-s247", "random-peer-s297", "random-types-s379",
}
