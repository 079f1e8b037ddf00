package explain

import (
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// bothRun has two backends with memories of their own that run everything.
func bothRun(t *testing.T, more string) *target.List {
	t.Helper()
	l, err := target.Parse("t", "target gpu space=dev ops=* flops=1e12 bandwidth=1e11 workerbw=1e11 launch=1e-6 link=1e10 linkdelay=1e-6"+more+"\ntarget cpu like=cpu\n")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// layered is two entry points that share the weights of their layers: a product, a sum with
// what all layers read, and an activation that is carried to the next layer.
func layered(layers int) string {
	var b strings.Builder
	for i := range layers {
		fmt.Fprintf(&b, "weight \"w%d\" : f32[16,16]\n", i)
	}
	for _, f := range []string{"f", "g"} {
		fmt.Fprintf(&b, "func @%s(%%x: f32[4,16], %%z: f32[4,16]) -> (y: f32[4,16], p: f32[4,16]) {\n", f)
		in := "x"
		for i := range layers {
			fmt.Fprintf(&b, "  %%w%d = weight \"w%d\" : f32[16,16]\n  %%l%d.a = matmul %%%s, %%w%d\n", i, i, i, in, i)
			fmt.Fprintf(&b, "  %%l%d.b = mul %%l%d.a, %%z\n  %%l%d.c = softmax %%l%d.b\n", i, i, i, i)
			in = fmt.Sprintf("l%d.c", i)
		}
		fmt.Fprintf(&b, "  return %%%s, %%l0.b\n}\n", in)
	}
	return b.String()
}

// placed returns the module with all nodes of each kind pinned, as "a=gpu b=cpu".
func placed(t *testing.T, text string, l *target.List, where map[string]string) *ir.Module {
	t.Helper()
	var pins []pass.Pin
	for _, kind := range []string{"a", "b", "c"} {
		p, err := pass.ParsePin(fmt.Sprintf(`^l[0-9]+\.%s$=%s`, kind, where[kind]))
		if err != nil {
			t.Fatal(err)
		}
		pins = append(pins, p)
	}
	m := irtest.Parse(t, text)
	runPasses(t, m, l, pass.Options{Pins: pins}, "")
	return m
}

// kindOf returns the nodes of a kind in all entry points.
func kindOf(m *ir.Module, kind string) []*ir.Node {
	var nodes []*ir.Node
	for _, f := range m.Funcs {
		eachWorkNode(f, func(n *ir.Node, _ int64) {
			if strings.HasSuffix(pinName(n), "."+kind) {
				nodes = append(nodes, n)
			}
		})
	}
	return nodes
}

// bytesIn returns what a plan takes of a space.
func bytesIn(m *ir.Module, space string) (sum int64) {
	for _, a := range m.Plan.Arenas {
		if a.Space == space {
			sum += a.Bytes()
		}
	}
	return sum
}

// TestPredictedMoveIsWhatAPinChanges compares the predicted changes with plans that have the pin, of rolled layers and
// others, in all entry points.
func TestPredictedMoveIsWhatAPinChanges(t *testing.T) {
	l := bothRun(t, "")
	for _, layers := range []int{2, 5} {
		for base := range 8 {
			where := make(map[string]string)
			for i, kind := range []string{"a", "b", "c"} {
				where[kind] = []string{"cpu", "gpu"}[base>>i&1]
			}
			m := placed(t, layered(layers), l, where)
			for kind, was := range where {
				there := maps.Clone(where)
				there[kind] = map[string]string{"gpu": "cpu", "cpu": "gpu"}[was]
				name := fmt.Sprintf("%d layers, %v, %s to %s", layers, where, kind, there[kind])
				relocated(t, name, m, placed(t, layered(layers), l, there), l, l.Get(there[kind]), kind)
			}
		}
	}
}

// relocated compares the report on moving nodes of a kind with a plan where they are.
func relocated(t *testing.T, name string, from, then *ir.Module, l *target.List, to *target.Descriptor, kind string) {
	t.Helper()
	x, y := newExplainer(from, Options{Targets: l}), newExplainer(then, Options{Targets: l})
	r := x.relocate(to, kindOf(from, kind))
	for i, f := range from.Funcs {
		got, want, move := x.copies(f), y.copies(then.Funcs[i]), r.to(f)
		got.Count += int64(move.Added - move.Removed)
		got.Bytes += move.AddedBytes - move.RemovedBytes
		got.Seconds += move.Seconds
		if got.Count != want.Count || got.Bytes != want.Bytes || math.Abs(got.Seconds-want.Seconds) > 1e-12 {
			t.Errorf("%s: @%s would have %d copies, %d B, %g s, and has %d, %d B, %g s", name, f.Name, got.Count, got.Bytes, got.Seconds, want.Count, want.Bytes, want.Seconds)
		}
	}
	if got, want := r.bytes(), bytesIn(then, to.Home()); got > want+512 || got < want-512 {
		t.Errorf("%s: %d B in %s, and it is %d", name, got, to.Home(), want)
	}
}

// TestNothingIsOfferedBeyondALimit demands that no pin is offered that does not fit beside the plan, for each kind of
// limit.
func TestNothingIsOfferedBeyondALimit(t *testing.T) {
	onCPU := map[string]string{"a": "cpu", "b": "cpu", "c": "cpu"}
	for _, tt := range []struct {
		name, memory string
		allowed      map[string]int64
		want         string
	}{
		{"the target's", " memory=5500", nil, "no room: 132 B more than the 5.37 KiB of gpu"},
		{"the user's, for a target", " memory=1MiB", map[string]int64{"gpu": 5000}, "no room: 632 B more than the 4.88 KiB of --max-memory gpu"},
		{"the user's, for a space", "", map[string]int64{"dev": 5000, "gpu": 6000}, "no room: 632 B more than the 4.88 KiB of --max-memory dev"},
		{"another space's", "", map[string]int64{"cpu": 100}, ""},
		{"enough", " memory=5632", nil, ""},
	} {
		l := bothRun(t, tt.memory)
		m := placed(t, layered(5), l, onCPU)
		x := newExplainer(m, Options{Targets: l, MaxMemory: tt.allowed})
		p := x.prospect(l.Get("gpu"), kindOf(m, "a"))
		if p.noRoom != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, p.noRoom, tt.want)
		}
		p.change = map[*ir.Func]float64{p.entry: -1}
		if got := p.verdict(); strings.Contains(got, "--pin") != (tt.want == "") || !strings.HasSuffix(got, tt.want) {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
	// A node by itself, with its namesake: one of five weights.
	l := bothRun(t, " memory=1000")
	m := placed(t, layered(5), l, onCPU)
	text, _ := explained(t, m, Options{Targets: l, Node: "@f l0.a"})
	wantAll(t, text, "gpu        runs it too", "no room: 536 B more than the 1000 B of gpu")
}

// TestVerdictCountsAllEntryPoints demands the change of each entry point that a pin moves nodes of. A pin is offered if
// none loses.
func TestVerdictCountsAllEntryPoints(t *testing.T) {
	const text = `
weight "w" : f32[1024,1024]
func @f(%%x: f32[256,1024]) -> f32[256,1024] {
  %%w = weight "w" : f32[1024,1024]
  %%v = matmul %%x, %%w
  %%y = relu %%v
  return %%y
}
func @g(%%x: f32[%d,1024]) -> f32[%d,1024] {
  %%%s = relu %%x
  %%y = relu %%%s
  return %%y
}
`
	l := bothRun(t, "")
	pin, err := pass.ParsePin("^.*$=cpu")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name  string
		other string // node of @g
		want  []string
		pin   bool
	}{
		{"a name of its own", "u", []string{" less: --pin '^v$=gpu'"}, true},
		{"a name of another entry point's", "v", []string{" less, in @g ", " more, whose nodes the pin moves too"}, false},
	} {
		m := irtest.Parse(t, fmt.Sprintf(text, 2, 2, tt.other, tt.other))
		runPasses(t, m, l, pass.Options{Pins: []pass.Pin{pin}}, "")
		x := newExplainer(m, Options{Targets: l})
		got := x.prospect(l.Get("gpu"), x.pinNames().byName["v"][:1]).verdict()
		for _, want := range tt.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s: no %q in %q", tt.name, want, got)
			}
		}
		if strings.Contains(got, "--pin") != tt.pin {
			t.Errorf("%s: %s", tt.name, got)
		}
	}
}

// TestUnknownSpeedIsNotFaster demands that no time is compared with that of a target of unknown speed.
func TestUnknownSpeedIsNotFaster(t *testing.T) {
	l, err := target.Parse("t", "target npu space=dev ops=*\ntarget cpu like=cpu\n")
	if err != nil {
		t.Fatal(err)
	}
	m := placed(t, layered(2), l, map[string]string{"a": "cpu", "b": "npu", "c": "cpu"})
	x := newExplainer(m, Options{Targets: l})
	for kind, to := range map[string]string{"a": "npu", "b": "cpu"} {
		if got := x.prospect(l.Get(to), kindOf(m, kind)).verdict(); got != "the speed of npu is not known" {
			t.Errorf("%s to %s: %s", kind, to, got)
		}
	}
}
