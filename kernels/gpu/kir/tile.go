package kir

import "slices"

// noTiles checks that neither operands nor results are tiles.
func (v *verifier) noTiles(i *Instr) {
	for _, x := range slices.Concat(i.Args, i.Results) {
		v.must(x == nil || x.Type.Tile == NoTile, "takes and gives no tiles")
	}
}

// tile checks the signature of an operation on tiles.
func (v *verifier) tile(i *Instr) {
	switch i.Op {
	case OpTileFill:
		v.shape(i, 1, 1)
		v.is(i, 0, Scalar(F32))
		v.result(i, Tile(F32, TileSum))
	case OpTileMulAdd:
		v.shape(i, 3, 1)
		k := i.argType(0).Kind
		v.must(k == F16 || k == BF16, "operand 0 is a %v", i.argType(0))
		v.is(i, 0, Tile(k, TileA))
		v.is(i, 1, Tile(k, TileB))
		v.is(i, 2, Tile(F32, TileSum))
		v.result(i, Tile(F32, TileSum))
	case OpTileLoad:
		v.shape(i, 1, 1)
		v.is(i, 0, Scalar(U64))
		v.must(i.resultType().isTile(), "a %v is no tile", i.resultType())
		v.stride(i, Scalar(i.resultType().Kind))
	default:
		v.sharedTile(i)
	}
}

// sharedTile checks an access of a tile to a shared array.
func (v *verifier) sharedTile(i *Instr) {
	if !slices.Contains(v.k.Shared, i.Shared) {
		v.fail("accesses a shared array that the kernel does not have")
		return
	}
	t := i.resultType()
	if i.Op == OpTileSharedStore {
		v.shape(i, 2, 0)
		t = i.argType(1)
		v.is(i, 1, Tile(F32, TileSum))
	} else {
		v.shape(i, 1, 1)
	}
	v.is(i, 0, Scalar(I32))
	v.must(t.isTile(), "a %v is no tile", t)
	v.must(i.Op != OpTileTurned || t.Tile != TileSum, "a tile of sums is not turned")
	v.must(t.Kind == i.Shared.Elem.Kind, "%s has elements of %v, the tile of %v", i.Shared.Name, i.Shared.Elem, t.Kind)
	v.stride(i, i.Shared.Elem)
}

// maxStride bounds the bytes from one line of a tile to the next.
const maxStride = 1 << 24

// stride checks the elements from one line of a tile to the next.
func (v *verifier) stride(i *Instr, elem Type) {
	if i.Imm > maxStride {
		v.fail("the stride %d is too large", i.Imm)
		return
	}
	bytes := int(i.Imm) * elem.Bytes()
	v.must(bytes >= TileSize*elem.Kind.Bytes() && bytes <= maxStride, "the stride of %d bytes is not that of lines of %d", bytes, TileSize)
	v.must(bytes%16 == 0, "the stride of %d bytes is no multiple of 16", bytes)
}

// together checks that all threads of a subgroup make an operation, with equal operands besides tiles.
func (v *verifier) together(i *Instr) {
	v.must(v.diverged < perThread, "not all threads of the subgroup may reach it")
	if i.Op.Caps(Type{}) != CapTile {
		return
	}
	for n, a := range i.Args {
		v.must(a.Type.Tile != NoTile || v.varies[a] < perThread, "operand %d may differ between the threads of a subgroup", n)
	}
}

// wholeTiles checks values that a construct with blocks passes on. A tile is one value of the whole subgroup, so all
// its threads have to run the same block, equally often.
func (v *verifier) wholeTiles(values []*Value, within level) {
	for _, x := range values {
		if x == nil || x.Type.Tile == NoTile {
			continue
		}
		v.must(within < perThread, "a tile comes from a block that not all threads of a subgroup may run")
		v.must(within == perGroup || x.Type.Tile != TileSlab, "a slab comes from a block that not all threads of the workgroup may run")
	}
}
