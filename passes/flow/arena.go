package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// SpaceBytes returns what a plan takes of each space.
func SpaceBytes(p *ir.Plan) map[string]int64 {
	sum := make(map[string]int64)
	for _, a := range p.Arenas {
		a = UnderWay(p, a)
		sum[a.Space] += a.Bytes()
	}
	return sum
}

// UnderWay returns an arena of a plan as often as it is there: each step under way has inputs
// and outputs of its own.
func UnderWay(p *ir.Plan, a ir.Arena) ir.Arena {
	if p.Pipeline > 1 && a.Class == ir.ClassIO {
		a.Chunks = slices.Repeat(a.Chunks, p.Pipeline)
	}
	return a
}
