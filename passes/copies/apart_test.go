package copies

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestUsesAreOfTheBytes lists where the bytes of each value are used: through views, by the body of a repeat, in place
// of an absent operand, and as a result at the end.
func TestUsesAreOfTheBytes(t *testing.T) {
	m := irtest.Parse(t, `func @f(%x: f32[2,4], %y: f32[8]) -> (f32[8], f32[2,4]) {
  %a = neg %x
  %b = reshape %a {shape=[8]}
  %c = foreign "ADD" %b, _, %y : f32[8]
  %d = exp %c
  %e = repeat %d, %y {count=3, carried=1, invariant=1} : f32[8]
  body @f.loop0(%p: f32[8], %q: f32[8]) -> (p: f32[8]) {
    %u = mul %p, %q
    return %u
  }
  %g = add %e, %b
  return %g, %a
}
`)
	l := &liveBytes{f: m.Funcs[0]}
	begin, uses := l.positions()
	want := map[string]struct {
		begin int
		uses  []int
	}{
		"x": {0, []int{0}}, "y": {0, []int{2, 4}},
		"a": {0, []int{1, 2, 5, 5}}, // %b has its bytes: nodes 2 and 5, and it is a result
		"b": {1, nil}, "c": {2, []int{3}}, "d": {3, []int{4}}, "e": {4, []int{5}}, "g": {5, []int{5}},
	}
	check := func(v *ir.Value) {
		w := want[v.Name()]
		if begin[v.ID] != w.begin || !slices.Equal(uses[v.ID], w.uses) {
			t.Errorf("%v begins at %d and is used at %v, want %d and %v", v, begin[v.ID], uses[v.ID], w.begin, w.uses)
		}
	}
	for _, v := range m.Funcs[0].Params {
		check(v)
	}
	for _, n := range m.Funcs[0].Nodes {
		for _, v := range n.Results {
			check(v)
		}
	}
}
