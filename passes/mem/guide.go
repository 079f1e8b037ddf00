package mem

import (
	"cmp"
	"math/rand/v2"
)

// guide determines what the sequence search tries first. It learns from runs that were stopped.
type guide struct {
	use     Techniques
	weight  []int64 // by section: how often it made the search fail lately, in units, from one unit up
	lengths []int64 // by block: the number of sections in which it lives, shaken for this run
	model   []int64 // by block: its lowest offset at the deepest point of all runs
	deepest int     // the number of decisions at that point
	prefer  preference
}

// preference compares two blocks that can be next in a section; it is negative where b is tried first. Low is the
// lowest offset of each block.
type preference func(in *instance, low []int64, b, c int32) int

// unit is one failure in a section's weight.
const unit = 1 << 10

func newGuide(in *instance, use Techniques) *guide {
	n, sections := len(in.blocks), len(in.members)
	g := &guide{use: use, weight: make([]int64, sections), lengths: make([]int64, n), model: make([]int64, n)}
	for t := range g.weight {
		g.weight[t] = unit
	}
	return g
}

// begin prepares the k-th run, from 1. Runs take turns among the preferences. At random every length is made up to
// twice as long, so that runs differ.
func (g *guide) begin(in *instance, k int64) {
	preferences := []preference{g.byLength, g.byOffset, g.byModel}
	if !g.use.has(Model) {
		preferences = preferences[:2]
	}
	g.prefer = preferences[k%int64(len(preferences))]
	rng := rand.New(rand.NewPCG(uint64(k), 0))
	for i, b := range in.blocks {
		g.lengths[i] = int64(b.to-b.from) * 100
		if g.use.has(Shake) {
			g.lengths[i] += int64(b.to-b.from) * rng.Int64N(101)
		}
	}
}

// byLength prefers long lives: at the bottom they make a floor for the others.
func (g *guide) byLength(in *instance, _ []int64, b, c int32) int {
	bySize := cmp.Compare(in.blocks[c].size, in.blocks[b].size)
	return cmp.Or(cmp.Compare(g.lengths[c], g.lengths[b]), bySize, cmp.Compare(b, c))
}

// byOffset prefers blocks that can be low.
func (g *guide) byOffset(_ *instance, low []int64, b, c int32) int {
	return cmp.Or(cmp.Compare(low[b], low[c]), cmp.Compare(g.lengths[c], g.lengths[b]), cmp.Compare(b, c))
}

// byModel repeats the order of the deepest point so far.
func (g *guide) byModel(_ *instance, _ []int64, b, c int32) int {
	return cmp.Or(cmp.Compare(g.model[b], g.model[c]), cmp.Compare(b, c))
}

// remember keeps the offsets as a model for later runs, if no point was deeper.
func (g *guide) remember(depth int, low []int64) {
	if depth > g.deepest {
		g.deepest = depth
		copy(g.model, low)
	}
}

// blame counts a failure for a section.
func (g *guide) blame(t int32) {
	if g.use.has(Weights) {
		g.weight[t] += unit
	}
}

// forget lets weights decay, so that what made the last runs fail counts most.
func (g *guide) forget() {
	for t := range g.weight {
		g.weight[t] -= (g.weight[t] - unit) / 20
	}
}
