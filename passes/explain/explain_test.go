package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// explained is what a person and a program read about a module.
func explained(t *testing.T, m *ir.Module, o Options) (string, *Explanations) {
	t.Helper()
	doc, err := Explain(m, o)
	if err != nil {
		t.Fatal(err)
	}
	var text, js bytes.Buffer
	if err := errors.Join(doc.WriteText(&text), doc.WriteJSON(&js)); err != nil {
		t.Fatal(err)
	}
	back := &Explanations{}
	if err := json.Unmarshal(js.Bytes(), back); err != nil || back.Version != explainVersion {
		t.Fatalf("version %d, %v", back.Version, err)
	}
	return text.String(), back
}

func wantAll(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, want := range parts {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}

func runPasses(t *testing.T, m *ir.Module, targets *target.List, o pass.Options, to string) {
	t.Helper()
	if _, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: targets, Options: o, To: to}); err != nil {
		t.Fatal(err)
	}
}

// TestExplainAnswersFromADump asks about a dump that was read back.
func TestExplainAnswersFromADump(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallModule)
	runPasses(t, m, cpuOnly(t), pass.Options{}, "assign")
	o := Options{Targets: cpuOnly(t), Node: "%y"}
	text, doc := explained(t, irtest.Parse(t, m.String()), o)
	wantAll(t, text, "in @f", "runs on cpu", "assign.first", "fuse: a value that is added to a product is added by the product (fuse.residual): %p; it was add and is matmul")
	if len(doc.Nodes) != 1 || len(doc.Nodes[0].Causes) != 2 {
		t.Errorf("%+v", doc.Nodes)
	}
	if _, err := Explain(m, Options{Targets: cpuOnly(t), Node: "nobody"}); err == nil {
		t.Error("a node that is not there was explained")
	}
}

// TestExplainShowsThePredictedStep asks for the prediction of assign, with a choice of targets and without.
func TestExplainShowsThePredictedStep(t *testing.T) {
	for _, to := range []string{"assign", "plan"} {
		m := irtest.Parse(t, irtest.SmallModule)
		runPasses(t, m, twoSpaces(t), pass.Options{}, to)
		o := Options{Targets: twoSpaces(t)}
		text, doc := explained(t, irtest.Parse(t, m.String()), o)
		wantAll(t, text, "predicted time of a call: @f ", "assignment: proved best: ", "everything possible on cpu takes ")
		if q := doc.Summary.Quality; q == nil || !q.Proved || len(q.Others) == 0 {
			t.Errorf("after %s: quality %+v", to, q)
		}
		if e := doc.Summary.Entries[0]; len(e.Assigned) < 2 || e.Assigned[1] != "proved best" && !strings.Contains(e.Assigned[1], "above the bound") {
			t.Errorf("after %s: %q", to, e.Assigned)
		}
	}
	m := irtest.Parse(t, irtest.SmallModule)
	runPasses(t, m, cpuOnly(t), pass.Options{}, "assign")
	if text, _ := explained(t, m, Options{Targets: cpuOnly(t)}); !strings.Contains(text, "assignment: cpu is the only backend") {
		t.Errorf("there was nothing to predict:\n%s", text)
	}
}

