package assign

import (
	"fmt"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// threeMachines returns a search without nodes on two devices, which each address their own memory (spaces 1 and 2),
// and the host, with so many leaves.
func threeMachines(leaves int) *search {
	s := &search{problem: &problem{
		machine: machine{spaces: make([]target.Space, 3)},
		Problem: placement.Problem{Targets: []placement.Target{
			{Home: 1, Addresses: []bool{false, true, false}},
			{Home: 2, Addresses: []bool{false, false, true}},
			{Home: 0, Addresses: []bool{true, false, false}},
		}, Leaves: make([]placement.Leaf, leaves)},
	}}
	for i := range s.Leaves {
		s.Leaves[i].Spaces = []bool{true, true, true}
	}
	return s
}

// TestLeavesAreUsefulWhereTheirReadersRun expects each leaf, the first one included, to be useful in the memory of the
// devices that run a node which reads it, and of the host.
func TestLeavesAreUsefulWhereTheirReadersRun(t *testing.T) {
	const leaves = 3
	s := threeMachines(leaves)
	s.Nodes = make([]placement.Node, leaves)
	want := make([][]bool, leaves)
	for i := range leaves { // node i reads leaf i; bit d of i states whether it runs on device d
		s.Values = append(s.Values, placement.Value{Owner: int32(leaves + i), Maker: -1})
		s.Nodes[i] = placement.Node{Seconds: []float64{placement.Never, placement.Never, 1}, Reads: []int32{int32(i)}, Writes: -1}
		want[i] = []bool{true, false, false}
		for d := range 2 {
			if (i+1)>>d&1 == 1 {
				s.Nodes[i].Seconds[d], want[i][1+d] = 1, true
			}
		}
	}
	if got := s.usefulSpaces(); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("useful by leaf and space: %v, want %v", got, want)
	}
	if !s.withoutStores() {
		t.Error("no leaf is kept out of memory in which nothing reads it")
	}
	for i := range s.Leaves {
		if got := s.Leaves[i].Spaces; fmt.Sprint(got) != fmt.Sprint(want[i]) {
			t.Errorf("leaf %d may be stored in %v, want %v", i, got, want[i])
		}
	}
	if s.withoutStores() {
		t.Error("a second time changes something")
	}
}

// TestOutOfReachFollowsTheOwnerOfTheBytes writes a leaf, a result of a node and an input of the caller in place.
func TestOutOfReachFollowsTheOwnerOfTheBytes(t *testing.T) {
	s := threeMachines(1)
	node := &ir.Node{}
	s.Nodes = []placement.Node{{Writes: -1}, {Writes: 0}, {Writes: 1}, {Writes: 2}}
	s.nodes = []variable{{node: node}, {node: node}, {node: node}, {node: node}}
	s.Values = []placement.Value{
		{Owner: 0},            // of node 0, which runs on the first device
		{Owner: 4},            // of the leaf, which is stored in space 2
		{Owner: -1, Space: 0}, // an input
	}
	for writer, space := range map[int]int{1: 1, 2: 2, 3: 0} {
		for on, home := range []int{1, 2, 0} {
			labels := []int32{0, 2, 2, 2, 2}
			labels[writer] = int32(on)
			got, out := s.outOfReach(writer, labels)
			if got != space || out != (home != space) {
				t.Errorf("node %d on target %d: space %d, out of reach %v; want %d, %v", writer, on, got, out, space, home != space)
			}
		}
	}
}

// TestLargestValueLacksMost names the value that lacks most bytes, wherever it is among the nodes.
func TestLargestValueLacksMost(t *testing.T) {
	sizes := []int64{600, 800, 700}
	for turn := range sizes {
		b := ir.NewBuilder("m")
		f := b.Func("f")
		for i := range sizes {
			n := sizes[(i+turn)%len(sizes)]
			x := f.Param(fmt.Sprintf("x%d", i), ir.Type{DType: dtype.F32, Shape: ir.Dims(n)})
			f.Return(fmt.Sprintf("r%d", i), f.Named(fmt.Sprintf("v%d", n), f.Neg(x)))
		}
		m, err := b.Finish()
		if err != nil {
			t.Fatal(err)
		}
		s := threeMachines(0)
		s.limits, s.c = memoryLimits{2000, 2000, 2000}, &pass.Context{Options: &pass.Options{}}
		for _, n := range m.Funcs[0].Nodes {
			s.nodes = append(s.nodes, variable{node: n})
			s.Nodes = append(s.Nodes, placement.Node{Seconds: []float64{1, 1, 1}})
		}
		e := s.largestValue().(*pass.BudgetError)
		if e.Name != "@f %v800" || e.Need != 4*800 {
			t.Errorf("%s needs %d bytes, want @f %%v800, which needs 3200", e.Name, e.Need)
		}
	}
}
