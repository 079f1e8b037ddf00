package cpu

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// TestTilesAreThoseOfTable checks that each implementation has exactly the tiles that the
// table tells the compiler about.
func TestTilesAreThoseOfTable(t *testing.T) {
	for i := range implementations {
		im := &implementations[i]
		for weight, f := range formats {
			want := entry(t, weight, im.name)
			const many = 1 << 10
			wide, single := im.matmul[f].pick(many, many), im.matmul[f].pick(1, many)
			most := wide.tiles[0].rows
			if tiles := im.widened[f]; tiles != nil {
				most = tiles[0].rows
			}
			if s := im.signed[f]; s != nil {
				most = s.matmul.pick(many, many).tiles[0].rows
			}
			if e := im.expanded[f]; e != nil {
				most = e.matmul.pick(many, many).tiles[0].rows
			}
			if m, k := most, formatShape[f].blockLen; m != want.M0 || k != want.K0 {
				t.Errorf("%v on %s: %d rows and steps of %d, the table says %+v", weight, im.name, m, k, want)
			}
			got := tile.Choice{Feature: want.Feature, Weight: weight, N: wide.panels * panelRows, V: single.panels * panelRows}
			taken := tile.Choices(want.Feature, weight)[0]
			if most := im.fewPlaces[f]; most > 0 {
				taken.V = min(taken.V, most*panelRows)
			}
			if got != taken {
				t.Errorf("on %s: tiles %v, the cost model takes %v", im.name, got, taken)
			}
		}
	}
}

// includes lists what each implementation's processor has.
var includes = map[tile.Feature][]tile.Feature{
	tile.Generic:    {tile.Generic},
	tile.AVX2:       {tile.Generic, tile.AVX2},
	tile.AVXVNNI:    {tile.Generic, tile.AVX2, tile.AVXVNNI},
	tile.AVX512:     {tile.Generic, tile.AVX2, tile.AVX512},
	tile.AVX512VNNI: {tile.Generic, tile.AVX2, tile.AVX512, tile.AVX512VNNI},
	tile.AVX512BF16: {tile.Generic, tile.AVX2, tile.AVX512, tile.AVX512VNNI, tile.AVX512BF16},
	tile.AMX:        {tile.Generic, tile.AVX2, tile.AVX512, tile.AVX512VNNI},
}

// entry returns the table's last entry for weight whose feature im includes.
func entry(t *testing.T, weight dtype.DType, im tile.Feature) tile.Tile {
	t.Helper()
	var found tile.Tile
	for _, e := range tile.Table {
		if e.Weight == weight && slices.Contains(includes[im], e.Feature) {
			found = e
		}
	}
	return found
}

// TestTileSetsAreComplete checks that any rows and panels find a tile, largest first. Superblocks have none with two
// weights.
func TestTileSetsAreComplete(t *testing.T) {
	for i := range implementations {
		im := &implementations[i]
		for f := range numFormats {
			checkTileSet(t, im.matmul[f])
			if s := schemed[f].Scheme(); s != nil && s.Super {
				if len(im.swiglu[f]) > 0 {
					t.Errorf("%s: %v has tiles with two weights, which are multiplied in turn", im.name, schemed[f])
				}
				continue
			}
			checkTileSet(t, im.swiglu[f])
			if deep := im.deepMatMul[f]; deep != nil {
				checkTileSet(t, deep)
				checkTileSet(t, im.deepSwiGLU[f])
				if rows := im.deepSwiGLU[f].pick(1<<10, 1).tiles[0].rows; rows > mostTileRows {
					t.Errorf("%s: tiles with two weights have %d rows, for which unrounded has no room", im.name, rows)
				}
			}
			if one := im.swiglu[f].pick(1, 1<<10); im.fewPlaces[formatQ8] > 0 && one.panels != 1 {
				t.Errorf("%s: tiles with two weights have more than one panel of each", im.name)
			}
			if rows := im.swiglu[f].pick(1<<10, 1).tiles[0].rows; rows > mostTileRows {
				t.Errorf("%s: tiles with two weights have %d rows, for which unrounded has no room", im.name, rows)
			}
		}
	}
}

// TestWidenedTilesFit checks that tiles, which may have more rows than are left, stay inside of a part.
func TestWidenedTilesFit(t *testing.T) {
	for i := range implementations {
		for _, tiles := range implementations[i].widened {
			if tiles == nil {
				continue
			}
			b := widenedBox{widenedProduct: widenedProduct{tiles: tiles}}
			for rows := 1; rows <= widenedRows; rows++ {
				for r := 0; r < rows; {
					tl := b.tile(rows - r)
					if tl.rows > rows-r+1 {
						t.Errorf("%d rows left take a tile of %d", rows-r, tl.rows)
					}
					if r += tl.rows; r > widenedRows {
						t.Errorf("%d rows: tiles have %d", rows, r)
					}
				}
			}
		}
	}
}

func checkTileSet(t *testing.T, s tileSet) {
	t.Helper()
	last := s[len(s)-1]
	if last.panels != 1 || last.maxRows != 0 {
		t.Errorf("the last group has %d panels and takes at most %d rows", last.panels, last.maxRows)
	}
	for _, g := range s {
		rows := 1 << 10
		for _, tl := range g.tiles {
			if tl.rows >= rows {
				t.Errorf("a tile of %d rows follows one of %d", tl.rows, rows)
			}
			rows = tl.rows
		}
		if rows != 1 {
			t.Errorf("a group of %d panels has no tile of one row", g.panels)
		}
	}
}

// TestFewPlaces: where few places are asked for, one row takes no tiles with more, and all rows find a tile.
func TestFewPlaces(t *testing.T) {
	all := builtin()
	for i := range all {
		for _, f := range byteFormats {
			all[i].fewPlaces[f] = 1 + (i+int(f))%2
		}
	}
	all = usual(all)
	for i := range all {
		im := &all[i]
		for f := range numFormats {
			checkTileSet(t, im.matmul[f])
			if len(im.swiglu[f]) == 0 {
				continue // superblocks: TestTileSetsAreComplete
			}
			checkTileSet(t, im.swiglu[f])
			if n := im.swiglu[f].pick(1, 1<<10).panels; n != 1 {
				t.Errorf("%s: one row takes %d panels of each of two weights", im.name, n)
			}
		}
		for _, f := range byteFormats {
			if n := im.matmul[f].pick(1, 1<<10).panels; n > im.fewPlaces[f] {
				t.Errorf("%s: one row takes %d panels of quantized weights", im.name, n)
			}
		}
	}
}
