package view

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// planned returns the document of a small llama for a list of targets.
func planned(t *testing.T, targets string) *Document {
	t.Helper()
	return documentOf(t, irtest.Parse(t, irtest.SmallLlama.Text()), targets, pass.Options{})
}

// documentOf returns the document of a module for a list of targets.
func documentOf(t *testing.T, m *ir.Module, targets string, o pass.Options) *Document {
	t.Helper()
	list := parseTargets(t, targets)
	r := NewRecorder(m)
	if _, err := passes.Run(context.Background(), m, passes.RunOptions{Targets: list, Options: o, After: r.After}); err != nil {
		t.Fatal(err)
	}
	d, err := NewDocument(m, r, Options{Explain: explain.Options{Targets: list}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

const oneCPU = "target cpu like=cpu hint=8\n"

// TestMapsReachTheLowerBound sums what is live at each step, as the page draws it. The most is the bound of the arena,
// which the planner has computed, and no two values have bytes in common unless one takes over those of the other.
func TestMapsReachTheLowerBound(t *testing.T) {
	d := planned(t, oneCPU)
	for i, a := range d.Summary.Arenas {
		if a.Class != "activations" && a.Class != "scratch" {
			continue
		}
		most := int64(0)
		for _, p := range d.Memory {
			for step := range p.Steps {
				most = max(most, usedAt(p, i, int64(step)))
			}
		}
		if most != a.Bound || most == 0 {
			t.Errorf("%s %s: %d bytes are live at once, and the bound is %d", a.Space, a.Class, most, a.Bound)
		}
	}
}

// copied returns the document of a plan with two steps under way that copies inputs, results and a weight.
func copied(t *testing.T) *Document {
	t.Helper()
	var o pass.Options
	o.Pipeline = 2
	for _, text := range []string{`first.*=gpu`, `second.*=cpu`, `norm=gpu`} {
		pin, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Pins = append(o.Pins, pin)
	}
	return documentOf(t, irtest.Parse(t, irtest.TwoHalves), anything, o)
}

// TestCopiesAreThoseOfTheSummary compares the list of copies with their number and bytes.
func TestCopiesAreThoseOfTheSummary(t *testing.T) {
	d := copied(t)
	var count, bytes int64
	kinds := make(map[string]int)
	for _, c := range d.Copies {
		count, bytes = count+c.Times, bytes+c.Times*c.Bytes
		kinds[d.Nodes[c.Of].Kind]++
		if d.Nodes[c.Copy].Op != "copy" || c.From == c.To {
			t.Errorf("%s copies from %s to %s", d.Nodes[c.Copy].ID, c.From, c.To)
		}
	}
	if sum := d.Summary.Entries[0].Copies; count != sum.Count || bytes != sum.Bytes {
		t.Errorf("the list has %d copies of %d bytes, the summary %d of %d", count, bytes, sum.Count, sum.Bytes)
	}
	if kinds["weight"] == 0 || kinds["node"] == 0 || kinds["parameter"] == 0 {
		t.Errorf("copies of %v: some kinds are missing", kinds)
	}
}

// TestMapsHaveInstances adds up the rectangles of a plan with two steps under way. What is copied into a device has an
// instance for each step, which has its bytes for good.
func TestMapsHaveInstances(t *testing.T) {
	d := copied(t)
	instances := 0
	for i, a := range d.Summary.Arenas {
		p := d.Memory[0]
		most := int64(0)
		for step := range p.Steps {
			most = max(most, usedAt(p, i, int64(step)))
		}
		var setters int64
		for _, s := range a.Setters {
			setters += s.Bytes * int64(max(s.Slots, 1))
			if s.Slots > 1 {
				instances++
			}
		}
		if a.Class == "activations" && (most != a.Bound || setters != a.Bound) {
			t.Errorf("%s: %d bytes are drawn at once, the setters have %d, and the bound is %d", a.Space, most, setters, a.Bound)
		}
	}
	if instances == 0 {
		t.Error("no setter has several instances")
	}
}

// usedAt counts the bytes that some value has at a step.
func usedAt(p *MemoryPage, arena int, step int64) (sum int64) {
	var ranges [][2]int64
	for _, l := range p.Lives {
		if l[0] == int64(arena) && l[5] <= step && step <= l[6] {
			ranges = append(ranges, [2]int64{l[1]<<40 + l[2], l[1]<<40 + l[2] + l[3]})
		}
	}
	slices.SortFunc(ranges, func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	end := int64(-1)
	for _, r := range ranges {
		if r[1] > end {
			sum += r[1] - max(r[0], end)
			end = r[1]
		}
	}
	return sum
}

// TestTimesAreThoseOfTheSummary adds up the bars of a call on one processor.
func TestTimesAreThoseOfTheSummary(t *testing.T) {
	d := planned(t, oneCPU)
	checkGraph(t, d, d.Graphs[0])
	if len(d.Time) != 1 {
		t.Fatalf("%d calls are predicted", len(d.Time))
	}
	p, e := d.Time[0], d.Summary.Entries[0]
	if math.Abs(p.Seconds/e.Seconds-1) > 1e-9 {
		t.Errorf("a call ends after %g s, and explain predicts %g s", p.Seconds, e.Seconds)
	}
	var sum, barriers int64
	for _, b := range p.Bars {
		sum += b[3]
		if b[1] == thingBarrier {
			barriers++
		}
	}
	if math.Abs(float64(sum)/1e9/e.Seconds-1) > 1e-3 || barriers == 0 || barriers > *e.Barriers {
		t.Errorf("the bars last %d ns, with %d barriers; explain: %g s, %d barriers", sum, barriers, e.Seconds, *e.Barriers)
	}
}

// TestRandomPlans looks at random programs on a card with queues. In the predicted times no lane does two things at
// once, and no node begins before what it reads is made, unless in the iteration or step before. In graphs the nodes of
// a box do not overlap, and edges in it go down.
func TestRandomPlans(t *testing.T) {
	queued := 0
	for seed := range uint64(5) {
		d := random(t, seed)
		for i, p := range d.Time {
			if len(p.Lanes) > 1 {
				queued++
			}
			checkTime(t, d, p, d.Graphs[i])
			if e := d.Summary.Entries[i]; p.Seconds != e.Call || e.Call > e.Seconds+e.BarrierSeconds {
				t.Errorf("@%s ends after %g s; explain: %g s, and %g s one after the other", p.Func, p.Seconds, e.Call, e.Seconds)
			}
			checkGraph(t, d, d.Graphs[i])
		}
	}
	if queued < 3 {
		t.Errorf("%d calls use queues", queued)
	}
}

// random returns the document of a random program.
func random(t *testing.T, seed uint64) *Document {
	t.Helper()
	list := parseTargets(t, anything)
	p, err := irtest.Random(seed, 30)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := record(t, p.Module, list)
	d, err := NewDocument(p.Module, r, Options{Explain: explain.Options{Targets: list}})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func checkTime(t *testing.T, d *Document, p *TimePage, g *GraphPage) {
	t.Helper()
	end, made := make(map[int64]int64), make(map[int64]int64)
	const rounding = 2
	for _, b := range p.Bars {
		if b[2]+rounding < end[b[0]] {
			t.Errorf("@%s %s: a bar begins at %d, and the one before ends at %d", p.Func, p.Lanes[b[0]], b[2], end[b[0]])
		}
		end[b[0]] = b[2] + b[3]
		if b[1] >= 0 {
			made[b[1]] = b[2] + b[3]
		}
		for _, e := range g.Edges {
			from, to := g.Nodes[e[0]], g.Nodes[e[1]]
			if int64(to[0]) == b[1] && b[2]+rounding < made[int64(from[0])] {
				t.Errorf("%s begins at %d, and %s ends at %d", d.Nodes[to[0]].ID, b[2], d.Nodes[from[0]].ID, made[int64(from[0])])
			}
		}
	}
}

func checkGraph(t *testing.T, d *Document, g *GraphPage) {
	t.Helper()
	used := make(map[[3]int]bool)
	work := 0
	for _, n := range g.Nodes {
		place, box := [3]int{n[1], n[2], n[3]}, g.Boxes[n[1]]
		if used[place] || n[2]+graphWidth > box.Width || n[3]+graphHeight > box.Height || n[2] < 0 {
			t.Errorf("%s is at %v of a box of %dx%d", d.Nodes[n[0]].ID, place, box.Width, box.Height)
		}
		used[place] = true
		if d.Nodes[n[0]].Kind == "node" {
			work++
		}
	}
	for _, e := range g.Edges {
		from, to := g.Nodes[e[0]], g.Nodes[e[1]]
		if from[1] == to[1] && from[3] >= to[3] {
			t.Errorf("the edge from %s to %s goes up", d.Nodes[from[0]].ID, d.Nodes[to[0]].ID)
		}
	}
	if work == 0 || len(g.Edges) < work {
		t.Errorf("%d nodes do work, with %d edges", work, len(g.Edges))
	}
}
