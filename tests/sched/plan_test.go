package sched

import (
	"path/filepath"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check"
)

// TestPlansAreSoundAndNoLargerThanGgmls plans the graphs of the traces. Nothing overlaps, and no space needs more
// bytes than ggml's allocator, if ggml's own plan is sound.
func TestPlansAreSoundAndNoLargerThanGgmls(t *testing.T) {
	files, err := Files(traces(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			var b beaten
			for _, group := range groups(t, path) {
				b.plan(t, group)
			}
			t.Logf("%s: %d of %d copies that ggml's rules make are needless", filepath.Base(path), b.needless, b.copies)
			t.Logf("%s: %d plans: nothing overlaps. %d of them beside sound plans of ggml: %d bytes, ggml's allocator %d (%.3f); %d smaller, %d equal; the worst has %.3f of ggml's bytes",
				filepath.Base(path), b.plans, b.sound, b.ours, b.theirs, float64(b.ours)/float64(max(b.theirs, 1)), b.smaller, b.equal, b.worst)
		})
	}
}

// beaten compares sizes of plans, summed over spaces.
type beaten struct {
	plans, sound   int
	copies         int // in all plans
	needless       int // of them
	ours, theirs   int64
	smaller, equal int
	worst          float64
}

func (b *beaten) plan(t *testing.T, group []*Case) {
	name := group[0].Name
	traced, err := Build(group...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	if err := traced.Run(t.Context()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	g, err := Build(group...)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	found, err := g.Plan(t.Context())
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	b.plans++
	b.needless += len(check.Needless(g.Module, g.Targets))
	for _, f := range g.Module.Funcs {
		for _, n := range f.Nodes {
			if n.Op == ir.OpCopy {
				b.copies++
			}
		}
	}
	for _, v := range found {
		if v.Rule != check.RuleReach && v.Rule != check.RuleKernel { // assign decides these
			t.Errorf("%s: our plan: %v", name, v)
		}
	}
	if traced.sound() {
		b.compare(t, name, g.Bytes(), traced.TracedBytes())
	}
}

// sound reports whether ggml's addresses are valid.
func (g *Graph) sound() bool {
	for i := range g.Cases {
		for _, v := range g.Found(i) {
			if v.Rule != check.RuleKernel {
				return false
			}
		}
	}
	return true
}

func (b *beaten) compare(t *testing.T, name string, got, want map[string]int64) {
	var ours, theirs int64
	for space, n := range got {
		if ours += n; n > want[space] {
			t.Errorf("%s: %s: %d bytes, ggml's allocator needs %d", name, space, n, want[space])
		}
	}
	for _, n := range want {
		theirs += n
	}
	b.sound++
	b.ours += ours
	b.theirs += theirs
	switch {
	case ours < theirs:
		b.smaller++
	case ours == theirs:
		b.equal++
	}
	if theirs > 0 {
		b.worst = max(b.worst, float64(ours)/float64(theirs))
	}
}
