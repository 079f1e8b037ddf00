package order

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestGroupsTakeNodesOfTheWindowOnly has chains that are longer than the window: a node moves past fewer nodes than
// that.
func TestGroupsTakeNodesOfTheWindowOnly(t *testing.T) {
	targets, err := target.Parse("targets", "target gpu space=dev ops=* queues=1 concurrent=true\ntarget cpu like=cpu")
	if err != nil {
		t.Fatal(err)
	}
	b := ir.NewBuilder("m")
	f := b.Func("f")
	x := f.Param("x", rowsOf(1))
	y, z := x, x
	for range window - 1 {
		y = f.Neg(y)
	}
	z = f.Exp(z) // the 16th node: within the window of the first
	w := f.Abs(x)
	f.Return("y", y)
	f.Return("z", z)
	f.Return("w", w)
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range m.Funcs[0].Nodes {
		n.Backend, n.Split = "gpu", 0
		n.Result().Type.Space = "dev"
	}
	c, err := pass.NewContext(t.Context(), &Pass, targets, &pass.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := newDataflow(targets, m.Funcs[0])
	list := g.groups(c, identity(len(g.work)))
	want := []int{0, window - 1, 1, window}
	for i := 2; i < window-1; i++ {
		want = append(want, i)
	}
	if !slices.Equal(list, want) {
		t.Errorf("order %d, want %d", list, want)
	}
}
