package cpu

import (
	"cmp"
	"math"
	"math/bits"
)

// AttentionShape may ask for more changes of scores than their factor: a cap, a bias by distance, and a score of -Inf
// for positions before the window. They are applied to a chunk of scores before these become weights. Chunks that are
// before the windows of all tokens of a block are not read. The rest costs a pass over the scores, which are in the
// first-level cache.
//
// Positions before a window in its first chunk are multiplied by a weight of 0, so that their values have to be finite.

// windowStart returns the first position that a token sees that sees positions below limit.
func (s *AttentionShape) windowStart(limit int) int {
	if s.Window == 0 {
		return 0
	}
	return max(0, limit-s.Window)
}

// adjust changes the scores of n rows from row i on, which are at scores[at] and after it.
func (b *block) adjust(i, at, n, p, seen int) {
	hidden := b.hidden(i, p)
	if b.Cap == 0 && b.Alibi == 0 && hidden == 0 {
		return
	}
	for j := range n {
		row := b.scores[at+j][:seen]
		if b.Cap != 0 {
			b.capScores(row)
		}
		if b.Alibi != 0 {
			slope := float32(b.loops.exponent) * alibiSlope(b.Alibi, b.AlibiHead+b.firstHead+(i+j)%b.shared, cmp.Or(b.AlibiHeads, b.Heads))
			addDistances(row, slope, p-b.own[(i+j)/b.shared])
		}
		for k := range hidden {
			row[k] = float32(math.Inf(-1))
		}
	}
}

// capScores replaces scores by Cap·tanh(score/Cap).
func (b *block) capScores(row []float32) {
	most, x := b.Cap*float32(b.loops.exponent), pointer(row)
	active.scale(x, x, len(row), 1/most, 0)
	active.unary[unaryTanh](x, x, len(row))
	active.scale(x, x, len(row), most, 0)
}

// addDistances adds a bias to scores. from is the first position minus the token's own.
func addDistances(row []float32, slope float32, from int) {
	for k := range row {
		row[k] += slope * float32(min(from+k, -from-k))
	}
}

// alibiSlope returns the slope of a head (ir.AlibiSlope).
func alibiSlope(most float32, h, heads int) float32 {
	n := 1 << (bits.Len(uint(heads)) - 1)
	if h < n {
		return float32(math.Exp2(-float64(most) * float64(h+1) / float64(n)))
	}
	return float32(math.Exp2(-float64(most) * float64(2*(h-n)+1) / float64(2*n)))
}
