package ir

import (
	"fmt"
	"slices"
	"sync"
	"testing"
)

func TestCausesStayInOrder(t *testing.T) {
	f := new(Module).AddFunc("f")
	n := f.NewNode(OpNeg, nil, nil, "")
	if _, ok := n.LastCause(); ok || n.Causes() != nil {
		t.Errorf("a new node has causes: %v", n.Causes())
	}
	want := []Cause{
		{Pass: "p", Rule: "none"},
		{Pass: "p", Rule: "one", Operands: []string{""}, Before: "b"},
		{Pass: "q", Rule: "three", Operands: []string{"x", "y", "z"}, After: "a"},
		{Pass: "p", Rule: "none"},
	}
	n.Cause(want[0])
	n.Cause(want[1])
	n.Cause(Cause{Pass: "q", Rule: "three", Operands: []string{"x"}, After: "a"}, "y", "z")
	other := f.NewNode(OpNeg, nil, nil, "")
	other.CausedAs(n)
	n.Cause(want[3])
	for node, want := range map[*Node][]Cause{n: want, other: want[:3]} {
		if got := node.Causes(); !slices.EqualFunc(got, want, Cause.Equal) {
			t.Errorf("got %v, want %v", got, want)
		}
		if last, ok := node.LastCause(); !ok || !last.Equal(want[len(want)-1]) {
			t.Errorf("the last one is %v", last)
		}
	}
	for rule, want := range map[string]Cause{"none": want[0], "one": want[1], "three": want[2]} {
		got, ok := n.FirstCause(func(_, r string) bool { return r == rule })
		if !ok || !got.Equal(want) {
			t.Errorf("the first cause by %s is %v, want %v", rule, got, want)
		}
	}
	if _, ok := n.FirstCause(func(pass, _ string) bool { return pass == "r" }); ok || !n.HasCause("one") || n.HasCause("two") {
		t.Error("the rules of the causes are others")
	}
}

// TestCausesAreAddedToNodesInParallel is for the race detector.
func TestCausesAreAddedToNodesInParallel(t *testing.T) {
	f := new(Module).AddFunc("f")
	var nodes []*Node
	for range 4 {
		nodes = append(nodes, f.NewNode(OpNeg, nil, nil, ""))
	}
	const each = 100
	cause := func(i, k int) Cause {
		return Cause{Rule: "r", Operands: []string{fmt.Sprint(i)}, After: fmt.Sprint(k)}
	}
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			for k := range each {
				n.Cause(cause(i, k))
			}
		})
	}
	all.Wait()
	for i, n := range nodes {
		causes := n.Causes()
		if len(causes) != each {
			t.Fatalf("node %d has %d causes, not %d", i, len(causes), each)
		}
		for k, c := range causes {
			if !c.Equal(cause(i, k)) {
				t.Fatalf("cause %d of node %d is %v", k, i, c)
			}
		}
	}
}
