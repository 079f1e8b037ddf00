package ir

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

func f32Type(shape ...Dim) Type { return Type{DType: dtype.F32, Shape: shape} }

func TestBuilderKeepsTheFirstError(t *testing.T) {
	tests := []struct {
		name  string
		build func(b *Builder, f *FuncBuilder, x *Value)
		want  string
	}{
		{"shape", func(b *Builder, f *FuncBuilder, x *Value) {
			f.At("blk.3")
			y := f.Add(x, f.Reshape(x, Const(5)))
			f.Return("y", f.MatMul(y, y, y))
			b.Fail(nil)
			f.ReLU(f.ReLU(y)) // what follows an error must not complain or panic
		}, `@f, at "blk.3": reshape: operand x f32[4]: has 4 elements, the shape [5] has 5`},
		{"weight twice", func(b *Builder, _ *FuncBuilder, _ *Value) {
			b.Weight("w", f32Type(Const(4)), nil)
			b.Weight("w", f32Type(Const(4)), nil)
		}, `weight "w" is declared twice`},
		{"weight type", func(b *Builder, _ *FuncBuilder, _ *Value) { b.Weight("w", Type{}, nil) }, "the dtype is missing"},
		{"state twice", func(b *Builder, _ *FuncBuilder, _ *Value) {
			b.State("w", f32Type(Const(4)))
			b.State("w", f32Type(Const(4)))
		}, `state "w" is declared twice`},
		{"state type", func(b *Builder, _ *FuncBuilder, _ *Value) { b.State("w", Type{}) }, "the dtype is missing"},
		{"symbol twice", func(b *Builder, _ *FuncBuilder, _ *Value) { b.Symbol("n", 0, 1); b.Symbol("n", 0, 1) }, "symbol n is declared twice"},
		{"symbol name", func(b *Builder, _ *FuncBuilder, _ *Value) { b.Symbol("a-b", 0, 1) }, "cannot be named"},
		{"symbol bounds", func(b *Builder, _ *FuncBuilder, _ *Value) { b.Symbol("n", 2, 1) }, "bounds 2 to 1 are not 0 <= min <= max"},
		{"function twice", func(b *Builder, _ *FuncBuilder, _ *Value) { b.Func("f") }, "@f is defined twice"},
		{"parameter twice", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Param("x", f32Type()) }, "parameter x occurs twice"},
		{"parameter type", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Param("y", Type{}) }, "the dtype is missing"},
		{"no weight", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Weight("w") }, `no weight "w"`},
		{"no operand", func(_ *Builder, f *FuncBuilder, _ *Value) { f.ReLU(nil) }, "operand x is missing"},
		{"no result", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Return("y", nil) }, `result "y" is absent`},
		{"constant", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Constant(f32Type(Const(2)), []byte{1}) }, "takes 8 bytes, not 1"},
		{"big constant", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Constant(f32Type(Const(2000)), make([]byte, 8000)) }, "make it a weight"},
		{"strided constant", func(_ *Builder, f *FuncBuilder, _ *Value) {
			f.Constant(Type{DType: dtype.I8, Shape: Dims(2), Strides: Dims(2)}, make([]byte, 2))
		}, "must be dense"},
		{"constant type", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Constant(Type{}, nil) }, "the dtype is missing"},
		{"foreign", func(_ *Builder, f *FuncBuilder, _ *Value) { f.Foreign(ForeignAttr{}, nil) }, "needs a type"},
		{"call", func(_ *Builder, f *FuncBuilder, x *Value) { f.Call("g", x) }, "no function @g: it has @f"},
		{"tables", func(_ *Builder, f *FuncBuilder, x *Value) {
			f.Repeat(2, []*Value{x}, nil, [][]*Value{{x}}, nil)
		}, "table 0 has 1 entries for 2 iterations"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			b := NewBuilder("m")
			f := b.Func("f")
			tt.build(b, f, f.Param("x", f32Type(Const(4))))
			f.Return("more", f.Neg(f.Param("z", f32Type())))
			_, err := b.Finish()
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %s", err, tt.want)
			}
		})
	}
}

func TestBuilderMakesRepeatsAndCalls(t *testing.T) {
	b := NewBuilder("m")
	n := b.Symbol("n", 1, 8)
	b.Weight("a", f32Type(Const(4)), nil)
	b.Weight("b", f32Type(Const(4)), nil)
	g := b.Func("g")
	x := g.Param("x", f32Type(n, Const(4)))
	ys := g.Repeat(2, []*Value{x}, []*Value{x}, [][]*Value{{g.Weight("a"), g.Weight("b")}},
		func(f *FuncBuilder, carried, invariant, tables []*Value) []*Value {
			return []*Value{f.Add(f.RMSNorm(carried[0], tables[0], 1e-5), invariant[0])}
		})
	g.Return("y", ys[0])
	f := b.Func("f")
	f.Doc("calls g")
	f.Return("z", f.Named("z", f.Call("g", f.Param("x", f32Type(n, Const(4))))[0]))
	m, err := b.Finish()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.AllFuncs()) != 3 || m.Props != PropImported|PropShaped {
		t.Errorf("functions %v, props %v", len(m.AllFuncs()), m.Props)
	}
	checkRoundTrip(t, m)
	if equal, diff := Equal(m, m.Clone()); !equal {
		t.Error(diff)
	}
}

func TestLeavesHaveOneNode(t *testing.T) {
	b := NewBuilder("m")
	b.Weight("w", f32Type(Const(4)), nil)
	f := b.Func("f")
	if first, second := f.Weight("w"), f.Weight("w"); first != second {
		t.Error("a weight has two nodes")
	}
}

// TestNodesAndValuesStaySmall makes growth of what there are thousands of a decision.
func TestNodesAndValuesStaySmall(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) != 8 {
		t.Skip("sizes are those of 64 bits")
	}
	if n := unsafe.Sizeof(Node{}); n > 224 {
		t.Errorf("a Node has %d bytes", n)
	}
	if n := unsafe.Sizeof(Value{}); n > 128 {
		t.Errorf("a Value has %d bytes", n)
	}
}
