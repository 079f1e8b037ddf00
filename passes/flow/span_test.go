package flow

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// views builds a function with the parameter x and views of it.
type views struct {
	f *ir.Func
	x *ir.Value
}

// newViews begins a function with an f32 parameter of that shape.
func newViews(shape ...ir.Dim) *views {
	m := &ir.Module{}
	f := m.AddFunc("f")
	return &views{f, f.AddParam("x", ir.Type{DType: dtype.F32, Shape: shape})}
}

// view appends a view and returns its result.
func (v *views) view(op ir.Op, attr any, of *ir.Value) *ir.Value {
	n := v.f.NewNode(op, attr, []*ir.Value{of}, "")
	types, err := ir.Infer(n)
	if err != nil {
		panic(err)
	}
	n.Results = []*ir.Value{v.f.NewValue("", types[0])}
	n.Results[0].Def = n
	return v.f.Append(n).Result()
}

// TestTraceFindsElementsOfUnits traces an axis of views of x, an f32[2,12,8], and compares which elements of x a unit
// of granule 4 covers.
func TestTraceFindsElementsOfUnits(t *testing.T) {
	shape := func(ns ...int64) any { return &ir.ReshapeAttr{Shape: ir.Dims(ns...)} }
	perm := func(p ...int) any { return &ir.PermuteAttr{Perm: p} }
	cut := func(axis int, start, n int64) any {
		return &ir.SliceAttr{Axis: axis, Start: ir.Const(start), Len: ir.Const(n)}
	}
	v := newViews(ir.Dims(2, 12, 8)...)
	flat := v.view(ir.OpReshape, shape(2, 96), v.x)
	turned := v.view(ir.OpPermute, perm(1, 2, 0), v.x)
	tests := []struct {
		name          string
		of            *ir.Value
		axis          int
		ok            bool
		period, width int64
	}{
		{"itself", v.x, 1, true, 96, 32},
		{"outermost", v.x, 0, true, 192, 384},
		{"innermost", v.x, 2, true, 8, 4},
		{"two dimensions in one", flat, 1, true, 96, 4},
		{"permuted", turned, 0, true, 96, 32},
		{"permuted, innermost", turned, 1, true, 8, 4},
		{"permuted and split", v.view(ir.OpReshape, shape(3, 4, 8, 2), turned), 2, true, 8, 4},
		{"another axis is cut", v.view(ir.OpSlice, cut(0, 1, 1), v.x), 1, true, 96, 32},
		{"an inner axis is cut", v.view(ir.OpSlice, cut(2, 4, 2), v.x), 1, true, 96, 32},
		{"the axis is cut", v.view(ir.OpSlice, cut(1, 0, 4), v.x), 1, false, 0, 0},
		{"elements within an index", v.view(ir.OpPermute, perm(0, 2, 1), v.view(ir.OpReshape, shape(2, 8, 12), flat)), 2, true, 96, 48},
	}
	for _, tt := range tests {
		s, ok := trace(tt.of, tt.axis)
		if ok != tt.ok {
			t.Errorf("%s: ok is %v", tt.name, ok)
			continue
		}
		if !ok {
			continue
		}
		if w, whole := s.width(4); !whole || !w.Is(tt.width) || !s.Period.Is(tt.period) {
			t.Errorf("%s: period %v, width %v, want %d, %d", tt.name, s.Period, w, tt.period, tt.width)
		}
	}
}
