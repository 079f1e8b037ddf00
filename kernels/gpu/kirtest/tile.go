package kirtest

import "github.com/ggmlc/ggmlc/kernels/gpu/kir"

// products multiplies tiles of elements of In and lets threads read the sums. All threads of a workgroup have to run
// it. The factors are so few bits long that three products of tiles are added without rounding, in any order.
func (g *generator) products() {
	if g.diverged > 0 || g.o.Caps&(kir.CapTile|kir.CapSubgroup) != kir.CapTile|kir.CapSubgroup || !g.fits(10<<10) {
		return
	}
	k := []kir.Kind{kir.F16, kir.BF16}[g.r.IntN(2)]
	x, y := g.factor(k), g.factor(k)
	sums := g.array(kir.Vector(kir.F32, 1<<g.r.IntN(3)), 0)
	stride := 16 / sums.Elem.Lanes * (1 + g.r.IntN(2))
	sums.Len = 16 * stride
	g.shared += sums.Bytes()
	g.Barrier()
	sum := g.startOfSum()
	if g.r.IntN(2) == 0 {
		sum = g.TileMulAdd(x(kir.TileA), y(kir.TileB), sum)
	}
	sum = g.For(g.Int(0), g.Int(1+g.r.IntN(2)), g.Int(1), []*kir.Value{sum}, func(_ *kir.Value, c []*kir.Value) []*kir.Value {
		return []*kir.Value{g.TileMulAdd(y(kir.TileA), x(kir.TileB), c[0])}
	})[0]
	g.If(g.Eq(g.Subgroup(), g.Int(0)), func() { g.TileSharedStore(sums, g.Int(0), sum, stride) })
	g.Barrier()
	other := g.Rem(g.And(g.value(kir.Scalar(kir.I32), 1), g.Int(0xffff)), g.Int(16))
	g.pool = append(g.pool, g.SharedLoad(sums, g.Mul(other, g.Int(stride))))
	g.Barrier()
}

// startOfSum returns a tile that products are added to.
func (g *generator) startOfSum() *kir.Value {
	if g.r.IntN(2) == 0 {
		return g.TileFill(g.Bits(kir.F32, scalarBits(g.r, kir.F32)))
	}
	return g.TileLoad(kir.Tile(kir.F32, kir.TileSum), g.Add(g.in, g.Bits(kir.U64, uint64(regionOf(kir.F32)))), kir.TileSize)
}

// factor returns what loads a tile of k: from In, or from a new shared array that has elements of In.
func (g *generator) factor(k kir.Kind) func(u kir.Use) *kir.Value {
	region := g.Add(g.in, g.Bits(kir.U64, uint64(regionOf(k))))
	if g.r.IntN(4) == 0 {
		return func(u kir.Use) *kir.Value { return g.TileLoad(kir.Tile(k, u), region, kir.TileSize) }
	}
	elem := kir.Vector(k, 1<<g.r.IntN(3))
	stride := (16 + 8*g.r.IntN(3)) / elem.Lanes
	array := g.array(elem, 16*stride)
	from := g.r.IntN(8)
	g.For(g.thread, g.Int(array.Len), g.Int(g.o.Threads), nil, func(i *kir.Value, _ []*kir.Value) []*kir.Value {
		at := g.And(g.Add(i, g.Int(from)), g.Int(elements/elem.Lanes-1))
		g.SharedStore(array, i, g.Load(elem, g.At(region, at, elem.Bytes())))
		return nil
	})
	load := []func(kir.Type, *kir.Shared, *kir.Value, int) *kir.Value{g.TileSharedLoad, g.TileTurned}[g.r.IntN(2)]
	return func(u kir.Use) *kir.Value { return load(kir.Tile(k, u), array, g.Int(0), stride) }
}
