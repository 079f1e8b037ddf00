//go:build amd64 && !purego

package cpu

import (
	"slices"
	"testing"

	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// TestEightRowsTakeTwoWeightsInTurn demands that formats whose tiles of two weights have fewer than eight rows multiply
// eight rows by one weight after the other, and that no other number of rows does.
func TestEightRowsTakeTwoWeightsInTurn(t *testing.T) {
	const k = 2048
	want := map[tile.Feature][]format{
		tile.AVX2:       {formatQ8, formatQ4},
		tile.AVX512VNNI: {formatQ2K, formatQ3K, formatQ6K, formatIQ2X16},
	}
	for i := range implementations {
		im := &implementations[i]
		inTurn, known := want[im.name]
		if !known {
			continue
		}
		for f := range numFormats {
			for rows := 1; rows <= mostFew; rows++ {
				one := im.inTurn(f, k, rows)
				if (one != nil) != (rows == 8 && slices.Contains(inTurn, f)) {
					t.Errorf("%s, format %d: %d rows in turn: %t", im.name, f, rows, one != nil)
				}
				if one != nil && one.rows != rows {
					t.Errorf("%s, format %d: a tile of %d rows for %d", im.name, f, one.rows, rows)
				}
			}
		}
	}
}
