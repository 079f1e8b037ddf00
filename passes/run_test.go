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
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/target"
)

func cpuOnly(t *testing.T) *target.List {
	t.Helper()
	l, err := target.Select("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// withPasses returns the pipeline with passes at its end.
func withPasses(passes ...pass.Pass) passTable { return slices.Concat(table, passes) }

func TestRunSelectsPasses(t *testing.T) {
	for _, tt := range []struct {
		name string
		o    RunOptions
		want string // passes that ran
		err  string
	}{
		{"to", RunOptions{To: "cse"}, "shape inline fold cse", ""},
		{"before", RunOptions{Before: "cse"}, "shape inline fold", ""},
		{"disabled", RunOptions{To: "cse", Options: pass.Options{Disable: []string{"fold", "inline"}}}, "shape cse", ""},
		{"named", RunOptions{Passes: []string{"shape", "dce"}}, "shape dce", ""},
		{"needs", RunOptions{Passes: []string{"dce"}}, "", "needs a module that is shaped"},
		{"too late", RunOptions{Passes: []string{"shape", "assign", "fuse"}}, "", "pass fuse would undo what pass assign has decided; this module, after assign, is assigned already"},
		{"required", RunOptions{Options: pass.Options{Disable: []string{"shape"}}}, "", "it cannot be left out"},
		{"unknown", RunOptions{To: "melt"}, "", `there is no pass "melt"`},
		{"unknown rule", RunOptions{Options: pass.Options{Disable: []string{"melt"}}}, "", "no such pass or rule"},
		{"unknown target", RunOptions{Options: pass.Options{Deny: []string{"npu"}}}, "", "there is no such target"},
		{"unknown rules", RunOptions{Options: pass.Options{Rules: "best"}}, "shape", `unknown rules "best"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.o.Targets = cpuOnly(t)
			stats, err := Run(context.Background(), irtest.Parse(t, irtest.SmallModule), tt.o)
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

// TestRunFromEachDumpEndsAlike runs the rest of the pipeline on the text of every dump and compares the final modules.
func TestRunFromEachDumpEndsAlike(t *testing.T) {
	texts := make(map[string]string)
	keep := func(s Step, m *ir.Module) error { texts[s.Pass] = m.String(); return nil }
	o := RunOptions{Targets: cpuOnly(t), After: keep}
	m := irtest.Parse(t, irtest.SmallModule)
	if _, err := Run(context.Background(), m, o); err != nil {
		t.Fatal(err)
	}
	for pass, text := range texts {
		again := irtest.Parse(t, text)
		if _, err := Run(context.Background(), again, RunOptions{Targets: o.Targets}); err != nil {
			t.Errorf("from the dump after %s: %v", pass, err)
		} else if again.String() != m.String() {
			t.Errorf("from the dump after %s: another end:\n%v\nwant\n%v", pass, again, m)
		}
	}
}

func TestPanicLeavesReproducer(t *testing.T) {
	table := withPasses(pass.Pass{Name: "fall", Doc: "panic", Run: func(_ *pass.Context, m *ir.Module) error {
		m.Funcs[0].Nodes = nil
		panic("a leg is missing")
	}})
	dir := t.TempDir()
	_, err := Run(context.Background(), irtest.Parse(t, irtest.SmallModule), RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "fall"}, ReproDir: dir, table: table})
	var bug *pass.InternalError
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
	if m := irtest.Parse(t, string(text)); len(m.Funcs[0].Nodes) != 3 || m.Last != "shape" {
		t.Errorf("the reproducer is not the module from before:\n%s", text)
	}
}

// TestReproducerOfPermutedModule checks that the reproducer is the module before it was permuted, and that its command
// permutes it again.
func TestReproducerOfPermutedModule(t *testing.T) {
	table := withPasses(pass.Pass{Name: "fall", Doc: "panic", Run: func(*pass.Context, *ir.Module) error { panic("again") }})
	o := RunOptions{Targets: cpuOnly(t), Passes: []string{"fall"}, ReproDir: t.TempDir(), table: table,
		Options: pass.Options{Debug: []pass.Setting{{Pass: "all", Flag: "check", Value: "all"}}}}
	m := irtest.Parse(t, irtest.SmallModule)
	want := m.String()
	_, err := Run(context.Background(), m, o)
	var bug *pass.InternalError
	if !errors.As(err, &bug) || !strings.Contains(err.Error(), "--passes fall --debug check=all "+bug.Repro) {
		t.Fatalf("error %v", err)
	}
	if text, err := os.ReadFile(bug.Repro); err != nil || string(text) != want {
		t.Errorf("the reproducer is another module: %v\n%s", err, text)
	}
}

func TestBrokenPromiseIsInternal(t *testing.T) {
	table := withPasses(pass.Pass{Name: "lie", Doc: "promise a split", Run: doNothing, Gives: ir.PropSplit})
	_, err := Run(context.Background(), irtest.Parse(t, irtest.SmallModule), RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "lie"}, table: table})
	var bug *pass.InternalError
	if !errors.As(err, &bug) || bug.Pass != "lie" {
		t.Errorf("error %v", err)
	}
}

func TestUndeclaredRuleIsError(t *testing.T) {
	table := withPasses(pass.Pass{Name: "blame", Doc: "name a rule", Run: func(c *pass.Context, m *ir.Module) error {
		c.Cause(m.Funcs[0].Nodes[0], "no.such")
		return nil
	}})
	_, err := Run(context.Background(), irtest.Parse(t, irtest.SmallModule), RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "blame"}, table: table})
	if err == nil || !strings.Contains(err.Error(), `rule "no.such" and does not declare it`) {
		t.Errorf("error %v", err)
	}
}

func TestCancelStopsAfterPass(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	stop := func(Step, *ir.Module) error { cancel(); return nil }
	stats, err := Run(ctx, irtest.Parse(t, irtest.SmallModule), RunOptions{Targets: cpuOnly(t), After: stop})
	if !errors.Is(err, context.Canceled) || len(stats.Passes) != 1 {
		t.Errorf("error %v after %d passes", err, len(stats.Passes))
	}
}

// TestRulesThatUndoEachOther has one rule that makes an exp of a neg and one that makes it
// a neg again.
func TestRulesThatUndoEachOther(t *testing.T) {
	swap := func(name string, from, to ir.Op) rewrite.Rewrite {
		return rewrite.Rewrite{
			Rule:    pass.Rule{Name: pass.RuleName(name), Doc: "swaps"},
			Pattern: rewrite.Pattern{Op: from, Args: []rewrite.Pattern{rewrite.AnyValue("x")}},
			Build:   func(m *rewrite.Match) { m.Become(to, nil, m.Value("x")) },
		}
	}
	there, back := swap("swap.there", ir.OpNeg, ir.OpExp), swap("swap.back", ir.OpExp, ir.OpNeg)
	rewrites := []rewrite.Rewrite{there, back}
	table := withPasses(pass.Pass{Name: "swap", Doc: "swap", Rules: rewrite.RulesOf(rewrites), Run: func(c *pass.Context, m *ir.Module) error {
		return rewrite.Apply(c, m, rewrites)
	}})
	m := irtest.Parse(t, "func @f(%x: f32[4]) -> f32[4] {\n  %y = neg %x\n  return %y\n}\n")
	_, err := Run(context.Background(), m, RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "swap"}, table: table})
	if err == nil || !strings.Contains(err.Error(), "rules undo each other: swap.back, swap.there") {
		t.Errorf("error %v", err)
	}
}

func TestDumperWritesFilePerPass(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "07-old.ggir"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	d, err := NewDumper(dir, func(path string, data []byte) error { return os.WriteFile(path, data, 0o666) })
	if err != nil {
		t.Fatal(err)
	}
	m := irtest.Parse(t, irtest.SmallModule)
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
	want := "00-import.ggir 01-shape.ggir 02-inline.ggir 03-fold.ggir 04-cse.ggir 05-dce.ggir 06-narrow.ggir 07-canonicalize.ggir 08-shard.ggir 09-spread.ggir 10-fuse.ggir index.tsv"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("wrote %s, want %s", got, want)
	}
	index, _ := os.ReadFile(filepath.Join(dir, "index.tsv"))
	for _, want := range []string{"0\timport\ttrue\t", "1\tshape\tfalse\t", "10\tfuse\ttrue\t"} {
		if !strings.Contains(string(index), "\n"+want) {
			t.Errorf("no line %q in the index:\n%s", want, index)
		}
	}
}

// TestCountersOfPartitionAgreeWithItsCauses counts the nodes whose granule another node decides.
func TestCountersOfPartitionAgreeWithItsCauses(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	stats, err := Run(context.Background(), m, RunOptions{Targets: cpuOnly(t), To: "partition"})
	if err != nil {
		t.Fatal(err)
	}
	var causes int64
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.HasCause(string(pass.RulePartitionOwn)) {
				causes++
			}
		}
	}
	if got := stats.Counter("partition.owned"); causes == 0 || got != causes {
		t.Errorf("partition.owned is %d, and %d nodes have the cause", got, causes)
	}
}

func TestStatsInAllFormats(t *testing.T) {
	stats, err := Run(context.Background(), irtest.Parse(t, irtest.SmallModule), RunOptions{Targets: cpuOnly(t), To: "dce-fuse"})
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
	p := stats.Passes[len(stats.Passes)-1]
	p.Counters = append(p.Counters, pass.Counter{Name: p.Pass + ".step-ns", Value: 28_400}, pass.Counter{Name: p.Pass + ".start.gpu-ns", Value: -1}, pass.Counter{Name: p.Pass + ".bytes.host.io", Value: 26 << 10})
	var b bytes.Buffer
	if err := stats.Write(&b, "table"); err != nil || !strings.Contains(b.String(), "bytes.host.io 26 KiB") || !strings.Contains(b.String(), "start.gpu none, step 28.4 µs") {
		t.Errorf("times and sizes have no units (%v) in:\n%s", err, &b)
	}
	if err := stats.Write(&bytes.Buffer{}, "xml"); err == nil {
		t.Error("xml is accepted")
	}
}

func TestShapeReportsModuleThatParserRefuses(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallModule)
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

// TestShapeReportsTheFirstErrorOfAChain has a chain whose first node has a wrong type and whose others have none: what
// depends on the first one, directly or not, is not reported.
func TestShapeReportsTheFirstErrorOfAChain(t *testing.T) {
	m := irtest.Parse(t, `func @f(%x: f32[4,16]) -> f32[4,16] {
  %a = neg %x
  %b = exp %a
  %c = tanh %b
  %d = add %c, %a
  return %d
}
`)
	for i, n := range m.Funcs[0].Nodes {
		n.Result().Type = ir.Type{}
		if i == 0 {
			n.Result().Type = ir.Type{DType: dtype.F32, Shape: ir.Dims(4, 15)}
		}
	}
	_, err := Run(context.Background(), m, RunOptions{Targets: cpuOnly(t), To: "shape"})
	if err == nil || !strings.Contains(err.Error(), "@f %a: is declared as f32[4,15]") || strings.Count(err.Error(), "@f ") != 1 {
		t.Errorf("want one error, of %%a: %v", err)
	}
}

// TestPassesTakeLinearTime compiles a chain of layers and one four times as long: no pass may take sixteen times as
// long.
func TestPassesTakeLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	irtest.Linear(t, 8*time.Millisecond, func(times int) map[string]time.Duration { return compileChain(t, 500*times) })
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
	stats, err := Run(context.Background(), irtest.Parse(t, b.String()), RunOptions{Targets: cpuOnly(t), To: "dce-copy"})
	if err != nil {
		t.Fatal(err)
	}
	times := make(map[string]time.Duration)
	for _, p := range stats.Passes {
		times[p.Pass] = p.Time
	}
	return times
}

func TestContradictoryPinsAreRefused(t *testing.T) {
	l, err := target.Parse("t", "target gpu space=dev ops=*\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	pin := func(text string) pass.Pin {
		p, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	for _, tt := range []struct {
		o    pass.Options
		want string
	}{
		{pass.Options{Pins: []pass.Pin{pin("x=cpu"), pin("x=gpu")}}, "pin x=gpu contradicts pin x=cpu"},
		{pass.Options{Pins: []pass.Pin{pin("x=gpu")}, Deny: []string{"gpu"}}, "pin x=gpu: gpu is denied"},
		{pass.Options{Pins: []pass.Pin{pin("x=npu")}}, "there is no target npu"},
		{pass.Options{Pins: []pass.Pin{pin("x=cpu"), pin("x=cpu"), pin(".*=gpu")}}, ""},
	} {
		_, err := Run(context.Background(), &ir.Module{}, RunOptions{Targets: l, Options: tt.o, Passes: []string{}})
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, deny %v: %v, want %q", tt.o.Pins, tt.o.Deny, err, tt.want)
		}
	}
}

// TestBrokenModuleStopsRun has a pass break the module: the error is that of the pass, with a reproducer, and no
// later pass runs.
func TestBrokenModuleStopsRun(t *testing.T) {
	ran := false
	table := withPasses(
		pass.Pass{Name: "break", Doc: "breaks", Run: func(_ *pass.Context, m *ir.Module) error { m.Funcs[0].Nodes[0].Args = nil; return nil }},
		pass.Pass{Name: "late", Doc: "runs", Run: func(*pass.Context, *ir.Module) error { ran = true; return nil }},
	)
	m := irtest.Parse(t, "func @f(%x: f32[4]) -> f32[4] {\n  %y = neg %x\n  return %y\n}\n")
	_, err := Run(t.Context(), m, RunOptions{Targets: cpuOnly(t), Passes: []string{"shape", "break", "late"}, ReproDir: t.TempDir(), table: table})
	var bug *pass.InternalError
	if !errors.As(err, &bug) || bug.Pass != "break" || !strings.Contains(err.Error(), "opt --passes break") {
		t.Errorf("error %v", err)
	}
	if ran {
		t.Error("a pass ran on a broken module")
	}
}
