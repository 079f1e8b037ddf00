package ir

import (
	"strings"
	"testing"
)

const observedText = `ggir 1
module "observed"
after assign
props imported,shaped,assigned
target cpu
symbol n 1 8
func @f(%x: f32[n,4] @host) -> (y: f32[n,4]) observed=["e", "h0", "h1"] {
  %e = exp %x : f32[n,4] in host @cpu
  observe %e {names=["e"]} @cpu
  %r = repeat %e {count=2, carried=1, invariant=0} : f32[n,4] in host @cpu
  body @b(%h: f32[n,4] @host) -> (h: f32[n,4]) {
    %n = neg %h : f32[n,4] in host @cpu
    observe %n {names=["h0", "h1"]} @cpu
    return %n
  }
  return %r
}
`

// TestVerifyFindsWrongHandOvers damages nodes that hand values out, and the list of their names.
func TestVerifyFindsWrongHandOvers(t *testing.T) {

	attr := func(n *Node) *ObserveAttr { return n.Attr.(*ObserveAttr) }
	for _, tt := range []struct {
		name   string
		damage func(m *Module, f *Func)
		want   string
	}{
		{"nothing", func(*Module, *Func) {}, ""},
		{"before assign", func(m *Module, _ *Func) { m.Props &^= PropAssigned }, "@f observe %e: observe: this node comes after pass assign: use --observe"},
		{"too many names", func(_ *Module, f *Func) { attr(f.Nodes[1]).Names = []string{"e", "h0"} }, "@f observe %e: observe: 2 names for 1 time"},
		{"no name of an iteration", func(_ *Module, f *Func) { b := f.Nodes[2].Body; attr(b.Nodes[1]).Names = []string{"h0"} }, "observe %n: observe: 1 name for 2 times"},
		{"name not listed", func(_ *Module, f *Func) { f.Observed = f.Observed[1:] }, `@f observe %e: observe: @f does not list "e" as observed`},
		{"listed twice", func(_ *Module, f *Func) { f.Observed = append(f.Observed, "e") }, "@f return: observe: a name of an observed value is listed twice"},
		{"list of a body", func(_ *Module, f *Func) { f.Nodes[2].Body.Observed = []string{"h0"} }, "@b return: observe: a body lists observed values: the entry point does"},
		{"a result", func(_ *Module, f *Func) {
			n := f.Nodes[1]
			v := f.NewValue("v", n.Args[0].Type)
			v.Def = n
			n.Results = []*Value{v}
		}, "observe has 0 results, not 1"},
		{"no attributes", func(_ *Module, f *Func) { f.Nodes[1].Attr = nil }, "needs attributes of type"},
		{"a view that is not dense", func(_ *Module, f *Func) {
			n := f.NewNode(OpPermute, &PermuteAttr{Perm: []int{1, 0}}, []*Value{f.Nodes[0].Result()}, "p")
			types, err := Infer(n)
			if err != nil {
				panic(err)
			}
			types[0].Space = "host"
			v := f.NewValue("p", types[0])
			v.Def, n.Results = n, []*Value{v}
			f.InsertBefore(f.Nodes[1], n)
			f.Nodes[2].Args = []*Value{v}
		}, "is not dense"},
	} {
		m := mustParse(t, observedText)
		tt.damage(m, m.Funcs[0])
		err := Verify(m)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: got %v\nwant %s", tt.name, err, tt.want)
		}
		_ = m.String() // what is broken must still be printed
	}
}
