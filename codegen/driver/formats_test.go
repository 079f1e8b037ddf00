package driver

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/target"
)

// TestFormatsThatATargetLacksBecomeQ8 compiles for the CPU alone, and for a device before it whose table has q8_0 but
// not the format, the format as well, or neither.
func TestFormatsThatATargetLacksBecomeQ8(t *testing.T) {
	device := func(weights ...dtype.DType) *target.Descriptor {
		f32 := target.Plain(dtype.F32)
		return &target.Descriptor{Name: "gpu0", Rows: []target.Row{{Op: ir.OpMatMul, Args: []target.Format{f32, target.Plain(weights...), f32}}}}
	}
	for _, tt := range []struct {
		name    string
		targets []*target.Descriptor
		want    dtype.DType
	}{
		{"cpu", []*target.Descriptor{target.CPU()}, dtype.Q4_K},
		{"device with q8_0", []*target.Descriptor{device(dtype.F16, dtype.Q8_0), target.CPU()}, dtype.Q8_0},
		{"device with the format", []*target.Descriptor{device(dtype.Q8_0, dtype.Q4_K), target.CPU()}, dtype.Q4_K},
		{"device without q8_0", []*target.Descriptor{device(dtype.F32), target.CPU()}, dtype.Q4_K},
	} {
		list, err := target.NewList(tt.targets...)
		if err != nil {
			t.Fatal(err)
		}
		m := &ir.Module{Name: "m"}
		w := &ir.Weight{Name: "w", Type: ir.Type{DType: dtype.Q4_K, Shape: ir.Dims(16, 256)}, Expr: ir.Tensor("m", "w")}
		m.Weights = append(m.Weights, w)
		f := m.AddFunc("f")
		leaf := f.Append(f.NewNode(ir.OpWeight, &ir.WeightAttr{Name: "w"}, nil, "w", w.Type))
		convertFormats(m, list)
		quantized := w.Expr.Op == ir.ExprQuantize && w.Expr.To == "q8_0"
		if w.Type.DType != tt.want || leaf.Result().Type.DType != tt.want || quantized != (tt.want == dtype.Q8_0) {
			t.Errorf("%s: the weight is %v, its leaf %v, quantized %v", tt.name, w.Type, leaf.Result().Type, quantized)
		}
	}
}

// TestFormatsOfViewsStay demands that a weight keeps its format if a slice reads it or if it is a result.
func TestFormatsOfViewsStay(t *testing.T) {
	m := &ir.Module{Name: "m"}
	f := m.AddFunc("f")
	for _, name := range []string{"sliced", "result", "read"} {
		w := &ir.Weight{Name: name, Type: ir.Type{DType: dtype.Q5_0, Shape: ir.Dims(16, 64)}, Expr: ir.Tensor("m", name)}
		m.Weights = append(m.Weights, w)
		leaf := f.Append(f.NewNode(ir.OpWeight, &ir.WeightAttr{Name: name}, nil, name, w.Type)).Result()
		switch name {
		case "sliced":
			attr := &ir.SliceAttr{Axis: 0, Start: ir.Const(0), Len: ir.Const(8)}
			f.Append(f.NewNode(ir.OpSlice, attr, []*ir.Value{leaf}, "part", w.Type.WithShape(ir.Dims(8, 64)...)))
		case "result":
			f.AddResult("y", leaf)
		}
	}
	rows := []target.Row{{Op: ir.OpMatMul, Args: []target.Format{target.Plain(dtype.F32), target.Plain(dtype.Q8_0)}}}
	list, err := target.NewList(&target.Descriptor{Name: "gpu0", Rows: rows}, target.CPU())
	if err != nil {
		t.Fatal(err)
	}
	convertFormats(m, list)
	for i, want := range []dtype.DType{dtype.Q5_0, dtype.Q5_0, dtype.Q8_0} {
		if got := m.Weights[i].Type.DType; got != want {
			t.Errorf("%s is %v, want %v", m.Weights[i].Name, got, want)
		}
	}
}
