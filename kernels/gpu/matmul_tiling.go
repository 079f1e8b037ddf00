package gpu

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/kernels/gpu/kir"
)

// tiling divides the result into tiles of up to tileRows rows. Of dense products a unit is a tile. Of experts it is a
// column of tiles of one expert.
type tiling struct {
	*product
	cols   int        // of a tile
	inner  *kir.Value // how many tiles follow each other in the order of units: down, of experts across
	total  *kir.Value // units
	chosen *chosen    // of experts
}

// tiling returns the division into tiles of that many columns.
func (p *product) tiling(cols int) *tiling {
	t := &tiling{product: p, cols: cols}
	if p.idx != nil {
		t.chosen, t.inner = p.chosen(), p.size(units(p.y.Inner(), cols))
	} else {
		t.inner = p.size(units(p.y.Rows(), tileRows))
	}
	t.total = p.size(p.tiles(cols))
	return t
}

// tiles returns the number of units of a tiling.
func (p *product) tiles(cols int) ir.Dim {
	across := units(p.y.Inner(), cols)
	if p.idx != nil {
		return p.matrices[0].Shape[0].Mul(across)
	}
	return units(p.y.Rows(), tileRows).Mul(across)
}

// each runs tile for all tiles, with the product and the first row and column of the tile. Of experts, the product has
// the rows in the list, and begins with row 0.
func (t *tiling) each(tile func(of *product, row, col *kir.Value)) {
	t.perGroup(t.total, func(u *kir.Value) {
		first, other := t.Rem(u, t.inner), t.Div(u, t.inner)
		if t.chosen == nil {
			tile(t.product, t.Mul(first, t.Int(tileRows)), t.Mul(other, t.Int(t.cols)))
			return
		}
		col := t.Mul(first, t.Int(t.cols))
		t.chosen.each(other, func(of *product) { tile(of, t.zero, col) })
	})
}
