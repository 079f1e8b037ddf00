package arch

import "github.com/ggmlc/ggmlc/ir"

// experts is a mixture: a router chooses some of many gated feed-forward parts for each token, and weights them.
type experts struct {
	count, used int64
	size        int64 // width of an expert
	act         activation
	weights     weighting
	shared      part // is added for all tokens; nil: none
}

// weighting makes the weights of the chosen experts of the router's scores.
type weighting func(f *ir.FuncBuilder, scores, chosen *ir.Value) *ir.Value

// softmaxOfChosen gives weights whose sum is 1. Divided by their sum, the probabilities among all experts are the same.
func softmaxOfChosen(f *ir.FuncBuilder, scores, chosen *ir.Value) *ir.Value {
	return f.Softmax(f.Take(scores, chosen))
}

// softmaxOfAll gives the probabilities of the chosen among all experts.
func softmaxOfAll(f *ir.FuncBuilder, scores, chosen *ir.Value) *ir.Value {
	return f.Take(f.Softmax(scores), chosen)
}

// experts reads the number of experts and of those used. size is the width of each.
func (m *model) experts(size int64, w weighting) experts {
	e := experts{size: size, act: silu, weights: w}
	e.count = m.count("expert_count", 1, maxExperts)
	e.used = m.count("expert_used_count", 1, maxExperts)
	if e.used > e.count && !m.errs.Any() {
		m.fail(m.file.KeyError(m.key("expert_used_count"), "%d experts are used of %d: the file is damaged", e.used, e.count))
	}
	return e
}

// expertFeedForward returns the width of an expert. Files that do not state it divide the width of a layer among the
// experts in use.
func (m *model) expertFeedForward() int64 {
	if m.file.Has(m.key("expert_feed_forward_length")) {
		return m.count("expert_feed_forward_length", 1, maxWidth)
	}
	return max(1, m.feedForward()/m.count("expert_used_count", 1, maxExperts))
}

func (e experts) apply(g *graph, x *ir.Value) *ir.Value {
	f := g.f
	scores := f.MatMul(x, g.matrix("ffn_gate_inp.weight", e.count, g.embd))
	chosen := f.TopK(scores, int(e.used))
	p := e.weights(f, scores, chosen)
	rows := f.Reshape(x, x.Type.Shape[0], ir.Const(1), ir.Const(g.embd))
	gate := f.ExpertsMatMul(rows, g.matrix("ffn_gate_exps.weight", e.count, e.size, g.embd), chosen)
	up := f.ExpertsMatMul(rows, g.matrix("ffn_up_exps.weight", e.count, e.size, g.embd), chosen)
	y := f.ExpertsMatMul(f.Mul(e.act(f, gate), up), g.matrix("ffn_down_exps.weight", e.count, g.embd, e.size), chosen)
	sum := f.ExpertsSum(y, p)
	if e.shared == nil {
		return sum
	}
	return f.Add(sum, e.shared.apply(g, x))
}

// gatedShare is body(x) times the sigmoid of one product of x.
type gatedShare struct {
	name string // of the vector
	body part
}

func (s gatedShare) apply(g *graph, x *ir.Value) *ir.Value {
	f := g.f
	share := f.Sigmoid(f.ReduceSum(f.Mul(x, g.vector(s.name, g.embd))))
	y := f.Reshape(s.body.apply(g, x), x.Type.Shape[0], ir.Const(1), ir.Const(g.embd))
	return f.ExpertsSum(y, share) // of one expert with a weight
}
