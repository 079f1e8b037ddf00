package passes

import (
	"strings"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

func doNothing(*pass.Context, *ir.Module) error { return nil }

func TestCheckTableReportsContradictions(t *testing.T) {
	a := pass.Pass{Name: "a", Doc: "first", Run: doNothing, Required: true, Needs: ir.PropImported, Gives: ir.PropShaped, Rules: []pass.Rule{{Name: "a.x", Doc: "x"}}}
	b := pass.Pass{Name: "b", Doc: "second", Run: doNothing, Needs: ir.PropShaped, Gives: ir.PropAssigned}
	c := pass.Pass{Name: "c", Doc: "third", Run: doNothing, Needs: ir.PropAssigned}
	before := []Constraint{{"a", "b", "b reads what a makes"}}
	with := func(p pass.Pass, change func(*pass.Pass)) pass.Pass { change(&p); return p }
	for _, tt := range []struct {
		name        string
		table       []pass.Pass
		constraints []Constraint
		want        string // empty: no error
	}{
		{"right", []pass.Pass{a, b}, before, ""},
		{"order", []pass.Pass{b, a}, before, "a has to precede b: b reads what a makes"},
		{"missing property", []pass.Pass{b}, nil, "pass b needs shaped, which no earlier pass gives"},
		{"broken property", []pass.Pass{a, with(a, func(p *pass.Pass) { p.Name, p.Rules, p.Gives, p.Breaks = "x", nil, 0, ir.PropShaped }), b}, nil, "pass x breaks shaped, which an earlier pass gives"},
		{"property of an optional pass", []pass.Pass{a, b, c}, nil, "assigned, which comes from a pass that can be disabled"},
		{"twice", []pass.Pass{a, with(a, func(p *pass.Pass) { p.Rules = nil })}, nil, "pass a is listed twice"},
		{"under another name", []pass.Pass{a, a.As("again")}, nil, ""},
		{"same rule", []pass.Pass{a, with(a, func(p *pass.Pass) { p.Name = "z" })}, nil, "rule a.x is declared by a and by z"},
		{"rule without a doc", []pass.Pass{with(a, func(p *pass.Pass) { p.Rules = []pass.Rule{{Name: "a.y", Doc: ""}} })}, nil, "lacks a name or a doc"},
		{"unknown name", []pass.Pass{a}, before, "names a pass that is not in the table"},
		{"no reason", []pass.Pass{a, b}, []Constraint{{"a", "b", ""}}, "gives no reason"},
		{"no function", []pass.Pass{{Name: "n", Doc: "d"}}, nil, "lacks a name, a doc or a function"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := checkTable(tt.table, tt.constraints)
			switch {
			case tt.want == "" && err != nil:
				t.Errorf("error %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPipelineHasNoContradictions(t *testing.T) {
	if err := checkTable(Passes(), Constraints()); err != nil {
		t.Error(err)
	}
	for _, p := range Passes() {
		if Find(p.Name) == nil || strings.Contains(p.Doc, "\n") {
			t.Errorf("pass %s: not found, or a doc of several lines", p.Name)
		}
	}
}
