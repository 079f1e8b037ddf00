package cpu

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/cpu/tile"
)

// formats are those of weights by dtype.
var formats = map[dtype.DType]format{
	dtype.F32: formatF32, dtype.F16: formatF16, dtype.BF16: formatBF16, dtype.Q8_0: formatQ8, dtype.Q4_0: formatQ4,
	dtype.Q4_1:   formatQ41,
	dtype.Q5_0:   formatQ50,
	dtype.Q5_1:   formatQ51,
	dtype.Q2_K:   formatQ2K,
	dtype.Q3_K:   formatQ3K,
	dtype.Q4_K:   formatQ4K,
	dtype.Q5_K:   formatQ5K,
	dtype.Q6_K:   formatQ6K,
	dtype.IQ4_NL: formatIQ4NL,
	dtype.IQ4_XS: formatIQ4XS,
	dtype.MXFP4:  formatMXFP4,
	dtype.IQ2X:   formatIQ2X,
	dtype.IQ2X16: formatIQ2X16,
	dtype.IQ3X:   formatIQ3X,
	dtype.IQ3SX:  formatIQ3SX,
}

// Choose makes products use the tiles of a choice, as ggmlc build --tune measured them. It
// changes speed and no bit of any result. What this build has no tiles for is left as it
// is: a program made for several processors carries choices for all. Like Select it must
// not be called while a kernel runs.
func Choose(c tile.Choice) {
	f, ok := formats[c.Weight]
	if !ok {
		return
	}
	all := builtin() // with all tiles, which an earlier choice leaves out
	for i := range implementations {
		im := &implementations[i]
		if im.tilesOf(c.Weight) != c.Feature {
			continue
		}
		if set := all[i].matmul[f].choose(c.N/panelRows, c.V/panelRows); set != nil {
			im.matmul[f] = set
		}
	}
}

// Usual returns the default tiles of products with weights of dtype w on this processor, for the named implementation.
// It returns false if there are no such products. Products in tile registers have no choice of tiles.
func Usual(kernels string, w dtype.DType) (tile.Choice, bool) {
	f, ok := formats[w]
	all := usual(builtin())
	i := slices.IndexFunc(all, func(im implementation) bool { return string(im.name) == kernels })
	if !ok || i < 0 {
		return tile.Choice{}, false
	}
	const enough = 1 << 10
	set := all[i].matmul[f]
	return tile.Choice{
		Feature: all[i].tilesOf(w), Weight: w,
		N: set.pick(enough, enough).panels * panelRows, V: set.pick(1, enough).panels * panelRows,
	}, true
}

// choose returns the set with groups of many panels for several rows and of single panels
// for one row first; nil where it has no such groups.
func (s tileSet) choose(many, single int) tileSet {
	wide, one := s.widest(many), s.widest(single)
	if wide == nil || one == nil {
		return nil
	}
	set := tileSet{{panels: single, maxRows: 1, tiles: one[len(one)-1:]}}
	for _, g := range s { // few rows have no choice
		if g.maxRows > 1 {
			set = append(set, g)
		}
	}
	set = append(set, tileGroup{panels: many, tiles: wide})
	if many != 1 {
		set = append(set, tileGroup{panels: 1, tiles: s.widest(1)})
	}
	return set
}

// widest returns the most tiles of a number of panels that a group has.
func (s tileSet) widest(panels int) []rowTile {
	var most []rowTile
	for i := range s {
		if s[i].panels == panels && len(s[i].tiles) > len(most) {
			most = s[i].tiles
		}
	}
	return most
}
