package kirtest

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// slabs multiplies factors of elements of In by the whole workgroup and lets threads read a part of the sums. All
// threads of a workgroup have to run it. As of tiles, three products are added without rounding.
func (g *generator) slabs() {
	const needs = kir.CapSlab | kir.CapTile | kir.CapSubgroup
	if g.diverged > 0 || g.o.Caps&needs != needs || g.o.Threads != kir.SlabThreads || !g.fits(12<<10) {
		return
	}
	k := []kir.Kind{kir.F16, kir.BF16}[g.r.IntN(2)]
	lanes := 1 << g.r.IntN(3)
	cols := 16 << g.r.IntN(4)
	across, down := g.blockStrides(cols)
	array := g.array(kir.Vector(k, lanes), (2*across+max(cols, kir.SlabRows)/8*down)/lanes)
	sums := g.array(kir.Scalar(kir.F32), 16*16)
	g.fillFactors(array, k)
	slab := g.SlabFill(cols, g.Bits(kir.F32, scalarBits(g.r, kir.F32)))
	g.SlabFence()
	at := func() *kir.Value { return g.Int(g.r.IntN(8) * 8 / lanes) }
	product := func(s *kir.Value) *kir.Value { return g.SlabMulAdd(array, at(), at(), s, across/lanes, down/lanes) }
	slab = g.For(g.Int(0), g.Int(1+g.r.IntN(2)), g.Int(1), []*kir.Value{product(slab)}, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{product(c[0])}
	})[0]
	g.SlabCommit()
	g.SlabWait(0)
	tile, of := g.SlabTile(slab, g.r.IntN(cols/16)), g.r.IntN(4)
	g.If(g.Eq(g.Subgroup(), g.Int(of)), func() { g.TileSharedStore(sums, g.Int(0), tile, 16) })
	g.Barrier()
	g.pool = append(g.pool, g.SharedLoad(sums, g.And(g.value(kir.Scalar(kir.I32), 1), g.Int(255))))
	g.Barrier()
}

// blockStrides returns strides of factors in elements: blocks of a line follow each other, or those of all lines do.
func (g *generator) blockStrides(cols int) (across, down int) {
	pad := 8 * g.r.IntN(3)
	if g.r.IntN(2) == 0 {
		return 64 + pad, 2 * (64 + pad)
	}
	return max(cols, kir.SlabRows)/8*64 + pad, 64
}

// fillFactors stores elements of In in an array, and publishes them.
func (g *generator) fillFactors(array *kir.Shared, k kir.Kind) {
	region, lanes := g.Add(g.in, g.Bits(kir.U64, uint64(regionOf(k)))), array.Elem.Lanes
	from := g.r.IntN(8)
	g.For(g.thread, g.Int(array.Len), g.Int(g.o.Threads), nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
		at := g.And(g.Add(i, g.Int(from)), g.Int(elements/lanes-1))
		g.SharedStore(array, i, g.Load(array.Elem, g.At(region, at, array.Elem.Bytes())))
		return nil
	})
	g.SlabPublish()
	g.Barrier()
}
