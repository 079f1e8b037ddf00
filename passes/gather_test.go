package passes

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestGather gathers a module with a body, results that are many, an operand that its node does without,
// and nodes that stand in another order than they were made in. The module stays what it was, and in each
// function nodes and results lie in the memory that all had, in order.
func TestGather(t *testing.T) {
	m := gatherable(t)
	nodes, values := make(map[*ir.Node]int), make(map[*ir.Value]int) // ids of those that lay there
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			nodes[n] = n.ID
			for _, r := range n.Results {
				values[r] = r.ID
			}
		}
	}
	text := m.String()
	gather(m.Funcs[0])
	if m.String() != text {
		t.Errorf("the module was\n%s\nand is\n%v", text, m)
	}
	if err := ir.Verify(m); err != nil {
		t.Error(err)
	}
	for _, f := range m.AllFuncs() {
		node, value := -1, -1
		for _, n := range f.Nodes {
			if at, had := nodes[n]; !had || at <= node {
				t.Errorf("@%s: %v lies where node %d lay, behind %d", f.Name, n, at, node)
			}
			node = nodes[n]
			for _, r := range n.Results {
				if at, had := values[r]; !had || at <= value {
					t.Errorf("@%s: %v lies where value %d lay, behind %d", f.Name, r, at, value)
				}
				value = values[r]
			}
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
	for range 5 {
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
	leaf := slices.IndexFunc(nodes, func(n *ir.Node) bool { return n.Op == ir.OpWeight })
	moved := nodes[leaf] // to where it is read
	copy(nodes[leaf:product-1], nodes[leaf+1:product])
	nodes[product-1] = moved
	return m
}
