package passes

import (
	"reflect"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestAxisMemo compares with nodeAxes in random models, and on nodes of which one has
// an operand of another type.
func TestAxisMemo(t *testing.T) {
	var m axisMemo
	compare := func(n *ir.Node) {
		t.Helper()
		if got, want := m.of(n), nodeAxes(n); !reflect.DeepEqual(got, want) {
			t.Fatalf("%v: axes %v, want %v", n, got, want)
		}
	}
	known := 0
	for seed := range *seeds {
		for _, f := range newRandomModel(seed).m.AllFuncs() {
			for _, n := range f.Nodes {
				before := m.kinds.last[n.Op]
				compare(n)
				if m.kinds.last[n.Op].next == before.next {
					known++
				}
			}
		}
	}
	if known == 0 {
		t.Error("no node was like one before")
	}
	b := ir.NewBuilder("m")
	f := b.Func("f")
	x, y, z, u := f.Param("x", rowsOf(4)), f.Param("y", rowsOf(4)), f.Param("z", rowsOf(1)), f.Param("u", rowsOf(3))
	for range 2 {
		for _, v := range []*ir.Value{f.Add(x, y), f.Add(x, z), f.Add(y, z), f.Add(z, z), f.Add(u, u), f.Add(u, z)} {
			compare(v.Def)
		}
	}
}

func rowsOf(n int64) ir.Type { return ir.Type{DType: dtype.F32, Shape: ir.Dims(n, 64)} }
