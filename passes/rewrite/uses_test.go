package rewrite

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// TestUseCountsStayExact rewrites away nodes that are read several times and compares the updated counts with new
// ones.
func TestUseCountsStayExact(t *testing.T) {
	m, err := ir.Parse("t", []byte(`ggir 1
module "m"
after import
props imported,shaped
func @f(%x: f32[2,4]) -> (f32[2,4], f32[2,4]) {
  %a = neg %x
  %b = reshape %a {shape=[2,4]}
  %c = add %b, %b
  %d = scale %b {scale=1}
  %e = add %d, %c
  return %e, %d
}
`))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Funcs[0]
	rewrites := []Rewrite{
		{
			Rule:    pass.Rule{Name: "test.reshape", Doc: "a reshape is its operand"},
			Pattern: Pattern{Op: ir.OpReshape, Args: []Pattern{AnyValue("x")}},
			Build:   func(m *Match) { m.Replace(m.Value("x")) },
		},
		{
			Rule:    pass.Rule{Name: "test.scale", Doc: "a scaled value is its negative"},
			Pattern: Pattern{Op: ir.OpScale, Args: []Pattern{AnyValue("x")}},
			Build:   func(m *Match) { m.Become(ir.OpNeg, nil, m.Value("x")) },
		},
	}
	c, err := pass.NewContext(t.Context(), &pass.Pass{Name: "test", Rules: RulesOf(rewrites)}, nil, &pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	uses := countUses(f)
	rewriteFunc(c, f, indexRewrites(rewrites), uses)
	if applied := c.Stats.Counters; len(applied) != 2 {
		t.Fatalf("only %v applied", applied)
	}
	want := countUses(f)
	if !slices.Equal(uses.values, want.values) || !slices.Equal(uses.nodes, want.nodes) {
		t.Errorf("reads of values are kept as %v and are %v; of nodes %v and %v", uses.values, want.values, uses.nodes, want.nodes)
	}
}
