package check

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestUnitsOfPlainValuesHavePeriods demands the periods and widths of the examples in owner.go.
func TestUnitsOfPlainValuesHavePeriods(t *testing.T) {
	tokens := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 4})
	rows := []ir.Dim{tokens, ir.Const(64)}
	sliced := ir.Type{DType: dtype.F32, Shape: []ir.Dim{tokens, ir.Const(32)}, Strides: ir.Dims(64, 1)}
	for _, tt := range []struct {
		name          string
		typ           ir.Type
		offset        ir.Dim
		axis          int
		granule       int64
		period, width string // empty where every worker may touch all bytes
	}{
		{"columns", ir.Type{DType: dtype.F32, Shape: rows}, ir.Dim{}, 1, 16, "256", "64"},
		{"rows", ir.Type{DType: dtype.F32, Shape: rows}, ir.Dim{}, 0, 1, "256*tokens", "256"},
		{"the axis in the middle", ir.Type{DType: dtype.F32, Shape: ir.Dims(3, 4, 64)}, ir.Dim{}, 1, 1, "1024", "256"},
		{"the innermost of three axes", ir.Type{DType: dtype.F32, Shape: ir.Dims(3, 4, 64)}, ir.Dim{}, 2, 16, "256", "64"},
		{"whole blocks", ir.Type{DType: dtype.Q8_0, Shape: ir.Dims(4, 64)}, ir.Dim{}, 1, 32, "68", "34"},
		{"parts of blocks", ir.Type{DType: dtype.Q8_0, Shape: ir.Dims(4, 64)}, ir.Dim{}, 1, 16, "", ""},
		{"columns from the beginning of a row", sliced, ir.Const(64), 1, 16, "128", "64"},
		{"columns from the middle of a row", sliced, ir.Const(8), 1, 16, "", ""},
	} {
		o := unitsOf(tt.typ, tt.offset, tt.axis, tt.granule)
		switch {
		case tt.period == "" && o.by != byAll:
			t.Errorf("%s: units of %v of %v bytes, want none", tt.name, o.width, o.period)
		case tt.period != "" && (o.by != byUnit || o.period.String() != tt.period || o.width.String() != tt.width):
			t.Errorf("%s: units of %v of %v bytes, want %s of %s", tt.name, o.width, o.period, tt.width, tt.period)
		}
	}
}

// TestAxisOfRefusesUndescribedDivisions demands that a division is refused which the op does not describe for the axis.
func TestAxisOfRefusesUndescribedDivisions(t *testing.T) {
	b := ir.NewBuilder("axes")
	f := b.Func("f")
	x := f.Param("x", ir.Type{DType: dtype.F32, Shape: ir.Dims(4, 64)})
	n := f.Softmax(x).Def
	f.Return("y", n.Result())
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	for axis, want := range []bool{true, false} { // a row is one unit of softmax
		n.Part = ir.Partition{Mode: ir.PartSplit, Axis: axis, N: n.Result().Type.Shape[axis], Granule: 1}
		if got := axisOf(n) != nil; got != want {
			t.Errorf("axis %d: described is %v, want %v", axis, got, want)
		}
	}
}
