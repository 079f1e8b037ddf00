package explain

import (
	"math"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// underWay compiles a step whose first half is on the processor and whose second half is on a card, with several steps
// under way.
func underWay(t *testing.T, steps int) (*ir.Module, Options) {
	t.Helper()
	list, err := target.Parse("targets", "target gpu space=vram ops=* queues=2 events=true flops=8e12 bandwidth=4e11 launch=1e-9 link=1e13 linkdelay=1e-9\n"+
		"target cpu like=cpu hint=4\n")
	if err != nil {
		t.Fatal(err)
	}
	o := pass.Options{Pipeline: steps}
	for _, text := range []string{"first.*=cpu", "second.*=gpu", "norm=gpu"} {
		pin, err := pass.ParsePin(text)
		if err != nil {
			t.Fatal(err)
		}
		o.Pins = append(o.Pins, pin)
	}
	m := irtest.Parse(t, irtest.TwoHalves)
	runPasses(t, m, list, o, "")
	return m, Options{Targets: list}
}

// TestBackendsAndCopiesAreTheWholeStep adds up what the summary counts.
func TestBackendsAndCopiesAreTheWholeStep(t *testing.T) {
	m, o := underWay(t, 2)
	_, doc := explained(t, m, o)
	e := doc.Summary.Entries[0]
	nodes, seconds, runs := e.Copies.Count, e.Copies.Seconds+e.BarrierSeconds, int64(0)
	for _, b := range e.Backends {
		nodes, seconds = nodes+b.Nodes, seconds+b.Seconds
	}
	for _, s := range e.Splits {
		runs += s.Runs
	}
	if nodes != e.Nodes || runs != e.Nodes-e.Copies.Count || e.Copies.Count == 0 {
		t.Errorf("%d nodes run: backends and copies have %d, %d of them copies, and splits have %d", e.Nodes, nodes, e.Copies.Count, runs)
	}
	if math.Abs(seconds/e.Seconds-1) > 1e-9 {
		t.Errorf("a step takes %g s one after the other: backends, copies and barriers take %g s", e.Seconds, seconds)
	}
}

// TestHeadStatesTheWholeCall compares the time in the head with the predicted call, of which barriers are a part.
func TestHeadStatesTheWholeCall(t *testing.T) {
	m, o := underWay(t, 2)
	text, _ := explained(t, m, o)
	doc, err := Explain(m, o)
	if err != nil {
		t.Fatal(err)
	}
	e, c := doc.Summary.Entries[0], doc.Calls[0]
	var barriers, end float64
	for _, r := range c.Runs {
		end = max(end, r.Begin+r.Seconds)
		if r.Kind == BarrierRun {
			barriers += r.Seconds
		}
	}
	if end != e.Call || math.Abs(barriers/e.BarrierSeconds-1) > 1e-9 || barriers == 0 {
		t.Errorf("the call ends after %g s with %g s at barriers; the summary has %g s and %g s", end, barriers, e.Call, e.BarrierSeconds)
	}
	wantAll(t, text, "predicted time of a call: @step "+pass.SecondsText(end)+" ("+pass.SecondsText(barriers)+" of it at barriers)\n")
}

// TestNodesOfStepsUnderWay explains nodes that wait for events of the call before and of this call, copies, and values
// with instances.
func TestNodesOfStepsUnderWay(t *testing.T) {
	m, o := underWay(t, 2)
	prev, now, instances := 0, 0, 0
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Submit == nil {
				continue
			}
			o.Node = n.String()
			text, _ := explained(t, m, o)
			for _, w := range n.Submit.Waits {
				if w.Prev {
					prev++
				} else {
					now++
				}
				if got := strings.Contains(text, " of the call before"); got != w.Prev && len(n.Submit.Waits) == 1 {
					t.Errorf("%v waits for an event, of the call before: %v, and the text is\n%s", n, w.Prev, text)
				}
			}
			if n.Submit.Slots > 1 {
				wantAll(t, text, ": the first of 2 instances, one for each step under way, which share bytes with nothing")
				instances++
			}
			if flowsToQueue(n) {
				wantAll(t, text, "runs for "+n.Backend)
			}
		}
	}
	if prev == 0 || now == 0 || instances == 0 {
		t.Errorf("%d waits for the call before, %d for this call, %d nodes with instances", prev, now, instances)
	}
}

func flowsToQueue(n *ir.Node) bool { return n.Op == ir.OpCopy && n.Submit.Queue != "" }

// TestSpacesHaveInputsOfAllSteps compares what a plan takes of each space with its arenas, of which those of inputs and
// outputs exist once for each step under way.
func TestSpacesHaveInputsOfAllSteps(t *testing.T) {
	m, o := underWay(t, 3)
	text, doc := explained(t, m, o)
	sum := make(map[string]int64)
	for _, a := range doc.Summary.Arenas {
		times := int64(1)
		if a.Class == "io" {
			times = 3
		}
		sum[a.Space] += times * a.Bytes
	}
	if len(doc.Summary.Spaces) != 2 {
		t.Errorf("spaces: %v", doc.Summary.Spaces)
	}
	for _, s := range doc.Summary.Spaces {
		if s.Bytes != sum[s.Space] {
			t.Errorf("%s: %d bytes, and its arenas have %d", s.Space, s.Bytes, sum[s.Space])
		}
		wantAll(t, text, s.Space+" "+pass.BytesText(s.Bytes))
	}
}

// TestSettersHaveInstances adds up the values that set the bounds of activations.
func TestSettersHaveInstances(t *testing.T) {
	m, o := underWay(t, 3)
	text, doc := explained(t, m, o)
	for _, a := range doc.Summary.Arenas {
		var sum int64
		for _, s := range a.Setters {
			sum += s.All()
		}
		if a.Class == "activations" && sum != a.Bound {
			t.Errorf("%s: the setters have %d bytes, the bound is %d", a.Space, sum, a.Bound)
		}
	}
	wantAll(t, text, "by what is live at once with 3 steps under way: %", " 3 × 16 KiB")
}
