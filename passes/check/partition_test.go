package check

import (
	"reflect"
	"testing"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
)

// TestKinds: whatever nodes of an op came before, a node's axes are what the op says of it.
func TestKinds(t *testing.T) {
	b := ir.NewBuilder("axes")
	f := b.Func("f")
	param := func(name string, shape ...int64) *ir.Value {
		return f.Param(name, ir.Type{DType: dtype.F32, Shape: ir.Dims(shape...)})
	}
	x, wide, row, long := param("x", 4, 64), param("wide", 4, 128), param("row", 64), param("long", 9, 64)
	values := []*ir.Value{
		f.Add(x, x), f.Add(x, x), f.Add(x, row), f.Add(wide, wide), f.Add(x, x),
		f.Concat(0, x, x), f.Concat(1, x, x), f.Concat(1, x, x), f.Neg(wide), f.Neg(x),
		f.Add(row, row), f.Add(long, long), f.Add(wide, wide), f.Add(x, x), f.Add(x, row), // more kinds than are remembered
	}
	f.Return("y", values[0])
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	var m kinds
	for i, v := range values {
		if got, want := m.of(v.Def).axes, v.Def.Op.Info().Axes(v.Def); !reflect.DeepEqual(got, want) {
			t.Errorf("value %d: %v, want %v", i, got, want)
		}
	}
}

// TestSharedOwners: whichever nodes came before, a node's owners are those that it would have
// alone.
func TestSharedOwners(t *testing.T) {
	b := ir.NewBuilder("owners")
	typ := ir.Type{DType: dtype.F32, Shape: ir.Dims(8, 64)}
	b.Weight("w", typ, nil)
	f := b.Func("f")
	x, w := f.Param("x", typ), f.Weight("w")
	part := f.Slice(f.Param("long", ir.Type{DType: dtype.F32, Shape: ir.Dims(16, 64)}), 0, ir.Const(8), ir.Const(8))
	var values []*ir.Value
	for _, y := range []*ir.Value{x, w, part, x, part, w} {
		values = append(values, f.Add(x, y), f.Add(y, x), f.Add(y, y), f.Add(x, y))
	}
	f.Return("y", values[0])
	if _, err := b.Finish(); err != nil {
		t.Fatal(err)
	}
	known, all := new(kinds), &ownerList{of: make([]*owners, x.Func.NumNodes())}
	shared := make(map[*owners]bool)
	for i, v := range values {
		n := v.Def
		n.Part = ir.Partition{Mode: ir.PartSplit, N: ir.Const(8), Granule: 1 << (i / 4 % 2), Tail: i/8%2 == 0}
		ax, k := known.chosen(n)
		all.add(n, ax, k)
		got, want := all.of[n.ID], new(ownerList).make(n, ax)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("value %d: %v, want %v", i, got, want)
		}
		shared[got] = true
	}
	if len(shared) == len(values) {
		t.Error("no owners are shared")
	}
}
