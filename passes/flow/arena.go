package flow

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// SpaceBytes returns the bytes that a plan takes of each space, by the space's name.
func SpaceBytes(p *ir.Plan) map[string]int64 {
	sum := make(map[string]int64)
	for _, a := range p.Arenas {
		a = UnderWay(p, a)
		sum[a.Space] += a.Bytes()
	}
	return sum
}

// UnderWay returns an arena of a plan with the chunks of all steps under way. Each step has inputs and outputs of its
// own; the other classes are shared.
func UnderWay(p *ir.Plan, a ir.Arena) ir.Arena {
	if p.Pipeline > 1 && a.Class == ir.ClassIO {
		a.Chunks = slices.Repeat(a.Chunks, p.Pipeline)
	}
	return a
}
