package shard

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/ggml"
)

// dimension is a dimension of a model that the members of a group divide, such as the heads of a layer.
type dimension struct {
	units   int64
	granule int64   // number of units that end at blocks of all weights
	shared  []int64 // numbers of units that need one piece of a weight or state, such as the queries of a head of keys
}

// add makes the cuts fit a leaf.
func (d *dimension) add(l *leaf) {
	d.granule = lcm(d.granule, l.granule())
	for i := range l.divide.Sizes {
		if n := l.divide.Units / l.divide.PiecesOf(i); n > 1 && !slices.Contains(d.shared, n) {
			d.shared = append(d.shared, n)
		}
	}
}

// cut returns how many units each member has. Members have all units that need a piece, unless there are too few pieces
// for all members. Then several may have some of the units of one piece, which each of them gets.
func (d *dimension) cut(share []float64) ([]int64, error) {
	whole := d.granule
	for _, n := range d.shared {
		whole = lcm(whole, n)
	}
	if d.units%whole == 0 {
		counts, err := ggml.Cut(d.units, share, whole, 0)
		if err != nil || len(d.shared) == 0 || everyShare(counts, share) {
			return counts, err
		}
	}
	return d.nearest(share)
}

// everyShare reports whether every member with a share has units.
func everyShare(counts []int64, share []float64) bool {
	for i, n := range counts {
		if n == 0 && share[i] > 0 {
			return false
		}
	}
	return true
}

// nearest returns the counts nearest to the shares: those with the least sum of squares, each divided by the share, of
// all in which members have what they can compute. At equal sums, the first members have more.
func (d *dimension) nearest(share []float64) ([]int64, error) {
	if _, err := ggml.Cut(d.units, share, 1, 0); err != nil {
		return nil, err // shares that cut nothing
	}
	n := int(d.units/d.granule) + 1 // numbers of granules that the members before have
	type cost struct {
		sum  float64
		from int // where the last member begins; -1: impossible
	}
	costs := make([][]cost, len(share)+1)
	costs[0] = slices.Repeat([]cost{{from: -1}}, n)
	costs[0][0].from = 0
	for i, s := range share {
		costs[i+1] = slices.Repeat([]cost{{from: -1}}, n)
		for hi := range n {
			best := &costs[i+1][hi]
			for lo := hi; lo >= 0 && (lo == hi || s > 0); lo-- {
				before := costs[i][lo]
				if before.from < 0 || !d.isRange(int64(lo)*d.granule, int64(hi)*d.granule) {
					continue
				}
				sum := before.sum
				if hi > lo {
					sum += float64(hi-lo) * float64(hi-lo) / s
				}
				if best.from < 0 || sum < best.sum {
					*best = cost{sum, lo}
				}
			}
		}
	}
	counts, at := make([]int64, len(share)), n-1
	for i := len(share); i > 0; i-- {
		from := costs[i][at].from
		counts[i-1] = int64(at-from) * d.granule
		at = from
	}
	return counts, nil
}

// isRange reports whether a member can have a range of units: of each kind of pieces, one or several with all of their
// units.
func (d *dimension) isRange(lo, hi int64) bool {
	return lo == hi || !slices.ContainsFunc(d.shared, func(n int64) bool {
		_, _, ok := ir.Share{Kind: ir.ShardSplit, Num: 1, Den: n, Shared: true}.Range(lo, hi)
		return !ok
	})
}
