package explain

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// twoRepeats is two repeats. The second one gives what it carries back in another order.
const twoRepeats = `func @f(%x: f32[4], %z: f32[4]) -> (f32[4], f32[4]) {
  %a, %b = repeat %x, %z {count=3, carried=2, invariant=0} : f32[4], f32[4]
  body @f.loop0(%p: f32[4], %q: f32[4]) -> (p: f32[4], q: f32[4]) {
    %m = neg %p
    %n = exp %q
    return %m, %n
  }
  %c, %d = repeat %a, %b {count=5, carried=2, invariant=0} : f32[4], f32[4]
  body @f.loop1(%r: f32[4], %s: f32[4]) -> (r: f32[4], s: f32[4]) {
    %u = tanh %s
    return %u, %r
  }
  return %c, %d
}
`

// TestTimesAreCountedIterationByIteration counts in which iterations of a repeat what its body makes is read, as a
// walk over all iterations does.
func TestTimesAreCountedIterationByIteration(t *testing.T) {
	f := irtest.Parse(t, twoRepeats).Funcs[0]
	v := f.Nodes[0].Body.Nodes[0].Result() // made in each of 3 iterations
	const count = 3
	for in := range inIterations(everyIteration|nextIteration|lastIteration) + 1 {
		var want int64
		for i := range count {
			last := i == count-1
			if in == 0 || in&everyIteration != 0 || in&nextIteration != 0 && !last || in&lastIteration != 0 && last {
				want++
			}
		}
		if in == 0 {
			continue // no reader
		}
		if got := in.times(v); got != want {
			t.Errorf("read in the iterations %03b: %d times, want %d", in, got, want)
		}
		if got := in.times(f.Params[0]); got != 1 {
			t.Errorf("an input, read in the iterations %03b: %d times, want once", in, got)
		}
	}
}

// TestWhatARepeatReturnsIsReadAfterItsLastIteration follows a value of a repeat into another one, which gives it to
// its own next iteration: of the first repeat it is still the last iteration that is read.
func TestWhatARepeatReturnsIsReadAfterItsLastIteration(t *testing.T) {
	m := irtest.Parse(t, twoRepeats)
	v := m.Funcs[0].Nodes[0].Body.Nodes[0].Result() // %m, which the second repeat takes as %r and then as %s
	r := newExplainer(m, Options{Targets: cpuOnly(t)}).readingOf(v)
	found := false
	for _, read := range r.reads {
		if read.by == nil || read.by.Func.Owner == nil || read.by.Func.Owner == v.Func.Owner {
			continue
		}
		found = true
		if times := read.in.times(read.v); times != 1 {
			t.Errorf("%v reads it after %d iterations, want 1", read.by, times)
		}
	}
	if !found {
		t.Errorf("no reader in the second repeat is found: %+v", r.reads)
	}
}

// TestEverySplitHasACause explains all nodes of plans with experts that are chosen, and with repeats: every split has a
// cause, the same at all its nodes.
func TestEverySplitHasACause(t *testing.T) {
	experts, err := txtar.ParseFile("../../tests/passes/copy/experts_chosen.txtar")
	if err != nil {
		t.Fatal(err)
	}
	l, err := target.Parse("t", string(experts.Files[0].Data))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, text, rules string
		targets           *target.List
	}{
		{"experts", string(experts.Files[1].Data), "", l},
		{"layers", layered(6), "ggml-2026", twoSpaces(t)},
		{"layers in the split before them", layered(6), "", cpuOnly(t)},
	} {
		m := irtest.Parse(t, tt.text)
		runPasses(t, m, tt.targets, pass.Options{Rules: tt.rules}, "")
		_, doc := explained(t, m, Options{Targets: tt.targets, Rules: tt.rules})
		for _, e := range doc.Summary.Entries {
			if len(e.Splits) == 0 {
				t.Errorf("%s, @%s: no splits", tt.name, e.Func)
			}
			for _, s := range e.Splits {
				if len(s.Causes) == 0 {
					t.Errorf("%s, @%s: split %d at %s on %s has no cause", tt.name, e.Func, s.Number, s.First, s.Backend)
				}
			}
		}
		causes := make(map[splitKey][]WhyCause)
		for _, f := range m.AllFuncs() {
			for _, n := range f.Nodes {
				if n.Split < 0 || n.Body != nil { // a repeat can be in several splits
					continue
				}
				_, doc := explained(t, m, Options{Targets: tt.targets, Rules: tt.rules, Node: fmt.Sprintf("@%s %v", f.Name, n)})
				if len(doc.Nodes) != 1 || doc.Nodes[0].Backend == "" {
					continue // a leaf
				}
				why, key := doc.Nodes[0].SplitWhy, splitKey{f.Entry(), n.Split}
				if len(why) == 0 {
					t.Errorf("%s: split %d has no cause at @%s %v", tt.name, n.Split, f.Name, n)
				} else if first, ok := causes[key]; ok && !reflect.DeepEqual(why, first) {
					t.Errorf("%s: split %d has another cause at @%s %v: %+v, not %+v", tt.name, n.Split, f.Name, n, why, first)
				}
				causes[key] = why
			}
		}
	}
}

