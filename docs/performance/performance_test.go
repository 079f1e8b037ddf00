package main

import (
	"context"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPageIsCurrent checks that the page and its picture are what the files of results give.
func TestPageIsCurrent(t *testing.T) {
	docs := t.TempDir()
	if err := os.Mkdir(filepath.Join(docs, "performance"), 0o777); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../performance.md")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(docs, "performance.md"), page, 0o666); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("results*.json")
	if err != nil || len(files) < 1 {
		t.Fatalf("no results: %v", err)
	}
	for _, name := range files {
		r, err := readResults(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Runs) == 0 {
			t.Fatalf("%s has no runs: its part of the page would be empty", name)
		}
		if err := writePage(docs, r); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"performance.md", "performance/roofline.svg"} {
		got, err1 := os.ReadFile(filepath.Join("..", name))
		want, err2 := os.ReadFile(filepath.Join(docs, name))
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Errorf("docs/%s is not what the results give: go -C docs/performance run . -page, with -results (%v, %v)", name, err1, err2)
		}
	}
}

func TestInsert(t *testing.T) {
	const mark = "<!-- begin -->"
	for _, c := range []struct{ page, want string }{
		{"", mark + "\n\nnew\n" + endMark + "\n"},
		{"# By hand\n", "# By hand\n\n\n" + mark + "\n\nnew\n" + endMark + "\n"},
		{"a\n" + mark + "\nold\n" + endMark + "\nb\n", "a\n" + mark + "\n\nnew\n" + endMark + "\nb\n"},
	} {
		got, err := insert(c.page, mark, "new")
		if err != nil || got != c.want {
			t.Errorf("insert into %q: %q, %v", c.page, got, err)
		}
		if again, err := insert(got, mark, "new"); err != nil || again != got {
			t.Errorf("insert into %q twice: %q, %v", c.page, again, err)
		}
	}
	if _, err := insert("a\n"+mark+"\nold\n", mark, "new"); err == nil {
		t.Error("a page whose generated part has no end is taken")
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want string
	}{{nil, "-"}, {[]float64{1.234}, "1.23"}, {[]float64{3, 1, 2}, "2.00 (1.00 to 3.00)"}, {[]float64{400, 10.04}, "205 (10.0 to 400)"}} {
		if got := show(spreadOf(c.v)); got != c.want {
			t.Errorf("%v: %s, want %s", c.v, got, c.want)
		}
	}
}

// sample is two rounds, the first of two turns, of two rows, one of which has its peers' figures from the other.
func sample() *results {
	return &results{Runs: []measured{
		{"F16", 1, 1, ours, map[string]float64{"tg64": 20, "tg64 share": 0.8, "pp512": 300}},
		{"F16", 1, 1, ik, map[string]float64{"tg64": 10}},
		{"F16", 1, 1, llama, map[string]float64{"tg64": 16}},
		{"F16", 1, 2, ours, map[string]float64{"tg64": 30, "tg64 share": 0.9, "pp512": 200}},
		{"F16", 1, 2, ik, map[string]float64{"tg64": 10}},
		{"F16 as BF16", 1, 2, ours, map[string]float64{"tg64": 25}},
		{"F16", 1, 0, ours, map[string]float64{"pp4096": 150, ratioOf("pp4096", "pp512"): 0.7}},
		{"F16", 2, 0, ours, map[string]float64{"pp4096": 160, "pp512": 200}},
		{"F16 as BF16", 2, 1, ours, map[string]float64{"tg64": 50}},
	}}
}

func TestRatios(t *testing.T) {
	r := sample()
	for _, c := range []struct {
		row, figure, against string
		want                 []float64
	}{
		{"F16", "tg64", ik, []float64{2, 3}},
		{"F16", "tg64", llama, []float64{1.25}},
		{"F16", "tg64", better, []float64{1.25, 3}},
		{"F16", "tg64", limit, []float64{0.8, 0.9}},
		{"F16", "tg64", "pp512", []float64{20. / 300, 30. / 200}},
		{"F16", "tg64", "", []float64{20, 30}},
		{"F16", "pp4096", "pp512", []float64{0.7, 0.8}},
		{"F16 as BF16", "tg64", ik, []float64{2.5}},
		{"BF16", "tg64", ik, nil},
	} {
		got := r.ratios(c.row, c.figure, c.against)
		same := len(got) == len(c.want)
		for i := range min(len(got), len(c.want)) {
			same = same && math.Abs(got[i]-c.want[i]) < 1e-9
		}
		if !same {
			t.Errorf("%s %s against %q: %v, want %v", c.row, c.figure, c.against, got, c.want)
		}
	}
}

