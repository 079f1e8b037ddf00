package explain

import (
	"reflect"
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/irtest"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestAllIsEachQuestionInTurn asks for each node, parameter and member by its name, and for the summary.
func TestAllIsEachQuestionInTurn(t *testing.T) {
	list, err := target.Parse("targets", "target cpu like=cpu memory=1GiB\n")
	if err != nil {
		t.Fatal(err)
	}
	m := irtest.Parse(t, irtest.SmallLlama.Text())
	runPasses(t, m, list, pass.Options{}, "")
	o := Options{Targets: list, MaxMemory: map[string]int64{"host": 1 << 20}}
	all := ExplainAll(m, o)
	ask := func(name string) *Explanations {
		o.Node = name
		doc, err := Explain(m, o)
		if err != nil {
			t.Fatal(err)
		}
		return doc
	}
	if want := ask("").Summary; !reflect.DeepEqual(all.Summary, want) {
		t.Errorf("the summary is %+v, want %+v", all.Summary, want)
	}
	for _, n := range all.Nodes {
		if !slices.ContainsFunc(ask("@"+n.Func+" "+n.Node).Nodes, func(r *NodeReport) bool { return reflect.DeepEqual(r, n) }) {
			t.Errorf("@%s %s is explained differently", n.Func, n.Node)
		}
	}
	for _, l := range all.Members {
		if !slices.ContainsFunc(ask(l.Name).Members, func(r *MemberReport) bool { return reflect.DeepEqual(r, l) }) {
			t.Errorf("%s %s is explained differently", l.Kind, l.Name)
		}
	}
	if want := len(m.Weights) + len(m.States); len(all.Members) != want || len(all.Nodes) < 20 {
		t.Errorf("%d members and %d nodes are explained, want %d members", len(all.Members), len(all.Nodes), want)
	}

	// The smaller limit counts; the plan takes the sum of its arenas.
	var sum int64
	for _, a := range all.Summary.Arenas {
		sum += a.Bytes
	}
	if got := all.Summary.Limits; len(got) != 1 || got[0] != (LimitSummary{"host", 1 << 20, sum, "the 1 MiB of --max-memory host"}) {
		t.Errorf("the limits are %+v; all arenas take %d bytes", got, sum)
	}
}