// TestWeightMovesWithAllItsReaders moves the second of two nodes that read a weight: the weight stays for the first.
func TestWeightMovesWithAllItsReaders(t *testing.T) {
	const text = `weight "w" : f32[16,16]
func @f(%x: f32[4,16]) -> (f32[4,16]) {
  %w = weight "w" : f32[16,16]
  %l0.a = matmul %x, %w
  %l0.b = tanh %l0.a
  %l1.c = matmul %l0.b, %w
  return %l1.c
}
`
	l := bothRun(t, "")
	m := placed(t, text, l, map[string]string{"a": "cpu", "b": "cpu", "c": "cpu"})
	for _, tt := range []struct {
		kinds string
		want  int64
	}{{"c", 0}, {"a", 0}, {"ac", 16 * 16 * 4}} {
		nodes := kindOf(m, tt.kinds[:1])
		for _, k := range tt.kinds[1:] {
			nodes = append(nodes, kindOf(m, string(k))...)
		}
		if got := newExplainer(m, Options{Targets: l}).relocate(l.Get("gpu"), nodes).weightBytes; got != tt.want {
			t.Errorf("moving %s moves %d bytes of weights, want %d", tt.kinds, got, tt.want)
		}
	}
}

// TestNoSpaceBeforeAssign asks for a weight of a module that has no backends yet: nothing is stated about its space.
func TestNoSpaceBeforeAssign(t *testing.T) {
	m := irtest.Parse(t, crossing)
	runPasses(t, m, twoSpaces(t), pass.Options{}, "shape")
	_, doc := explained(t, m, Options{Targets: twoSpaces(t), Node: "w"})
	if len(doc.Members) != 1 || len(doc.Members[0].Readers) == 0 || doc.Members[0].Space != "" || doc.Members[0].There != "" {
		t.Errorf("%+v", doc.Members)
	}
}

// TestOneBackendHasNoLineOfCopies expects no line about copies where there can be none, and one where there are some.
func TestOneBackendHasNoLineOfCopies(t *testing.T) {
	for targets, want := range map[*target.List]bool{cpuOnly(t): false, twoSpaces(t): true} {
		m := irtest.Parse(t, crossing)
		runPasses(t, m, targets, pass.Options{Rules: "ggml-2026"}, "")
		text, _ := explained(t, m, Options{Targets: targets, Rules: "ggml-2026"})
		if got := strings.Contains(text, "each value once per space that reads it"); got != want {
			t.Errorf("%d targets: a line about copies is %v, want %v:\n%s", len(targets.All()), got, want, text)
		}
	}
}

// TestParagraphsOfANodeHaveOneIndent looks at what is stated about a node: all begin at the same column below its name.
func TestParagraphsOfANodeHaveOneIndent(t *testing.T) {
	m := irtest.Parse(t, irtest.SmallModule)
	runPasses(t, m, cpuOnly(t), pass.Options{}, "assign")
	text, _ := explained(t, m, Options{Targets: cpuOnly(t), Node: "%y"})
	indents := make(map[string]int)
	for line := range strings.Lines(text) {
		for _, begin := range []string{"runs on cpu", "fuse: "} {
			if s := strings.TrimLeft(line, " "); strings.HasPrefix(s, begin) {
				indents[begin] = len(line) - len(s)
			}
		}
	}
	if len(indents) != 2 || indents["runs on cpu"] != indents["fuse: "] {
		t.Errorf("indents %v:\n%s", indents, text)
	}
}

// TestValueWithoutAnAddressHasNoPlace explains a node of a module that has a plan, and does not claim to be placed.
func TestValueWithoutAnAddressHasNoPlace(t *testing.T) {
	m := irtest.Parse(t, `ggir 1
module "m"
after partition
props imported,shaped,assigned,packed,split,copied,ordered,partitioned
func @f(%x: f32[64] @host) -> (y: f32[64]) epochs=1 {
  %y = neg %x : f32[64] in host @cpu split=0 part=one
  return %y
}
plan {
  arena host io align=64 chunks=[1024] bound=0
  func "f" nodes=1 {
    split @cpu
  }
}
`)
	_, doc := explained(t, m, Options{Targets: cpuOnly(t), Node: "y"})
	if len(doc.Nodes) != 1 || len(doc.Nodes[0].Results) != 1 || doc.Nodes[0].Results[0].Place != nil {
		t.Errorf("%+v", doc.Nodes)
	}
}