// twoSpaces has a backend that lacks softmax and one that runs everything.
func twoSpaces(t *testing.T) *target.List {
	t.Helper()
	l, err := target.Parse("t", `target gpu space=dev ops=*,-softmax flops=1e12 bandwidth=1e11 workerbw=1e11 launch=1e-6 link=1e10 linkdelay=1e-6
target cpu like=cpu
`)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

const crossing = `
weight "w" : f32[16,8]
func @f(%x: f32[4,8]) -> (y: f32[4,16]) {
  %w = weight "w" : f32[16,8]
  %p = matmul %x, %w
  %s = softmax %p
  %y = relu %s
  return %y
}
`

// TestExplainListsTargetsThatRefuse demands the target that cannot run a node, and what a move to another one would
// change.
func TestExplainListsTargetsThatRefuse(t *testing.T) {
	m := irtest.Parse(t, crossing)
	runPasses(t, m, twoSpaces(t), pass.Options{Rules: "ggml-2026"}, "")
	o := Options{Targets: twoSpaces(t), Rules: "ggml-2026", Node: "s"}
	text, doc := explained(t, m, o)
	wantAll(t, text, "runs on cpu", "refused: gpu has no kernel for softmax", "%p.cpu = %p from dev to host for cpu, 256 B")
	n := doc.Nodes[0]
	if len(n.Tried) != 2 || n.Tried[0].Verdict != verdictRefused || n.Tried[1].Verdict != verdictChosen {
		t.Errorf("tried %+v", n.Tried)
	}
	o.Node = "p"
	_, doc = explained(t, m, o)
	// On the CPU it reads x where it is, and softmax reads its result there.
	want := Move{Added: 0, Removed: 2, RemovedBytes: 128 + 256, WeightBytes: 512}
	got := *doc.Nodes[0].Tried[1].Moving
	if got.Seconds >= 0 {
		t.Errorf("moving saves copies and takes %g s", got.Seconds)
	}
	if got.Seconds = 0; got != want {
		t.Errorf("moving %+v, want %+v", got, want)
	}
	o.Deny = []string{"cpu"}
	_, doc = explained(t, m, o)
	if a := doc.Nodes[0].Tried[1]; a.Verdict != verdictDenied {
		t.Errorf("the denied backend was %+v", a)
	}
}

// TestCopyBoundCountsEachValueOnce demands a bound with each value once for each space, and the names of copies beyond
// it.
func TestCopyBoundCountsEachValueOnce(t *testing.T) {
	m := irtest.Parse(t, crossing)
	runPasses(t, m, twoSpaces(t), pass.Options{Rules: "ggml-2026"}, "elide-copy")
	_, doc := explained(t, m, Options{Targets: twoSpaces(t), Rules: "ggml-2026"})
	c := doc.Summary.Entries[0].Copies
	if c.Count != 4 || c.Bytes != c.Bound || len(c.Needless) != 0 {
		t.Errorf("copies %+v", c)
	}
	// A second copy of a value into the same space.
	f := m.Funcs[0]
	for i, n := range f.Nodes {
		if flow.IsTransfer(n) {
			again := f.NewNode(ir.OpCopy, nil, n.Args, "again", n.Result().Type)
			again.Backend, again.Split = n.Backend, n.Split
			f.InsertBefore(f.Nodes[i+1], again)
			break
		}
	}
	_, doc = explained(t, m, Options{Targets: twoSpaces(t)})
	worse := doc.Summary.Entries[0].Copies
	if worse.Bound != c.Bound || worse.Bytes <= c.Bytes || len(worse.Needless) != 1 || worse.Needless[0].Node != "%again" {
		t.Errorf("with a second copy: %+v", worse)
	}
}

// TestPlacesHaveReasonsAndNeighbours demands the values that have the same bytes before and after, and the reason for
// an offset.
func TestPlacesHaveReasonsAndNeighbours(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	runPasses(t, m, cpuOnly(t), pass.Options{}, "")
	o := Options{Targets: cpuOnly(t)}
	h := newHistory(m.Funcs[0])
	for _, s := range h.list {
		before, after := h.neighbours(s)
		for _, list := range [][]Resident{before, after} {
			for _, other := range list {
				if other.Offset >= s.at.Offset+s.at.Bytes || s.at.Offset >= other.Offset+other.Bytes {
					t.Errorf("%v at %v: neighbour %+v has none of its bytes", s.v, s.at, other)
				}
			}
		}
	}
	reused := false
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			o.Node = "@" + f.Name + " " + n.String()
			for _, p := range placesIn(t, m, o) {
				if p.Why == "" || strings.Contains(p.Why, "where the search") {
					t.Errorf("%s: no reason for its place: %q", o.Node, p.Why)
				}
				reused = reused || len(p.Before) > 0
			}
		}
	}
	if !reused {
		t.Error("no value has bytes that another one had")
	}
}

