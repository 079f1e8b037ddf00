//go:build amd64 && !purego

package cpu

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// TestWeightsAreMultipliedInTurn demands that formats whose tiles of two weights have fewer than eight rows multiply
// eight rows by one weight after the other, that superblocks do so with any rows, and that no others do.
func TestWeightsAreMultipliedInTurn(t *testing.T) {
	const k = 2048
	eight := map[tile.Feature][]format{tile.AVX2: {formatQ4}, tile.AVX512VNNI: nil}
	for i := range implementations {
		im := &implementations[i]
		if _, known := eight[im.name]; !known {
			continue
		}
		for f := range numFormats {
			s := schemed[f].Scheme()
			for rows := 1; rows <= 40; rows++ {
				want := s != nil && s.Super || rows == 8 && slices.Contains(eight[im.name], f)
				tiles := im.tilesInTurn(f, k, rows)
				if (tiles != nil) != want {
					t.Errorf("%s, format %d: %d rows in turn: %t", im.name, f, rows, tiles != nil)
				}
				if tiles != nil && tiles.panels == 1 && tiles.pick(rows).rows*panelRows > gatedLen {
					t.Errorf("%s, format %d: a tile of %d rows", im.name, f, tiles.pick(rows).rows)
				}
			}
		}
	}
}
