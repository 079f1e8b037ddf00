package kir

import (
	"strings"
	"testing"
)

func TestVerifyChecksTiles(t *testing.T) {
	a, b, sum := Tile(F16, TileA), Tile(F16, TileB), Tile(F32, TileSum)
	type builder struct {
		*Builder
		x, zero, f, thread *Value
		halves, numbers    *Shared
	}
	tests := []struct {
		name string
		fill func(b builder)
		want string // in the error; empty if there is none
	}{
		{"product", func(k builder) {
			y := k.TileMulAdd(k.TileLoad(a, k.x, 16), k.TileTurned(b, k.halves, k.zero, 16), k.TileFill(k.f))
			k.TileSharedStore(k.numbers, k.zero, y, 20)
		}, ""},
		{"carried", func(k builder) {
			k.For(k.zero, k.NumGroups(), k.Int(1), []*Value{k.TileFill(k.f)}, func(_ *Value, c []*Value) []*Value { return c })
		}, ""},
		{"chosen", func(k builder) {
			y := func() []*Value { return []*Value{k.TileFill(k.f)} }
			k.Choose(k.Eq(k.Subgroup(), k.zero), y, y)
		}, ""},
		{"index of the subgroup", func(k builder) { k.TileSharedLoad(a, k.halves, k.Mul(k.Subgroup(), k.Int(8)), 16) }, ""},
		{"index of the thread", func(k builder) { k.TileSharedLoad(a, k.halves, k.thread, 16) }, "operand 0 may differ between the threads of a subgroup"},
		{"number of the thread", func(k builder) { k.TileFill(k.Convert(k.thread, F32)) }, "operand 0 may differ"},
		{"address of the thread", func(k builder) { k.TileLoad(a, k.At(k.x, k.thread, 16), 16) }, "operand 0 may differ"},
		{"some threads", func(k builder) { k.If(k.Lt(k.thread, k.Int(3)), func() { k.TileFill(k.f) }) }, "not all threads of the subgroup may reach it"},
		{"some subgroups", func(k builder) { k.If(k.Lt(k.Subgroup(), k.Int(3)), func() { k.TileFill(k.f) }) }, ""},
		{"barrier of some subgroups", func(k builder) { k.If(k.Lt(k.Subgroup(), k.Int(3)), func() { k.Barrier() }) }, "not all threads may reach it"},
		{"sum of some subgroups", func(k builder) { k.If(k.Lt(k.Subgroup(), k.Int(3)), func() { k.ReduceAdd(k.f) }) }, ""},
		{"loop of the thread", func(k builder) {
			k.For(k.zero, k.thread, k.Int(1), []*Value{k.TileFill(k.f)}, func(_ *Value, c []*Value) []*Value { return c })
		}, "a tile comes from a block that not all threads of a subgroup may run"},
		{"choice of the thread", func(k builder) {
			y := k.TileFill(k.f)
			k.Choose(k.Eq(k.thread, k.zero), func() []*Value { return []*Value{y} }, func() []*Value { return []*Value{y} })
		}, "a tile comes from a block"},
		{"two kinds", func(k builder) {
			k.TileMulAdd(k.TileLoad(a, k.x, 16), k.TileLoad(Tile(BF16, TileB), k.x, 16), k.TileFill(k.f))
		}, "operand 1 is a tile_b_bf16, not a tile_b_f16"},
		{"swapped", func(k builder) { k.TileMulAdd(k.TileLoad(b, k.x, 16), k.TileLoad(a, k.x, 16), k.TileFill(k.f)) }, "operand 0 is a tile_b_f16, not a tile_a_f16"},
		{"addition", func(k builder) { y := k.TileFill(k.f); k.Add(y, y) }, "takes and gives no tiles"},
		{"selection", func(k builder) { y := k.TileFill(k.f); k.Select(k.Bits(Bool, 1), y, y) }, "takes and gives no tiles"},
		{"bits", func(k builder) { k.Bitcast(k.TileFill(k.f), b) }, "takes and gives no tiles"},
		{"no such tile", func(k builder) { k.TileLoad(Tile(F32, TileA), k.x, 16) }, "a tile_a_f32 is no tile"},
		{"another kind", func(k builder) { k.TileSharedLoad(sum, k.halves, k.zero, 16) }, "halves has elements of f16, the tile of f32"},
		{"turned sums", func(k builder) { k.TileTurned(sum, k.numbers, k.zero, 16) }, "a tile of sums is not turned"},
		{"lines that overlap", func(k builder) { k.TileSharedLoad(a, k.halves, k.zero, 8) }, "the stride of 16 bytes is not that of lines of 16"},
		{"uneven stride", func(k builder) { k.TileSharedLoad(a, k.halves, k.zero, 20) }, "the stride of 40 bytes is no multiple of 16"},
		{"wide stride", func(k builder) { k.TileLoad(a, k.x, 1<<30) }, "is too large"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := builder{Builder: NewBuilder("k", 64)}
			k.x = k.Arg("x", U64)
			k.zero, k.f, k.thread = k.Int(0), k.Float(0), k.Thread()
			k.halves, k.numbers = k.NewShared("halves", Scalar(F16), 512), k.NewShared("numbers", Scalar(F32), 512)
			tt.fill(k)
			_, err := k.Kernel()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestVerifyChecksCopies(t *testing.T) {
	tests := []struct {
		fill func(b *Builder, s *Shared, x *Value)
		want string
	}{
		{func(b *Builder, s *Shared, x *Value) { b.CopyAsync(s, b.Thread(), x, 16) }, ""},
		{func(b *Builder, s *Shared, x *Value) { b.CopyAsync(s, b.Thread(), x, 12) }, "12 bytes: 4, 8 or 16 are copied"},
		{func(b *Builder, s *Shared, x *Value) { b.CopyAsync(s, b.Thread(), x, 4) }, "4 bytes are no whole number of f32x2"},
		{func(b *Builder, s *Shared, x *Value) { b.CopyAsync(s, x, x, 8) }, "operand 0 is a u64, not a i32"},
		{func(b *Builder, s *Shared, x *Value) { b.CopyAsync(&Shared{}, x, x, 8) }, "a shared array that the kernel does not have"},
		{func(b *Builder, s *Shared, x *Value) { b.CopyWait(8) }, "8 groups: at most 7 stay under way"},
		{func(b *Builder, s *Shared, x *Value) {
			b.If(b.Eq(b.Thread(), b.Int(0)), func() { b.CopyCommit(); b.CopyWait(7) })
		}, ""},
	}
	for n, tt := range tests {
		b := NewBuilder("k", 64)
		tt.fill(b, b.NewShared("s", Vector(F32, 2), 64), b.Arg("x", U64))
		if _, err := b.Kernel(); tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%d: got %v, want %q", n, err, tt.want)
		}
	}
}