func TestGoals(t *testing.T) {
	for _, c := range []struct {
		g      goal
		median float64
		want   string
	}{
		{goal{least: 1.5}, 1.5, "met"}, {goal{least: 1.5}, 1.49, "**not met**"}, {goal{most: 50}, 49, "met"}, {goal{most: 50}, 51, "**not met**"},
	} {
		if got := c.g.verdict(spread{median: c.median}); got != c.want {
			t.Errorf("%v at %v: %s", c.g, c.median, got)
		}
	}
	for _, g := range goals {
		for _, name := range g.rows {
			if rowNamed(name) == nil {
				t.Errorf("a goal is about row %q, which does not exist", name)
			}
		}
	}
	if page := pageOf(sample()); !strings.Contains(page, "| F16, tg64 | 1.00 of the better peer | 2.12 (1.25 to 3.00) | met |") {
		t.Errorf("the page lacks a goal:\n%s", page)
	}
}

func TestReadProfile(t *testing.T) {
	got, err := readProfile([]byte(`[
		{"tid":0,"name":"barrier","dur":5},
		{"tid":0,"name":"decode gather %v7","dur":72},
		{"tid":0,"name":"decode.loop0 matmul %v11","dur":360},
		{"tid":1,"name":"prefill.loop0 rope %v11","dur":1024},
		{"tid":0,"name":"barrier","dur":144},
		{"tid":0,"name":"decode.loop0 matmul %v12","dur":144}]`))
	want := []slice{
		{"decode", "matmul", 0.7, 7}, {"decode", "wait", 0.2, 2}, {"decode", "gather", 0.1, 1},
		{"prefill", "rope", 1, 1},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, %v; want %v", got, err, want)
	}
	if _, err := readProfile([]byte("[{")); err == nil {
		t.Error("half a trace is taken")
	}
}

func TestBusyTime(t *testing.T) {
	if got := parseBusy("cpu  100 20 30 4000 500 6 7 8 99 0"); got != 171*tick {
		t.Errorf("busy for %v, want %v: idle, waiting and guests do not count", got, 171*tick)
	}
	if got := parseBusy("cpu  x"); got != 0 {
		t.Errorf("%v from a line without numbers", got)
	}
	if got := othersShare(time.Second, tick, 2*tick); got != 0 {
		t.Errorf("others used %v in two ticks", got)
	}
	if got := othersShare(time.Second, 2*time.Second, time.Second); got != 0 {
		t.Errorf("others used %v where we used more than all", got)
	}
}

// script writes an executable shell script.
func script(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text), 0o777); err != nil {
		t.Fatal(err)
	}
}

// TestGroups has a row next to the one whose peers it shares, wherever that is, unless that is
// not measured.
func TestGroups(t *testing.T) {
	a, b, likeA, likeC := &row{name: "a"}, &row{name: "b"}, &row{name: "a2", peersOf: "a"}, &row{name: "c2", peersOf: "c"}
	got := groups([]*row{a, b, likeA, likeC})
	if want := [][]*row{{a, likeA}, {b}, {likeC}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s := &session{options: &options{ik: "ik", ikAVX2: "ik2", ikAVXVNNI: "ik3", llama: "llama"}}
	for i, want := range []int{4, 3, 1} {
		if n := len(s.contestants(got[i])); n != want {
			t.Errorf("%d programs in group %d, want %d", n, i, want)
		}
	}
	for cpu, want := range map[string]string{"avx2": "ik2", "avxvnni": "ik3"} {
		if got := s.contestants([]*row{{name: "d", cpu: cpu}}); len(got) != 2 || got[1].peer.path != want {
			t.Errorf("a row of %s runs beside %v, want the peer that was built for it alone", cpu, got)
		}
	}
}

// TestGroupIsMeasuredOnce runs a row with scripts for programs, is interrupted, and continues.
func TestGroupIsMeasuredOnce(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("skip: no /bin/sh")
	}
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	w := &row{name: "toy", prompts: []int{128, 512}, generate: 64, repeats: 1, long: true, peersLong: true, disturbed: true, start: true}
	several := &row{name: "several", sequences: 8, alone: true}
	r := &results{path: filepath.Join(dir, "results.json"), Commit: "c0"}
	s := &session{options: &options{work: dir, small: "toy.gguf", threads: 2, turns: 2, quiet: 1, ik: filepath.Join(dir, "ik")}, results: r, only: regexp.MustCompile("")}
	script(t, s.program(w), "echo ours $* >>"+log+toyBench)
	script(t, s.program(several), "echo several $* >>"+log+toyBench)
	script(t, s.ik, "echo peer $* >>"+log+`
echo "graph nodes  = 373" >&2
case "$*" in
*4096*) echo '[{"build_commit":"abc","n_prompt":4096,"n_gen":0,"avg_ts":300}]';;
*128*) echo '[{"build_commit":"abc","n_prompt":128,"n_gen":0,"avg_ts":500}]';;
*) echo '[{"build_commit":"abc","n_prompt":0,"n_gen":64,"avg_ts":40}]';;
esac
`)
	for range 2 {
		for _, w := range []*row{w, several} {
			if err := s.group(context.Background(), []*row{w}, 1); err != nil {
				t.Fatal(err)
			}
		}
		again, err := readResults(r.path)
		if err != nil {
			t.Fatal(err)
		}
		s.results = again
	}
	checkToy(t, s.results)
	want := 3 + 1 + 2 + 2*startTurns // turns, plan, long
	if _, err := exec.LookPath("taskset"); err == nil {
		want += 2
	}
	calls, err := os.ReadFile(log)
	if err != nil || strings.Count(string(calls), "ours") != want || strings.Count(string(calls), "peer") != 5 || strings.Count(string(calls), "several") != 2 {
		t.Errorf("programs ran otherwise than once for each figure (%v):\n%s", err, calls)
	}
}

