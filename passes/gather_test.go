package passes

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestGather gathers a module with a body, results that are many, an operand that its node does without
// and more nodes than lie in one piece. The module stays what it was, of nodes and values that are all
// others, but for parameters.
func TestGather(t *testing.T) {
	m := gatherable(t)
	before, text := parts(m), m.String()
	gather(m.Funcs[0])
	if m.String() != text {
		t.Errorf("the module was\n%s\nand is\n%v", text, m)
	}
	if err := ir.Verify(m); err != nil {
		t.Error(err)
	}
	for part := range parts(m) {
		if before[part] {
			t.Errorf("%v lies where it lay", part)
		}
	}
}

// gatherable returns that module.
func gatherable(t *testing.T) *ir.Module {
	b := ir.NewBuilder("m")
	row := ir.Type{DType: dtype.F32, Shape: ir.Dims(1, 64)}
	b.Weight("w", row.WithShape(ir.Dims(64, 64)...), nil)
	f := b.Func("f")
	x, w := f.Param("x", row), f.Weight("w")
	for range gatherShare {
		x = f.Add(x, f.SiLU(x))
	}
	ys := f.Repeat(2, []*ir.Value{x, f.MatMul(x, w)}, nil, nil, func(f *ir.FuncBuilder, carried, _, _ []*ir.Value) []*ir.Value {
		return []*ir.Value{f.SiLU(carried[1]), f.Add(carried[0], carried[1])}
	})
	f.Return("y", ys[0])
	f.Return("z", ys[1])
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	nodes := m.Funcs[0].Nodes
	product := slices.IndexFunc(nodes, func(n *ir.Node) bool { return n.Op == ir.OpMatMul })
	nodes[product].Args = append(nodes[product].Args, nil)
	return m
}

// parts returns all nodes of m and their results.
func parts(m *ir.Module) map[any]bool {
	all := make(map[any]bool)
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			all[n] = true
			for _, r := range n.Results {
				all[r] = true
			}
		}
	}
	return all
}
