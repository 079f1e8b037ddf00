package check

import (
	"reflect"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestAxesOf: whatever nodes of an op came before, a node's axes are what the op says of it.
func TestAxesOf(t *testing.T) {
	b := ir.NewBuilder("axes")
	f := b.Func("f")
	param := func(name string, shape ...int64) *ir.Value {
		return f.Param(name, ir.Type{DType: dtype.F32, Shape: ir.Dims(shape...)})
	}
	x, wide, row := param("x", 4, 64), param("wide", 4, 128), param("row", 64)
	values := []*ir.Value{
		f.Add(x, x), f.Add(x, x), f.Add(x, row), f.Add(wide, wide), f.Add(x, x),
		f.Concat(0, x, x), f.Concat(1, x, x), f.Concat(1, x, x), f.Neg(wide), f.Neg(x),
	}
	f.Return("y", values[0])
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	var m axesOf
	for i, v := range values {
		if got, want := m.of(v.Def), v.Def.Op.Info().Axes(v.Def); !reflect.DeepEqual(got, want) {
			t.Errorf("value %d: %v, want %v", i, got, want)
		}
	}
}
