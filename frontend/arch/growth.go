package arch

import (
	"math"

	"github.com/ggmlc/ggmlc/ir"
)

// growth is how queries grow with the position p, by 1 + by·log(1 + ⌊p/period⌋): scores of long texts then differ as much
// as those of short ones (llama.cpp, src/llama-graph.cpp, llm_graph_input_attn_temp).
type growth struct {
	period int64
	by     float64 // 0: they do not
}

// growthKey states how much queries grow.
const growthKey = "attention.temperature_scale"

// growQueries reads how queries grow, if there are positions at which they do.
func (m *model) growQueries(period int64) {
	if by := m.atLeastZeroOr(growthKey, 0); period < m.context {
		m.growth = growth{period, by}
	}
}

// factors returns those of the tokens' queries, [tokens, 1]; nil if there are none.
func (w growth) factors(g *graph) *ir.Value {
	if w.by == 0 {
		return nil
	}
	const name = "queries.growth"
	all := make([]float64, g.context)
	for p := range all {
		all[p] = 1 + w.by*math.Log(float64(1+int64(p)/w.period))
	}
	g.declareLiteral(name, all, g.context, 1)
	return g.f.Gather(g.f.Weight(name), g.in.pos)
}

// grown returns queries [tokens, heads, size] times the factors.
func (g *graph) grown(q *ir.Value, heads, size int64) *ir.Value {
	if g.growths == nil {
		return q
	}
	rows := g.f.Reshape(q, q.Type.Shape[0], ir.Const(1), ir.Const(heads*size))
	return splitHeads(g.f, g.f.ExpertsSum(rows, g.growths), heads, size) // of one expert with a weight
}
