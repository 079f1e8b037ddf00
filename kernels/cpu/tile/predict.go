package tile

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir/dtype"
)

// loop is the work of one iteration of a tile's inner loop, as the generator of the assembly counts it.
type loop struct {
	weight       dtype.DType
	feature      Feature
	rows, panels int // of x, and of w
	depth        int // of k
	dots         int // multiply-adds or dot products
	vectors      int // these and other arithmetic on vectors
	loads        int // from memory, prefetches among them
	instructions int
	chain        int // cycles that sums wait for those of the iteration before
}

// core is how much of each a processor begins in a cycle.
type core struct {
	dots, vectors, loads, instructions float64
}

// cores are the processors that tiles are chosen for, with vectors of 256 and of 512 bits. The figures are
// from https://uops.info. From Zen 5 on, AMD's additions and logic have ports of their own. From Ice
// Lake on, all of Intel's arithmetic of 512 bits shares two ports. A program runs on all of them, so
// that the mean of their cycles decides.
var cores = []struct{ narrow, wide core }{
	{core{2, 4, 3, 8}, core{2, 4, 2, 8}},
	{core{2, 3, 2, 5}, core{2, 2, 2, 5}},
}

// cycles predicts the cycles of an iteration whose operands are in the first-level cache: those of its
// scarcest resource, as the mean of the cores.
func (l *loop) cycles() (sum float64) {
	for _, c := range cores {
		core := c.wide
		if l.feature == AVX2 {
			core = c.narrow
		}
		sum += max(float64(l.chain), float64(l.dots)/core.dots, float64(l.vectors)/core.vectors,
			float64(l.loads)/core.loads, float64(l.instructions)/core.instructions)
	}
	return sum / float64(len(cores))
}

// Prediction is how fast the tiles are that a choice takes.
type Prediction struct {
	Choice
	MultiplyAdds float64 // a cycle, with several rows of x, of the best of their tiles
	Bytes        float64 // of w that a cycle works on, with one row
}

// String returns the choice and the figures.
func (p Prediction) String() string {
	return fmt.Sprintf("%v: %.1f multiply-adds a cycle with several rows, %.1f bytes with one", p.Choice, p.MultiplyAdds, p.Bytes)
}

// Predict returns the prediction of the cost model for a choice, for operands in the first-level cache;
// ok is false where the tiles are no assembly.
//
// Memory limits the product of one row of x with a large matrix. There Bytes only shows that the tile is not the limit.
func Predict(c Choice) (p Prediction, ok bool) {
	p.Choice = c
	for i := range loops {
		l := &loops[i]
		if l.weight != c.Weight || l.feature != c.Feature {
			continue
		}
		if l.panels == c.N/rows16 {
			work := float64(l.rows * l.panels * rows16 * l.depth)
			p.MultiplyAdds = max(p.MultiplyAdds, work/l.cycles())
		}
		if l.panels == c.V/rows16 && l.rows == 1 {
			p.Bytes = float64(l.panels*PanelBytes(c.Weight, l.depth)) / l.cycles()
		}
	}
	return p, p.MultiplyAdds > 0 && p.Bytes > 0
}

// best returns what the cost model takes of choices: for several rows of x the tile with the most
// multiply-adds a cycle, for one row the one with the most panels, as it reads memory in as many places
// at once. Of what is no assembly, it is the first one.
func best(all []Choice) Choice {
	most := Prediction{Choice: all[0]}
	for _, c := range all {
		p, ok := Predict(c)
		if !ok {
			break
		}
		if p.MultiplyAdds > most.MultiplyAdds {
			most.N, most.MultiplyAdds = p.N, p.MultiplyAdds
		}
		most.V = max(most.V, p.V)
	}
	return most.Choice
}