// toyBench answers as an emitted program does; prompts of one length are those of starts.
const toyBench = `
one='"prefill_tok_s":1000,"decode_tok_s":50,"prefill_share":0.5,"decode_share":0.9,"peak_gop_s":2000,"read_gb_s":60'
case "$*" in
*"--sequences 8"*) echo '{'$one',"sequences":[{"n":1,"tok_s":50,"ratio":1},{"n":8,"tok_s":200,"ratio":4.1}]}';;
*"-p 512,4096"*) echo '{'$one',"prompts":[{"tokens":512,"tok_s":1000,"ratio":1},{"tokens":4096,"tok_s":900,"ratio":0.8}]}';;
*"-p 128,512"*) echo '{'$one',"prompts":[{"tokens":128,"tok_s":1000,"share":0.5},{"tokens":512,"tok_s":1100,"share":0.6}]}';;
*"-d 16,4000"*) echo '{'$one',"depths":[{"depth":16,"tok_s":50,"ratio":1},{"depth":4000,"tok_s":40,"ratio":0.9}]}';;
bench*) echo '{'$one'}';;
plan*) echo '{"functions":[{"name":"prefill","barriers":7},{"name":"decode","barriers":65}]}';;
--tokens*) echo '{"id":1}';;
esac
`

// checkToy compares what was saved with what the scripts print.
func checkToy(t *testing.T, r *results) {
	t.Helper()
	for _, c := range []struct {
		turn        int
		who, figure string
		want        float64
	}{
		{1, ours, "tg64", 50}, {2, ours, "tg64 share", 0.9}, {2, ours, figRead, 60}, {3, ours, "pp512", 1100}, {3, ours, "pp512 share", 0.6}, {3, ours, figPeak, 2000},
		{0, ours, "pp4096", 900}, {0, ours, "tg at 4000", 40}, {0, ours, figSteps, 65},
		{1, ik, "tg64", 40}, {3, ik, "pp128", 500}, {0, ik, "pp4096", 300}, {0, ik, figNodes, 373},
	} {
		if got, ok := r.value("toy", 1, c.turn, c.who, c.figure); !ok || got != c.want {
			t.Errorf("turn %d, %s, %s: %v (%v), want %v", c.turn, c.who, c.figure, got, ok, c.want)
		}
	}
	for _, c := range []struct {
		figure, against string
		want            []float64
	}{
		{"pp4096", "pp512", []float64{0.8}}, {"tg at 4000", "tg at 16", []float64{0.9}}, {"tg64", ik, []float64{1.25, 1.25}}, {"pp128", ik, []float64{2}},
	} {
		if got := r.ratios("toy", c.figure, c.against); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s against %s: %v, want %v", c.figure, c.against, got, c.want)
		}
	}
	for figure, want := range map[string]float64{"tg of 1": 50, "tg of 8": 200, ratioOf("tg of 8", "tg of 1"): 4.1} {
		if got, ok := r.value("several", 1, 0, ours, figure); !ok || got != want {
			t.Errorf("sequences, %s: %v (%v), want %v", figure, got, ok, want)
		}
	}
	first, _ := r.value("toy", 1, 0, ours, figFirst)
	if start, ok := r.value("toy", 1, 0, ours, figStart); !ok || first <= 0 || math.Abs(first-start-128) > 1e-6 {
		t.Errorf("the first token took %v ms, and %v less the prompt's 128 ms", first, start)
	}
	if got := r.Peers[ik]; got != "abc -rtr 1 -fa 1" {
		t.Errorf("the peer is %q", got)
	}
}

func TestFirstOutputIsTimed(t *testing.T) {
	p, err := runOnce(context.Background(), "/bin/sh", "-c", "echo a; sleep 0.2; echo b")
	if err != nil {
		t.Skip("skip: no /bin/sh: ", err)
	}
	if string(p.out) != "a\nb\n" || p.first <= 0 || p.wall-p.first < 150*time.Millisecond {
		t.Errorf("%q, the first byte after %v of %v", p.out, p.first, p.wall)
	}
	if _, err := runOnce(context.Background(), "/bin/sh", "-c", "true"); err == nil {
		t.Error("a program that prints nothing is taken")
	}
}

func TestParse(t *testing.T) {
	for _, args := range [][]string{{"-rounds", "0"}, {"-turns", "0"}, {"-threads", "0"}, {"model.gguf"}, {"-results", "result.json"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%v is taken", args)
		}
	}
}
