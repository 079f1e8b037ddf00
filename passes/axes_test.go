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
				before := m.last[n.Op].node
				compare(n)
				if m.last[n.Op].node == before {
					known++
				}
			}
		}
	}
	if known == 0 {
		t.Error("no node was like the one before")
	}
	b := ir.NewBuilder("m")
	f := b.Func("f")
	x, y, z := f.Param("x", rowsOf(4)), f.Param("y", rowsOf(4)), f.Param("z", rowsOf(1))
	for _, v := range []*ir.Value{f.Add(x, y), f.Add(x, z), f.Add(y, z), f.Add(z, z)} {
		compare(v.Def)
	}
}

func rowsOf(n int64) ir.Type { return ir.Type{DType: dtype.F32, Shape: ir.Dims(n, 64)} }
