package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/explain"
)

// traced returns the document of a small llama with a trace.
func traced(t *testing.T, trace string) (*Document, error) {
	list, m := parseTargets(t, oneCPU), irtest.Parse(t, irtest.SmallLlama.Text())
	r, _ := record(t, m, list)
	tr, err := ReadTrace(strings.NewReader(trace))
	if err != nil {
		return nil, err
	}
	return NewDocument(m, r, Options{Explain: explain.Options{Targets: list}, Trace: tr})
}

// events writes what threads do, in microseconds: a thread, a name, its begin and its duration.
func events(list ...[4]any) string {
	var texts []string
	for _, e := range list {
		texts = append(texts, fmt.Sprintf(`{"ph":"X","pid":0,"tid":%d,"name":%q,"ts":%d,"dur":%d}`, e[0], e[1], e[2], e[3]))
	}
	return "[\n" + strings.Join(texts, ",\n") + "\n]\n"
}

// TestMedianStepIsShown reads three steps of two threads, whose second one takes longest. A barrier after the last node
// of a step is no part of it.
func TestMedianStepIsShown(t *testing.T) {
	first, inner := nodeOf(t, "decode"), nodeOf(t, "decode.loop0")
	var list [][4]any
	for i, length := range []int{10, 90, 30} {
		at := 1000 * (i + 1)
		for thread := range 2 {
			list = append(list, [4]any{thread, nameOf(first), at, length}, [4]any{thread, "barrier", at + length, 5},
				[4]any{thread, nameOf(inner), at + length + 5, 7}, [4]any{thread, nameOf(inner), at + length + 12, 7},
				[4]any{thread, "decode nothing", at + length + 19, 1}, [4]any{thread, "barrier", at + length + 20, 500})
		}
	}
	d, err := traced(t, events(list...))
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Measured) != 1 {
		t.Fatalf("%d entry points are measured", len(d.Measured))
	}
	p := d.Measured[0]
	if got := fmt.Sprintf("%s %q %q %d %s", p.Func, p.Lanes, p.Names, len(p.Bars), p.Note); got != `decode ["thread 0" "thread 1"] ["decode nothing"] 10 the median of 3 steps, from 30 µs to 110 µs` {
		t.Errorf("the step is %s", got)
	}
	var got []string
	for _, b := range p.Bars {
		if b[0] == 0 {
			got = append(got, fmt.Sprint(b[1:]))
		}
	}
	at, in := d.at[first.ID], d.at[inner.ID]
	want := []string{fmt.Sprint([]int{at, 0, 30000, 0}), "[-1 30000 5000 0]", fmt.Sprint([]int{in, 35000, 7000, 0}), fmt.Sprint([]int{in, 42000, 7000, 1}), "[-3 49000 1000 0]"}
	if !slices.Equal(got, want) {
		t.Errorf("the bars of thread 0 are %v, want %v", got, want)
	}
}

// nodeOf returns the first node of a function that does work.
func nodeOf(t *testing.T, f string) *NodePage {
	d := planned(t, oneCPU)
	for _, n := range d.Graphs[0].Nodes {
		if page := d.Nodes[n[0]]; page.Kind == "node" && page.Func == f {
			return page
		}
	}
	t.Fatalf("@%s has no node", f)
	return nil
}

// nameOf returns the name of a node in a trace.
func nameOf(n *NodePage) string {
	return n.Func + " " + n.Op + " %" + strings.TrimPrefix(n.ID, n.Func+".")
}

// TestQueuesHaveNames reads what a queue does in two steps, without threads.
func TestQueuesHaveNames(t *testing.T) {
	d, err := traced(t, `[{"ph":"M","pid":0,"tid":0,"name":"thread_name","args":{"name":"gpu"}},
{"ph":"X","pid":0,"tid":0,"name":"@decode split 1","ts":10,"dur":4,"args":{"step":1}},
{"ph":"X","pid":0,"tid":0,"name":"@decode split 2[l=0]","ts":14,"dur":2,"args":{"step":1}},
{"ph":"X","pid":0,"tid":0,"name":"@decode split 1","ts":30,"dur":8,"args":{"step":2}}]`)
	if err != nil {
		t.Fatal(err)
	}
	p := d.Measured[0]
	if got := fmt.Sprintf("%q %q %v %s", p.Lanes, p.Names, p.Bars, p.Note); got != `["gpu"] ["@decode split 1"] [[0 -3 0 8000 0]] the median of 2 steps, from 6 µs to 8 µs` {
		t.Errorf("the step is %s", got)
	}
}

// TestWrongTraces are refused with what to do.
func TestWrongTraces(t *testing.T) {
	for text, want := range map[string]string{
		"":           "it is no list of events: give",
		"{}":         "it is no list of events: give",
		"[{]":        "event 1: ",
		`[{"ph":1}]`: "event 1: ",
		"[]":         "no event in it is of small: profile a program",
		`[{"ph":"X"`: "event 1: ",
		events([4]any{0, "other gather %x", 1, 1}): "no event in it is of small",
		`[{"ph":"X","ts":1e300,"dur":1}]`:          "event 1: it begins at 1e+300",
		`[{"ph":"X","ts":1,"dur":-1}]`:             "event 1: it begins at 1 and takes -1",
	} {
		if _, err := traced(t, text); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v, want %s", text, err, want)
		}
	}
}
