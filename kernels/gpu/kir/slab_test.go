package kir

import (
	"strings"
	"testing"
)

// slabBuilder builds a kernel with slabs.
type slabBuilder struct {
	*Builder
	zero, f, thread *Value
	halves, numbers *Shared
}

// add adds the product of the first elements to a slab.
func (k *slabBuilder) add(s *Value) *Value { return k.SlabMulAdd(k.halves, k.zero, k.zero, s, 64, 128) }

// loop runs a body that continues slabs.
func (k *slabBuilder) loop(to *Value, body func(s []*Value) []*Value, init ...*Value) []*Value {
	return k.For(k.zero, to, k.Int(1), init, func(_ *Value, s []*Value) []*Value { return body(s) })
}

func TestVerifyChecksSlabs(t *testing.T) {
	tests := []struct {
		name string
		fill func(k *slabBuilder)
		want string // in the error; empty if there is none
	}{
		{"product", func(k *slabBuilder) { k.SlabTile(k.add(k.SlabFill(64, k.f)), 3) }, ""},
		{"read twice", func(k *slabBuilder) { s := k.add(k.SlabFill(256, k.f)); k.SlabTile(s, 0); k.SlabTile(s, 15) }, ""},
		{"carried", func(k *slabBuilder) {
			s := k.loop(k.NumGroups(), func(s []*Value) []*Value { return []*Value{k.add(k.add(s[0])), s[1]} }, k.SlabFill(64, k.f), k.SlabFill(32, k.f))
			k.SlabTile(k.add(s[0]), 1)
		}, ""},
		{"carried twice", func(k *slabBuilder) {
			k.loop(k.NumGroups(), func(s []*Value) []*Value {
				return k.loop(k.NumGroups(), func(s []*Value) []*Value { return []*Value{k.add(s[0])} }, s...)
			}, k.SlabFill(64, k.f))
		}, ""},
		{"added to twice", func(k *slabBuilder) { s := k.SlabFill(64, k.f); k.add(s); k.add(s) }, "is used twice"},
		{"read and added to", func(k *slabBuilder) { s := k.SlabFill(64, k.f); k.SlabTile(s, 0); k.add(s) }, "is used twice"},
		{"added to and read", func(k *slabBuilder) { s := k.SlabFill(64, k.f); k.add(s); k.SlabTile(s, 0) }, "is used twice"},
		{"carried and read", func(k *slabBuilder) {
			s := k.SlabFill(64, k.f)
			k.loop(k.zero, func(s []*Value) []*Value { return s }, s)
			k.SlabTile(s, 0)
		}, "is used twice"},
		{"yielded and read", func(k *slabBuilder) {
			k.loop(k.zero, func(s []*Value) []*Value { k.SlabTile(s[0], 0); return s }, k.SlabFill(64, k.f))
		}, "is used twice"},
		{"of another block", func(k *slabBuilder) {
			s := k.SlabFill(64, k.f)
			k.loop(k.zero, func([]*Value) []*Value { k.add(s); return nil })
		}, "is from another block"},
		{"exchanged", func(k *slabBuilder) {
			k.loop(k.zero, func(s []*Value) []*Value { return []*Value{s[1], s[0]} }, k.SlabFill(64, k.f), k.SlabFill(64, k.f))
		}, "result 0 is a slab that the body does not continue"},
		{"replaced", func(k *slabBuilder) {
			k.loop(k.zero, func([]*Value) []*Value { return []*Value{k.SlabFill(64, k.f)} }, k.SlabFill(64, k.f))
		}, "result 0 is a slab that the body does not continue"},
		{"chosen", func(k *slabBuilder) {
			y := func() []*Value { return []*Value{k.SlabFill(64, k.f)} }
			k.Choose(k.Eq(k.NumGroups(), k.zero), y, y)
		}, "an if passes no slabs on"},
		{"some subgroups", func(k *slabBuilder) { k.If(k.Lt(k.Subgroup(), k.Int(3)), func() { k.SlabFence() }) }, "not all threads of the workgroup may reach it"},
		{"some threads publish", func(k *slabBuilder) { k.If(k.Lt(k.thread, k.Int(3)), func() { k.SlabPublish() }) }, ""},
		{"loop of the subgroup", func(k *slabBuilder) {
			k.loop(k.Subgroup(), func(s []*Value) []*Value { return s }, k.SlabFill(64, k.f))
		}, "a slab comes from a block that not all threads of the workgroup may run"},
		{"index of the subgroup", func(k *slabBuilder) {
			k.SlabMulAdd(k.halves, k.Subgroup(), k.zero, k.SlabFill(64, k.f), 64, 64)
		}, "operand 0 may differ between the threads of the workgroup"},
		{"number of the thread", func(k *slabBuilder) { k.SlabFill(64, k.Convert(k.thread, F32)) }, "operand 0 may differ"},
		{"selection", func(k *slabBuilder) { s := k.SlabFill(64, k.f); k.Select(k.Bits(Bool, 1), s, s) }, "takes and gives no tiles"},
		{"bits", func(k *slabBuilder) { k.Bitcast(k.f, Slab(64)) }, "takes and gives no tiles"},
		{"sum of tiles", func(k *slabBuilder) {
			k.TileMulAdd(k.TileSharedLoad(Tile(F16, TileA), k.halves, k.zero, 16), k.TileSharedLoad(Tile(F16, TileB), k.halves, k.zero, 16), k.SlabFill(64, k.f))
		}, "operand 2 is a slab_64"},
		{"no slab", func(k *slabBuilder) { k.add(k.TileFill(k.f)) }, "operand 2 is a tile_sum_f32"},
		{"no columns", func(k *slabBuilder) { k.SlabFill(0, k.f) }, "a slab_0 is no slab"},
		{"uneven columns", func(k *slabBuilder) { k.SlabFill(72, k.f) }, "a slab_72 is no slab"},
		{"too many columns", func(k *slabBuilder) { k.SlabFill(272, k.f) }, "a slab_272 is no slab"},
		{"no such tile", func(k *slabBuilder) { k.SlabTile(k.SlabFill(64, k.f), 4) }, "a slab_64 has no tile 4"},
		{"another kind", func(k *slabBuilder) { k.SlabMulAdd(k.numbers, k.zero, k.zero, k.SlabFill(64, k.f), 64, 64) }, "factors are of f16 or bf16"},
		{"another array", func(k *slabBuilder) { k.SlabMulAdd(new(Shared), k.zero, k.zero, k.SlabFill(64, k.f), 64, 64) }, "a shared array that the kernel does not have"},
		{"blocks that overlap", func(k *slabBuilder) { k.SlabMulAdd(k.halves, k.zero, k.zero, k.SlabFill(64, k.f), 56, 128) }, "the stride across of 112 bytes is not that of blocks of 128"},
		{"uneven stride", func(k *slabBuilder) { k.SlabMulAdd(k.halves, k.zero, k.zero, k.SlabFill(64, k.f), 64, 132) }, "the stride down of 264 bytes is no multiple of 16"},
		{"wide stride", func(k *slabBuilder) { k.SlabMulAdd(k.halves, k.zero, k.zero, k.SlabFill(64, k.f), 1<<20, 64) }, "the stride across of 1048576 is too large"},
		{"many groups", func(k *slabBuilder) { k.SlabWait(8) }, "8 groups: at most 7 stay under way"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			k := &slabBuilder{Builder: NewBuilder("k", SlabThreads)}
			k.zero, k.f, k.thread = k.Int(0), k.Float(0), k.Thread()
			k.halves, k.numbers = k.NewShared("halves", Scalar(F16), 4096), k.NewShared("numbers", Scalar(F32), 512)
			tt.fill(k)
			kernel, err := k.Kernel()
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if err == nil && kernel.Needs&CapSlab == 0 {
				t.Error("the kernel does not need slabs")
			}
		})
	}
}

// TestSlabsBelongTo128Threads has a workgroup of another size.
func TestSlabsBelongTo128Threads(t *testing.T) {
	b := NewBuilder("k", 256)
	b.SlabFence()
	if _, err := b.Kernel(); err == nil || !strings.Contains(err.Error(), "a slab belongs to 128 threads, the workgroup has 256") {
		t.Error(err)
	}
}
