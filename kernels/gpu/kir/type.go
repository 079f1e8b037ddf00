package kir

import "fmt"

// Kind is the kind of a scalar.
type Kind uint8

// The kinds. 8-bit and 16-bit integers and BF16 are kinds of memory: they are loaded, stored, converted and built into
// vectors, and nothing else is computed with them.
const (
	Invalid Kind = iota
	Bool
	I8
	U8
	U16
	BF16
	F16
	I32
	U32
	F32
	U64
	numKinds
)

var kinds = [numKinds]struct {
	name  string
	bytes int
}{
	Invalid: {"invalid", 0}, Bool: {"bool", 0}, I8: {"i8", 1}, U8: {"u8", 1}, U16: {"u16", 2}, BF16: {"bf16", 2}, F16: {"f16", 2},
	I32: {"i32", 4}, U32: {"u32", 4}, F32: {"f32", 4}, U64: {"u64", 8},
}

func (k Kind) String() string {
	if k >= numKinds {
		return fmt.Sprintf("Kind(%d)", uint8(k))
	}
	return kinds[k].name
}

// Bytes returns the size in memory; 0 for a bool, which has none.
func (k Kind) Bytes() int { return kinds[k].bytes }

// Float reports whether k is a kind of floating-point numbers that is computed with.
func (k Kind) Float() bool { return k == F32 || k == F16 }

// Int reports whether k is a kind of integers that is computed with.
func (k Kind) Int() bool { return k == I32 || k == U32 || k == U64 }

// Type is a scalar, a vector of 2 or 4 of them, a tile, or a slab.
type Type struct {
	Kind  Kind
	Lanes int // 1, 2 or 4; 1 of a tile and of a slab
	Tile  Use // what the tile is in a product; NoTile of a scalar or a vector
	Cols  int // of a slab; else 0
}

// Use is the place of a tile in the product A*B + Sum.
type Use uint8

// The uses. A and B are of f16 or bf16, Sum is of f32. TileSlab is that of a slab, which is of f32 as well.
const (
	NoTile Use = iota
	TileA
	TileB
	TileSum
	TileSlab
	numUses
)

var uses = [numUses]string{TileA: "a", TileB: "b", TileSum: "sum"}

// TileSize is the number of rows and of columns of a tile.
const TileSize = 16

// Tile returns the type of tiles of k.
func Tile(k Kind, u Use) Type { return Type{Kind: k, Lanes: 1, Tile: u} }

// Sizes of slabs: each has SlabRows rows, and columns in multiples of SlabStep, at most SlabCols.
const (
	SlabRows = 64
	SlabCols = 256
	SlabStep = 16
)

// SlabThreads is the number of threads to which a slab belongs.
const SlabThreads = 128

// Slab returns the type of slabs of that many columns.
func Slab(cols int) Type { return Type{Kind: F32, Lanes: 1, Tile: TileSlab, Cols: cols} }

// isSlab reports whether there are such slabs.
func (t Type) isSlab() bool {
	return t == Slab(t.Cols) && t.Cols > 0 && t.Cols <= SlabCols && t.Cols%SlabStep == 0
}

// isTile reports whether there are such tiles.
func (t Type) isTile() bool {
	switch t {
	case Tile(F16, TileA), Tile(BF16, TileA), Tile(F16, TileB), Tile(BF16, TileB), Tile(F32, TileSum):
		return true
	}
	return false
}

// Scalar returns the type of one k.
func Scalar(k Kind) Type { return Type{Kind: k, Lanes: 1} }

// Vector returns the type of n of k.
func Vector(k Kind, n int) Type { return Type{Kind: k, Lanes: n} }

// Bytes returns the size in memory; 0 for a tile or a slab, which have none.
func (t Type) Bytes() int {
	if t.Tile != NoTile {
		return 0
	}
	return t.Kind.Bytes() * t.Lanes
}

// String returns the type as the text form shows it: f32, f32x4, tile_a_f16, or slab_128.
func (t Type) String() string {
	if t.Tile == TileSlab {
		return fmt.Sprintf("slab_%d", t.Cols)
	}
	if t.Tile != NoTile && t.Tile < numUses {
		return fmt.Sprintf("tile_%s_%v", uses[t.Tile], t.Kind)
	}
	if t.Lanes == 1 {
		return t.Kind.String()
	}
	return fmt.Sprintf("%vx%d", t.Kind, t.Lanes)
}
