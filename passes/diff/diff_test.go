package diff

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// planned compiles a text for some targets.
func planned(t *testing.T, name, text, targets string, o pass.Options) Plan {
	t.Helper()
	list, err := target.Parse("targets", targets)
	if err != nil {
		t.Fatal(err)
	}
	m := irtest.Parse(t, text)
	if _, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: list, Options: o}); err != nil {
		t.Fatal(err)
	}
	return Plan{Name: name, Module: m, Explain: explain.Options{Targets: list, Rules: o.Rules}}
}

func textOf(t *testing.T, d *Difference) string {
	t.Helper()
	var b strings.Builder
	if err := d.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestText compares the plans of two texts, or of one for other targets.
func TestText(t *testing.T) {
	irtest.RunGoldens(t, "testdata", []string{"a", "b", "targets.a", "targets.b", "want"}, func(t *testing.T, g *irtest.Golden) {
		a := planned(t, "a.ggir", g.Section("a"), g.Section("targets.a"), pass.Options{})
		second, targets := g.Section("a"), g.Section("targets.a")
		if g.Has("b") {
			second = g.Section("b")
		}
		if g.Has("targets.b") {
			targets = g.Section("targets.b")
		}
		b := planned(t, "b.ggir", second, targets, pass.Options{})
		g.Want("want", textOf(t, Compare(a, b)))
	})
}

const oneCPU = "target cpu like=cpu\n"

// TestAPlanEqualsItself compares a plan with itself, compiled twice.
func TestAPlanEqualsItself(t *testing.T) {
	text := irtest.SmallLlama.Text()
	d := Compare(planned(t, "a", text, oneCPU, pass.Options{}), planned(t, "b", text, oneCPU, pass.Options{}))
	if got := textOf(t, d); !d.Equal() || !strings.HasSuffix(got, "no figure and no decision differs\n") {
		t.Errorf("a plan differs from itself:\n%s", got)
	}
}

// TestLayersOfARepeatCompareWithLayers compares a plan whose layers are a repeat with one without: both have the same
// nodes, weights and states.
func TestLayersOfARepeatCompareWithLayers(t *testing.T) {
	text := irtest.SmallLlama.Text()
	rolled := planned(t, "a", text, oneCPU, pass.Options{})
	flat := planned(t, "b", text, oneCPU, pass.Options{Disable: []string{"roll"}})
	if len(rolled.Module.AllFuncs()) == len(flat.Module.AllFuncs()) {
		t.Fatal("nothing is rolled")
	}
	d := Compare(rolled, flat)
	if len(d.Only) > 0 {
		t.Errorf("only in one of them: %v", d.Only)
	}
	for _, c := range d.Changes {
		if c.What == "backend" || c.What == "space" || c.What == "format" {
			t.Errorf("%+v", c)
		}
	}
	for _, f := range d.Figures {
		if f.What == "nodes that run" && (f.differs() || f.A == 0) {
			t.Errorf("%v and %v nodes run", f.A, f.B)
		}
	}
}

// TestAlikeThingsAreJoined joins names that differ in numbers, including names that look like a join.
func TestAlikeThingsAreJoined(t *testing.T) {
	var j joined[OnlyInSide]
	for _, place := range []string{"blk.0.attn", "blk.1.attn", "blk.10.attn", "blk.1.ffn", "a1b", "a#b", "", "a\x00#", "7", "blk.1.attn"} {
		j.add(OnlyInSide{}, key{op: "x", place: place}, func(o *OnlyInSide, thing string) { o.Thing, o.Count = thing, o.Count+1 })
	}
	var got []string
	for _, o := range j.list() {
		got = append(got, fmt.Sprintf("%s:%d", o.Thing, o.Count))
	}
	if want := "x blk.*.attn:4, x blk.1.ffn:1, x a1b:1, x a#b:1, x:1, x a\x00#:1, x 7:1"; strings.Join(got, ", ") != want {
		t.Errorf("joined: %q, want %q", got, want)
	}
}