// placesIn returns where the results of what is asked for lie.
func placesIn(t *testing.T, m *ir.Module, o Options) []*PlaceReport {
	_, doc := explained(t, m, o)
	var list []*PlaceReport
	for _, r := range doc.Nodes {
		for _, v := range r.Results {
			if v.Place != nil {
				list = append(list, v.Place)
			}
		}
	}
	return list
}

// TestExplainFindsLaterIterations looks for weights and positions of later iterations: they are in the body of the
// repeat.
func TestExplainFindsLaterIterations(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	runPasses(t, m, cpuOnly(t), pass.Options{}, "")
	_, doc := explained(t, m, Options{Targets: cpuOnly(t), Node: "blk.2.ffn_up"})
	if len(doc.Members) != 1 || len(doc.Members[0].Readers) == 0 {
		t.Fatalf("%+v", doc.Members)
	}
	if r := doc.Members[0].Readers[0]; r.Round == nil || *r.Round != 2 || r.Func == "decode" {
		t.Errorf("reader %+v", r)
	}
	_, doc = explained(t, m, Options{Targets: cpuOnly(t), Node: "k.1"})
	writes := 0
	for _, r := range doc.Members[0].Readers {
		writes += flow.BoolInt(r.Writes)
	}
	if writes != 1 || len(doc.Members[0].Readers) != 2 {
		t.Errorf("readers of a state %+v", doc.Members[0].Readers)
	}
}

// TestExplainFindsQualifiedNames looks for a value by its name, with its body or with its entry point.
func TestExplainFindsQualifiedNames(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	runPasses(t, m, cpuOnly(t), pass.Options{}, "")
	body := m.AllFuncs()[1]
	v := body.Nodes[len(body.Nodes)-1].Result()
	for _, query := range []string{v.Name(), v.String(), body.Name + "." + v.Name(), "decode." + v.Name(), "@decode " + v.String(), "@" + body.Name + " " + v.String()} {
		_, doc := explained(t, m, Options{Targets: cpuOnly(t), Node: query})
		if len(doc.Nodes) != 1 || doc.Nodes[0].Func != body.Name {
			t.Errorf("%s: %d nodes", query, len(doc.Nodes))
		}
	}
	if _, err := Explain(m, Options{Targets: cpuOnly(t), Node: "@prefill " + v.String()}); err == nil {
		t.Error("a value of another function was found")
	}
	for query, want := range map[string]string{
		"decode":              "decode is a function",
		"blk.0.ffn_gaet":      "did you mean blk.0.ffn_gate",
		"decod." + v.Name():   "did you mean decode." + v.Name() + "?",
		"nothing of the kind": "ggmlc dump shows their names",
	} {
		if _, err := Explain(m, Options{Targets: cpuOnly(t), Node: query}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
}

// TestExplainFindsMergedNodes looks for a node that a pass has merged into another one.
func TestExplainFindsMergedNodes(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallModule)
	runPasses(t, m, cpuOnly(t), pass.Options{}, "")
	text, _ := explained(t, m, Options{Targets: cpuOnly(t), Node: "p"})
	wantAll(t, text, "note: p is no node of its own any more: see @f %y (fuse.residual:")
}

// TestExplainFindsParts looks for values that devices of a group have parts of: nodes of their own, and merged ones.
func TestExplainFindsParts(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported
source m "m.gguf" 0
weight "gate" : f32[12,8] = m["gate"] divide "ffn" 0 12 [12]
weight "up" : f32[12,8] = m["up"] divide "ffn" 0 12 [12]
weight "down" : f32[8,12] = m["down"] divide "ffn" 1 12 [12]
func @f(%x: f32[3,8]) -> (y: f32[3,8]) {
  %gate = weight "gate" : f32[12,8]
  %up = weight "up" : f32[12,8]
  %down = weight "down" : f32[8,12]
  %g = matmul %x, %gate : f32[3,12]
  %s = silu %g : f32[3,12]
  %u = matmul %x, %up : f32[3,12]
  %b = mul %s, %u : f32[3,12]
  %y = matmul %b, %down : f32[3,8]
  return %y
}
`)
	targets := twoSpaces(t)
	names := strings.Split(targets.Names(), ", ")
	runPasses(t, m, targets, pass.Options{Group: &pass.Group{Name: "tp", Members: names[:2], Shares: []float64{2, 1}}}, "")
	text, doc := explained(t, m, Options{Targets: targets, Node: "b"})
	wantAll(t, text, "note: no device of the group has all of b in @f: they have b@0[:,0:8], b@1[:,8:12]")
	if len(doc.Nodes) != 2 {
		t.Errorf("%d nodes", len(doc.Nodes))
	}
	text, _ = explained(t, m, Options{Targets: targets, Node: "s"})
	wantAll(t, text, "they have s@0[:,0:8], s@1[:,8:12]", "note: s@1 is no node of its own any more: see @f %\"b@1\" (fuse.")
	if text, doc = explained(t, m, Options{Targets: targets, Node: "y"}); len(doc.Nodes) != 1 || strings.Contains(text, "note:") {
		t.Errorf("the whole sum is %d nodes:\n%s", len(doc.Nodes), text)
	}
}

// TestExplainTellsWhatEachDeviceComputes has a value that both devices of a group have all of.
func TestExplainTellsWhatEachDeviceComputes(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
props imported,shaped
func @f(%x: f32[2]) -> (y: f32[2]) {
  parts "k" held(1 1) ["k@0", "k@1"]
  %"k@0" = exp %x : f32[2]
  %"k@1" = exp %x : f32[2]
  %y = add %"k@0", %"k@1" : f32[2]
  return %y
}
`)
	text, _ := explained(t, m, Options{Targets: twoSpaces(t), Node: "k"})
	wantAll(t, text, "note: each device computes k in @f for itself: k@0, k@1")
}

