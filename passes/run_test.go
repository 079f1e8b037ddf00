package passes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

const smallModule = `ggir 1
module "small"
after import
props imported
weight "w" : q8_0[16,32]
func @f(%x: f32[4,32], %r: f32[4,16]) -> (y: f32[4,16]) {
  %w = weight "w" : q8_0[16,32]
  %p = matmul %x, %w : f32[4,16]
  %y = add %p, %r : f32[4,16]
  return %y
}
`

func parse(t *testing.T, text string) *ir.Module {
	t.Helper()
	m, err := ir.Parse("test", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func cpuOnly(t *testing.T) *target.List {
	t.Helper()
	l, err := target.Select("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// withPass puts a pass at the end of the pipeline for the time of a test.
func withPass(t *testing.T, p Pass) {
	t.Helper()
	old := pipeline
	pipeline = append(old[:len(old):len(old)], p)
	t.Cleanup(func() { pipeline = old })
}

func TestRunRange(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    RunOptions
		want string // passes that ran
		err  string
	}{
		{"to", RunOptions{To: "cse"}, "shape inline fold cse", ""},
		{"before", RunOptions{Before: "cse"}, "shape inline fold", ""},
		{"disabled", RunOptions{To: "cse", Options: Options{Disable: []string{"fold", "inline"}}}, "shape cse", ""},
		{"named", RunOptions{Passes: []string{"shape", "dce"}}, "shape dce", ""},
		{"needs", RunOptions{Passes: []string{"dce"}}, "", "needs a module that is shaped"},
		{"too late", RunOptions{Passes: []string{"shape", "assign", "fuse"}}, "", "pass fuse would undo what pass assign has decided; this module, after assign, is assigned already"},
		{"required", RunOptions{Options: Options{Disable: []string{"shape"}}}, "", "it cannot be left out"},
		{"unknown", RunOptions{To: "melt"}, "", `there is no pass "melt"`},
		{"unknown rule", RunOptions{Options: Options{Disable: []string{"melt"}}}, "", "no such pass or rule"},
		{"unknown target", RunOptions{Options: Options{Deny: []string{"npu"}}}, "", "there is no such target"},
		{"unknown rules", RunOptions{Options: Options{Rules: "best"}}, "shape", `unknown rules "best"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Targets = cpuOnly(t)
			stats, err := Run(context.Background(), parse(t, smallModule), tt.o)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want %q", err, tt.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var ran []string
			for _, p := range stats.Passes {
				ran = append(ran, p.Pass)
			}
			if got := strings.Join(ran, " "); got != tt.want {
				t.Errorf("ran %s, want %s", got, tt.want)
			}
		})
	}
}

// TestResume compiles from the text of every dump and compares the end.
func TestResume(t *testing.T) {
	texts := make(map[string]string)
	keep := func(s Step, m *ir.Module) error { texts[s.Pass] = m.String(); return nil }
	o := RunOptions{Targets: cpuOnly(t), After: keep}
	m := parse(t, smallModule)
	if _, err := Run(context.Background(), m, o); err != nil {
		t.Fatal(err)
	}
	for pass, text := range texts {
		again := parse(t, text)
		if _, err := Run(context.Background(), again, RunOptions{Targets: o.Targets}); err != nil {
			t.Errorf("from the dump after %s: %v", pass, err)
		} else if again.String() != m.String() {
			t.Errorf("from the dump after %s: another end:\n%v\nwant\n%v", pass, again, m)
		}
	}
}

func TestPanicLeavesReproducer(t *testing.T) {
	withPass(t, Pass{Name: "fall", Doc: "panic", Run: func(_ *Context, m *ir.Module) error {
		m.Funcs[0].Nodes = nil
		panic("a leg is missing")
	}})
	dir := t.TempDir()
	_, err := Run(context.Background(), parse(t, smallModule), RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "fall"}, ReproDir: dir})
	var bug *InternalError
	if !errors.As(err, &bug) || bug.Pass != "fall" || !strings.Contains(bug.Stack, "run_test.go") {
		t.Fatalf("error %v", err)
	}
	if want := "reproduce with: ggmlc opt --passes fall " + bug.Repro; !strings.Contains(err.Error(), want) {
		t.Errorf("%q lacks %q", err, want)
	}
	text, err := os.ReadFile(bug.Repro)
	if err != nil {
		t.Fatal(err)
	}
	if m := parse(t, string(text)); len(m.Funcs[0].Nodes) != 3 || m.Last != "shape" {
		t.Errorf("the reproducer is not the module from before:\n%s", text)
	}
}

// TestReproducerOfPermutedModule: the module is kept as it was before it was permuted, and
// the command permutes it again.
func TestReproducerOfPermutedModule(t *testing.T) {
	withPass(t, Pass{Name: "fall", Doc: "panic", Run: func(*Context, *ir.Module) error { panic("again") }})
	o := RunOptions{Targets: cpuOnly(t), Passes: []string{"fall"}, ReproDir: t.TempDir(),
		Options: Options{Debug: []Setting{{Pass: "all", Flag: "check", Value: "all"}}}}
	m := parse(t, smallModule)
	want := m.String()
	_, err := Run(context.Background(), m, o)
	var bug *InternalError
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), "--passes fall --debug check=all "+bug.Repro) {
		t.Fatalf("error %v", err)
	}
	if text, err := os.ReadFile(bug.Repro); err != nil || string(text) != want {
		t.Errorf("the reproducer is another module: %v\n%s", err, text)
	}
}

func TestBrokenPromiseIsInternal(t *testing.T) {
	withPass(t, Pass{Name: "lie", Doc: "promise a split", Run: doNothing, Gives: ir.PropSplit})
	_, err := Run(context.Background(), parse(t, smallModule), RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "lie"}})
	var bug *InternalError
	if !errors.As(err, &bug) || bug.Pass != "lie" {
		t.Errorf("error %v", err)
	}
}

func TestUndeclaredRule(t *testing.T) {
	withPass(t, Pass{Name: "blame", Doc: "name a rule", Run: func(c *Context, m *ir.Module) error {
		c.Cause(m.Funcs[0].Nodes[0], "no.such")
		return nil
	}})
	_, err := Run(context.Background(), parse(t, smallModule), RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "blame"}})
	if err == nil || !strings.Contains(err.Error(), `rule "no.such" and does not declare it`) {
		t.Errorf("error %v", err)
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := func(Step, *ir.Module) error { cancel(); return nil }
	stats, err := Run(ctx, parse(t, smallModule), RunOptions{Targets: cpuOnly(t), After: stop})
	if !errors.Is(err, context.Canceled) || len(stats.Passes) != 1 {
		t.Errorf("error %v after %d passes", err, len(stats.Passes))
	}
}

// TestRulesThatUndoEachOther has one rule that makes an exp of a neg and one that makes it
// a neg again.
func TestRulesThatUndoEachOther(t *testing.T) {
	swap := func(name string, from, to ir.Op) Rewrite {
		return Rewrite{
			Rule:    Rule{name, "swaps"},
			Pattern: Pattern{Op: from, Args: []Pattern{anyValue("x")}},
			Build:   func(m *Match) { m.Become(to, nil, m.Value("x")) },
		}
	}
	there, back := swap("swap.there", ir.OpNeg, ir.OpExp), swap("swap.back", ir.OpExp, ir.OpNeg)
	rewrites := []Rewrite{there, back}
	withPass(t, Pass{Name: "swap", Doc: "swap", Rules: rulesOf(rewrites), Run: func(c *Context, m *ir.Module) error {
		return applyRewrites(c, m, rewrites)
	}})
	m := parse(t, "func @f(%x: f32[4]) -> f32[4] {\n  %y = neg %x\n  return %y\n}\n")
	_, err := Run(context.Background(), m, RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "swap"}})
	if err == nil || !strings.Contains(err.Error(), "rules undo each other: swap.back, swap.there") {
		t.Errorf("error %v", err)
	}
}

func TestDumper(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "07-old.ggir"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := NewDumper(dir, func(path string, data []byte) error { return os.WriteFile(path, data, 0o666) })
	if err != nil {
		t.Fatal(err)
	}
	m := parse(t, smallModule)
	if err := d.Import(m); err != nil {
		t.Fatal(err)
	}
	if _, err := Run(context.Background(), m, RunOptions{Targets: cpuOnly(t), To: "fuse", After: d.After}); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	want := "00-import.ggir 01-shape.ggir 02-inline.ggir 03-fold.ggir 04-cse.ggir 05-dce.ggir 06-canonicalize.ggir 07-fuse.ggir index.tsv"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	index, _ := os.ReadFile(filepath.Join(dir, "index.tsv"))
	for _, want := range []string{"0\timport\ttrue\t", "1\tshape\tfalse\t", "7\tfuse\ttrue\t"} {
		if !strings.Contains(string(index), "\n"+want) {
			t.Errorf("no line %q in the index:\n%s", want, index)
		}
	}
}

func TestStatsFormats(t *testing.T) {
	stats, err := Run(context.Background(), parse(t, smallModule), RunOptions{Targets: cpuOnly(t), To: "dce-fuse"})
	if err != nil {
		t.Fatal(err)
	}
	if got := stats.Counter("fuse.fuse.residual"); got != 1 {
		t.Errorf("fuse.residual fired %d times", got)
	}
	for format, want := range map[string]string{"table": "fuse.residual 1", "tsv": "dce-fuse\tdce-fuse.nodes\t1\n", "json": `"fuse.fuse.residual"`} {
		var b bytes.Buffer
		if err := stats.Write(&b, format); err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%s: no %q (%v) in:\n%s", format, want, err, &b)
		}
	}
	if err := stats.Write(&bytes.Buffer{}, "xml"); err == nil {
		t.Error("xml is accepted")
	}
}

// TestShapeErrors builds what the parser would not accept.
func TestShapeErrors(t *testing.T) {
	m := parse(t, smallModule)
	n := m.Funcs[0].Nodes
	n[1].Result().Type.Shape = ir.Dims(4, 15)
	m.AddSymbol("s", 5, 2)
	_, err := Run(context.Background(), m, RunOptions{Targets: cpuOnly(t), To: "shape"})
	for _, want := range []string{"symbol s has the bounds 5 to 2", "@f %p: is declared as f32[4,15], and matmul makes f32[4,16]"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "%y") {
		t.Errorf("what depends on %%p is reported too: %v", err)
	}
}

// TestLinear compiles a chain of layers and one four times as long: nothing may take
// sixteen times as long.
func TestLinear(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	linear(t, 8*time.Millisecond, func(times int) map[string]time.Duration { return compileChain(t, 500*times) })
}

// linear fails if something takes more than ten times as long for four times as much.
// measure returns the times of one run by what took them; those below floor count as floor.
// The clock counts other processes as well, so what looks too slow is measured again, and
// the shortest time of each counts: what is quadratic takes 16 times as long every time.
func linear(t *testing.T, floor time.Duration, measure func(times int) map[string]time.Duration) {
	t.Helper()
	const tries = 6
	var slow []string
	short, long := make(map[string]time.Duration), make(map[string]time.Duration)
	for range tries {
		shorten(short, measure(1))
		shorten(long, measure(4))
		slow = nil
		for what, d := range long {
			if d > 10*max(short[what], floor) {
				slow = append(slow, fmt.Sprintf("%s: %v, and %v for four times as much", what, short[what], d))
			}
		}
		if slow == nil {
			return
		}
	}
	t.Errorf("in %d runs: %s", tries, strings.Join(slow, "; "))
}

// shorten lowers the times of best to those of another run.
func shorten(best, run map[string]time.Duration) {
	for what, d := range run {
		if old, ok := best[what]; !ok || d < old {
			best[what] = d
		}
	}
}

// compileChain returns how long each of this half's passes takes on so many layers.
func compileChain(t *testing.T, layers int) map[string]time.Duration {
	var b strings.Builder
	b.WriteString("func @f(%x0: f32[4,32]) -> f32[4,32] {\n")
	for i := range layers {
		// A few weights for all: ir looks a weight up by walking over the list.
		fmt.Fprintf(&b, "  %%n%d = weight \"n%d\" : f32[32]\n  %%w%d = weight \"w%d\" : q8_0[32,32]\n", i, i%8, i, i%8)
		fmt.Fprintf(&b, "  %%a%d = rms_norm %%x%d, %%n%d {eps=1e-5}\n", i, i, i)
		fmt.Fprintf(&b, "  %%p%d = matmul %%a%d, %%w%d\n  %%x%d = add %%x%d, %%p%d\n", i, i, i, i+1, i, i)
	}
	fmt.Fprintf(&b, "  return %%x%d\n}\n", layers)
	stats, err := Run(context.Background(), parse(t, b.String()), RunOptions{Targets: cpuOnly(t), To: "dce-copy"})
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[string]time.Duration)
	for _, p := range stats.Passes {
		times[p.Pass] = p.Time
	}
	return times
}

func TestContradictoryPins(t *testing.T) {
	l, err := target.Parse("t", "target gpu space=dev ops=*\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	pin := func(text string) Pin {
		p, err := ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Pins: []Pin{pin("x=cpu"), pin("x=gpu")}}, "pin x=gpu contradicts pin x=cpu"},
		{Options{Pins: []Pin{pin("x=gpu")}, Deny: []string{"gpu"}}, "pin x=gpu: gpu is denied"},
		{Options{Pins: []Pin{pin("x=npu")}}, "there is no target npu"},
		{Options{Pins: []Pin{pin("x=cpu"), pin("x=cpu"), pin(".*=gpu")}}, ""},
	} {
		_, err := Run(context.Background(), &ir.Module{}, RunOptions{Targets: l, Options: tt.o, Passes: []string{}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, deny %v: %v, want %q", tt.o.Pins, tt.o.Deny, err, tt.want)
		}
	}
}

// TestBrokenModuleStops has a pass break the module: the error is that of the pass, with a reproducer, and no
// later pass runs.
func TestBrokenModuleStops(t *testing.T) {
	ran := false
	old := pipeline
	defer func() { pipeline = old }()
	pipeline = slices.Concat(old, []Pass{
		{Name: "break", Doc: "breaks", Run: func(_ *Context, m *ir.Module) error { m.Funcs[0].Nodes[0].Args = nil; return nil }},
		{Name: "late", Doc: "runs", Run: func(*Context, *ir.Module) error { ran = true; return nil }},
	})
	m := parse(t, "func @f(%x: f32[4]) -> f32[4] {\n  %y = neg %x\n  return %y\n}\n")
	_, err := Run(t.Context(), m, RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "break", "late"}, ReproDir: t.TempDir()})
	var bug *InternalError
	if !errors.As(err, &bug) || bug.Pass != "break" || !strings.Contains(err.Error(), "opt --passes break") {
		t.Errorf("error %v", err)
	}
	if ran {
		t.Error("a pass ran on a broken module")
	}
}
