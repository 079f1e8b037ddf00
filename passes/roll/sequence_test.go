package roll

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/irtest"
)

// TestSequenceOmitsLeaves makes a sequence of a function: where operands are made, which nodes read a value, and which
// leaves name the same bytes.
func TestSequenceOmitsLeaves(t *testing.T) {
	m := irtest.Parse(t, `weight "w" : f32[8,8]
weight "v" : f32[8,8]

func @f(%x: f32[4,8]) -> f32[4,8] {
  %w = weight "w"
  %a = matmul %x, %w
  %again = weight "w"
  %b = matmul %a, %again
  %v = weight "v"
  %c = matmul %b, %v
  %d = add %c, %a
  return %d
}
`)
	f := m.Funcs[0]
	s := newSequence(f)
	value := make(map[string]*ir.Value)
	for _, n := range f.Nodes {
		value[n.Result().Name()] = n.Result()
	}
	if len(s.nodes) != 4 || s.kinds[0] != s.kinds[1] || s.kinds[2] != s.kinds[1] || s.kinds[3] == s.kinds[2] {
		t.Errorf("%d nodes of the kinds %v, want three products and a sum", len(s.nodes), s.kinds)
	}
	for name, want := range map[string][]int32{"a": {1, 3}, "b": {2}, "w": {0}, "again": {1}, "d": nil} {
		if got := s.readers[value[name].ID]; !slices.Equal(got, want) {
			t.Errorf("%s is read at %v, want %v", name, got, want)
		}
	}
	if s.leaf(value["again"]) != value["w"] || s.leaf(value["v"]) != value["v"] || s.leaf(value["a"]) != nil {
		t.Errorf("leaves are %v, %v and %v", s.leaf(value["again"]), s.leaf(value["v"]), s.leaf(value["a"]))
	}
	var made []int32
	for _, operands := range s.operands {
		for _, o := range operands {
			made = append(made, o.maker)
		}
	}
	if want := []int32{madeOutside, madeByLeaf, 0, madeByLeaf, 1, madeByLeaf, 2, 0}; !slices.Equal(made, want) {
		t.Errorf("operands are made at %v, want %v", made, want)
	}
}
