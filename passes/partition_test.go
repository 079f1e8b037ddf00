package passes

import (
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

func TestRat(t *testing.T) {
	tests := []struct{ a, b, want rat }{
		{rat{16, 1}, rat{32, 1}, rat{32, 1}},
		{rat{1, 2}, rat{1, 3}, rat{1, 1}},
		{rat{3, 4}, rat{1, 2}, rat{3, 2}},
		{rat{6, 4}, rat{3, 2}, rat{3, 2}},
	}
	for _, tt := range tests {
		if got := lcmRat(tt.a, tt.b); got != tt.want {
			t.Errorf("lcm of %v and %v is %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
	tokens := ir.Sym(&ir.Symbol{Name: "tokens", Min: 1, Max: 512})
	if r, ok := dimRatio(tokens.Mul(ir.Const(64)), tokens.Mul(ir.Const(16))); !ok || r != (rat{4, 1}) {
		t.Errorf("64*tokens / 16*tokens is %v, %v", r, ok)
	}
	if r, ok := dimRatio(tokens, ir.Const(512)); ok {
		t.Errorf("tokens / 512 is %v for all sizes", r)
	}
}

// views builds a function with the parameter x and views of it.
type views struct {
	f *ir.Func
	x *ir.Value
}

func newViews(shape ...ir.Dim) *views {
	m := &ir.Module{}
	f := m.AddFunc("f")
	return &views{f, f.AddParam("x", ir.Type{DType: dtype.F32, Shape: shape})}
}

func (v *views) view(op ir.Op, attr any, of *ir.Value) *ir.Value {
	n := v.f.NewNode(op, attr, []*ir.Value{of}, "")
	types, err := ir.InferInto(nil, n)
	if err != nil {
		panic(err)
	}
	n.Results = []*ir.Value{v.f.NewValue("", types[0])}
	n.Results[0].Def = n
	return v.f.Append(n).Result()
}

// TestTrace: which elements of x, of 2*12*8, a unit of granule 4 on an axis of a view has.
func TestTrace(t *testing.T) {
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
		if w, whole := s.width(4); !whole || !w.Is(tt.width) || !s.period.Is(tt.period) {
			t.Errorf("%s: period %v, width %v, want %d, %d", tt.name, s.period, w, tt.period, tt.width)
		}
	}
}

// TestClass: granules follow each other by their ratios, up to the smallest common one.
func TestClass(t *testing.T) {
	v := newViews(ir.Dims(1, 64)...)
	node := func() *ir.Node { return v.view(ir.OpReshape, &ir.ReshapeAttr{Shape: ir.Dims(1, 64)}, v.x).Def }
	a, b, c := node(), node(), node()
	alone := func(n *ir.Node, granule int64) *class { return aloneClass(n, &ir.Axis{Axis: 1, Granule: granule}) }
	ab, ok := joinClasses(alone(a, 16), a, alone(b, 3), b, rat{1, 4})
	if !ok || ab.granule(a) != 48 || ab.granule(b) != 12 {
		t.Fatalf("granules %d and %d", ab.granule(a), ab.granule(b))
	}
	abc, ok := joinClasses(ab, b, alone(c, 8), c, rat{1, 3})
	if !ok || abc.granule(a) != 96 || abc.granule(b) != 24 || abc.granule(c) != 8 || abc.units() != 1 {
		t.Errorf("granules %d, %d, %d", abc.granule(a), abc.granule(b), abc.granule(c))
	}
	if _, ok := joinClasses(abc, a, abc, c, rat{1, 12}); !ok {
		t.Error("the class does not know what it holds already")
	}
	if _, ok := joinClasses(abc, a, abc, c, rat{1, 6}); ok {
		t.Error("two ratios of the same two nodes are possible")
	}
	if got := abc.need(c, 16).granule(a); got != 192 {
		t.Errorf("granule %d, want 192", got)
	}
}

// TestParallel: the worker that has most units sets the pace.
func TestParallel(t *testing.T) {
	for _, tt := range []struct {
		units   int64
		workers int
		want    float64
	}{{8, 8, 8}, {9, 8, 4.5}, {4, 8, 4}, {1, 8, 1}, {100, 1, 1}, {0, 4, 1}} {
		if got := parallel(tt.units, tt.workers); got != tt.want {
			t.Errorf("%d units by %d workers: %v, want %v", tt.units, tt.workers, got, tt.want)
		}
	}
}