// TestExplainTakesLinearTime demands that a summary of four times as many nodes over 8 backends takes about four times
// as long.
func TestExplainTakesLinearTime(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	irtest.Linear(t, 20*time.Millisecond, func(times int) map[string]time.Duration {
		return map[string]time.Duration{"explain": explainChain(t, 1000*times)}
	})
}

// explainChain returns how long the summary of a chain takes whose layers lie on 8 backends
// in turn.
func explainChain(t *testing.T, layers int) time.Duration {
	var targets strings.Builder
	for i := range 7 {
		fmt.Fprintf(&targets, "target g%d space=d%d ops=* flops=1e12 bandwidth=1e11 workerbw=1e11 link=1e10 linkdelay=1e-6\n", i, i)
	}
	l, err := target.Parse("t", targets.String()+"target cpu like=cpu\n")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("func @f(%x0: f32[4,32], %z: f32[4,32]) -> f32[4,32] {\n")
	for i := range layers {
		fmt.Fprintf(&b, "  %%a%d = mul %%x%d, %%z\n  %%x%d = add %%a%d, %%z\n", i, i, i+1, i)
	}
	fmt.Fprintf(&b, "  return %%x%d\n}\n", layers)
	var pins []pass.Pin
	for i := range 8 {
		p, err := pass.ParsePin(fmt.Sprintf("[ax][0-9]*%d$=%s", i, l.All()[i].Name))
		if err != nil {
			t.Fatal(err)
		}
		pins = append(pins, p)
	}
	m := irtest.Parse(t, b.String())
	runPasses(t, m, l, pass.Options{Rules: "ggml-2026", Pins: pins}, "dce-copy")
	start := time.Now()
	explained(t, m, Options{Targets: l, Rules: "ggml-2026"})
	return time.Since(start)
}

// cpuOnly is the list of the processor alone.
func cpuOnly(t *testing.T) *target.List {
	t.Helper()
	l, err := target.Select("cpu")
	if err != nil {
		t.Fatal(err)
	}
	return l
}
