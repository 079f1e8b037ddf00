package arch

import "github.com/ggmlc/ggmlc/ir"

// experts is a mixture: a router chooses some of many gated feed-forward parts for each token, and weights them.
type experts struct {
	count, used int64
	size        int64 // width of an expert
	act         activation
	ungated     bool // there is no gate: act(up)
	weights     weighting
	join        func(f *ir.FuncBuilder, gate, up *ir.Value) *ir.Value // nil: act(gate)·up
	biases      presence                                              // of the products, that of the router included
	bias        presence                                              // of probabilities, for the choice alone
	scale       float64                                               // of weights; 0: none
	groups      int64                                                 // that experts belong to; 0: none
	groupsUsed  int64                                                 // those with the largest sums of their two best experts are chosen from
	shared      part                                                  // is added for all tokens; nil: none
	in          norm                                                  // of what experts read
	router      part                                                  // makes what the router reads; nil: the same as x
	scales      presence                                              // of the experts' results, ffn_down_exps.scale
}

// weighting makes the weights of the chosen experts. The choice is that of the largest probabilities plus a bias, or of scores.
type weighting struct {
	probabilities func(f *ir.FuncBuilder, scores *ir.Value) *ir.Value
	chosen        func(f *ir.FuncBuilder, scores, probabilities, idx *ir.Value) *ir.Value
}

var (
	// softmaxOfChosen gives weights whose sum is 1. Divided by their sum, the probabilities among all are the same.
	softmaxOfChosen = weighting{(*ir.FuncBuilder).Softmax, func(f *ir.FuncBuilder, scores, _, idx *ir.Value) *ir.Value {
		return f.Softmax(f.Take(scores, idx))
	}}
	// softmaxOfScores is softmaxOfChosen for experts that are chosen by their scores, also where these have a bias or groups.
	softmaxOfScores = weighting{func(_ *ir.FuncBuilder, scores *ir.Value) *ir.Value { return scores }, softmaxOfChosen.chosen}
	// softmaxOfAll gives the probabilities of the chosen among all experts.
	softmaxOfAll = weighting{(*ir.FuncBuilder).Softmax, takeProbabilities}
	// sigmoids gives probabilities of each expert for itself.
	sigmoids = weighting{(*ir.FuncBuilder).Sigmoid, takeProbabilities}
	// sigmoidsOfSum is sigmoids divided by their sum, which is the softmax of their logarithms.
	sigmoidsOfSum = weighting{(*ir.FuncBuilder).Sigmoid, func(f *ir.FuncBuilder, scores, p, idx *ir.Value) *ir.Value {
		return f.Softmax(f.Log(f.Take(p, idx)))
	}}
)

func takeProbabilities(f *ir.FuncBuilder, _, p, idx *ir.Value) *ir.Value { return f.Take(p, idx) }

// experts reads the number of experts, of those used and of the groups that they are chosen from. size is the width of
// each.
func (m *model) experts(size int64, w weighting) experts {
	e := experts{size: size, act: silu, weights: w}
	e.count = m.count("expert_count", 1, maxExperts)
	e.used = m.count("expert_used_count", 1, maxExperts)
	if e.used > e.count && !m.errs.Any() {
		m.fail(m.file.KeyError(m.key("expert_used_count"), "%d experts are used of %d: the file is damaged", e.used, e.count))
	}
	m.groups(&e)
	return e
}

// groups reads the number of groups of experts and of those that are chosen from.
func (m *model) groups(e *experts) {
	e.groups = m.countOr("expert_group_count", 0, 0, maxExperts)
	if e.groups <= 1 {
		return
	}
	e.groupsUsed = m.count("expert_group_used_count", 1, e.groups)
	if e.count%e.groups != 0 || e.count < 2*e.groups {
		m.fail(m.file.KeyError(m.key("expert_group_count"), "%d groups of %d experts: the file is damaged", e.groups, e.count))
	}
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
	routed := x
	if e.router != nil {
		routed = e.router.apply(g, x)
	}
	idx, p := e.choose(g, g.linear(routed, "ffn_gate_inp", e.count, g.embd, e.biases))
	p = e.scaled(g, p, idx)
	rows := f.Reshape(e.in.apply(g, x), x.Type.Shape[0], ir.Const(1), ir.Const(g.embd))
	y := e.product(g, e.inner(g, rows, idx), "ffn_down_exps", g.embd, e.size, idx)
	g.divide("ffn_down_exps", g.name("ffn_exps"), 2, e.size, e.size)
	sum := f.ExpertsSum(y, g.scaled(p, e.scale))
	if e.shared == nil {
		return sum
	}
	return f.Add(sum, e.shared.apply(g, x))
}

// scaled returns the weights of the chosen experts times the scales of their results, if the file has these.
func (e experts) scaled(g *graph, p, idx *ir.Value) *ir.Value {
	const name = "ffn_down_exps.scale"
	if e.scales == absent || !g.has(g.name(name)) {
		return p
	}
	s, chosen := idx.Type.Shape, g.f.Reshape(g.vector(name, e.count), ir.Const(e.count), ir.Const(1))
	return g.f.Mul(p, g.f.Reshape(g.f.Gather(chosen, g.f.Reshape(idx, s[0].Mul(s[1]))), s...))
}

// inner is what the last product reads.
func (e experts) inner(g *graph, x, idx *ir.Value) *ir.Value {
	if !e.ungated {
		return e.joined(g.f, e.gateAndUp(g, x, idx))
	}
	const up = "ffn_up_exps"
	y := e.act(g.f, e.product(g, x, up, e.size, g.embd, idx))
	g.divide(up, g.name("ffn_exps"), 1, e.size, e.size)
	return y
}

// gateAndUp returns the two products whose results the last one reads: those of two matrices of each expert, or of one
// with the rows of gate, then of up.
func (e experts) gateAndUp(g *graph, x, idx *ir.Value) [2]*ir.Value {
	const both, gate, up = "ffn_gate_up_exps", "ffn_gate_exps", "ffn_up_exps"
	along := g.name("ffn_exps")
	if g.has(g.name(both + ".weight")) {
		y := e.product(g, x, both, 2*e.size, g.embd, idx)
		g.divide(both, along, 1, e.size, e.size, e.size)
		half := func(first int64) *ir.Value { return g.f.Slice(y, 2, ir.Const(first), ir.Const(e.size)) }
		return [2]*ir.Value{half(0), half(e.size)}
	}
	parts := [2]*ir.Value{e.product(g, x, gate, e.size, g.embd, idx), e.product(g, x, up, e.size, g.embd, idx)}
	g.divide(gate, along, 1, e.size, e.size)
	g.divide(up, along, 1, e.size, e.size)
	return parts
}

// joined is what the last product reads, of gate and up.
func (e experts) joined(f *ir.FuncBuilder, parts [2]*ir.Value) *ir.Value {
	gate, up := parts[0], parts[1]
	if e.join != nil {
		return e.join(f, gate, up)
	}
	return f.Mul(e.act(f, gate), up)
}

// product is the product with the chosen experts' matrices, plus their biases, if they have any.
func (e experts) product(g *graph, x *ir.Value, name string, rows, cols int64, idx *ir.Value) *ir.Value {
	y := g.f.ExpertsMatMul(x, g.matrix(name+".weight", e.count, rows, cols), idx)
	if e.biases == absent {
		return y
	}
	tokens, chosen := idx.Type.Shape[0], idx.Type.Shape[1]
	b := g.f.Gather(g.table(name+".bias", e.count, rows), g.f.Reshape(idx, tokens.Mul(chosen)))
	return g.f.Add(y, g.f.Reshape(b, tokens, chosen, ir.Const(rows)))
}

// choose returns the indices of the chosen experts and their weights.
func (e experts) choose(g *graph, scores *ir.Value) (idx, weights *ir.Value) {
	all := e.weights.probabilities(g.f, scores)
	by := scores // as probabilities grow with scores
	if b := g.bias("exp_probs_b", e.count, e.bias); b != nil {
		by = g.f.Add(all, b)
	} else if e.groups > 1 {
		by = all
	}
	if e.groups > 1 {
		by = g.f.Add(by, e.excluded(g, by))
	}
	idx = g.f.TopK(by, int(e.used))
	return idx, e.weights.chosen(g.f, scores, all, idx)
}

// exclusion is what probabilities of experts in groups that are not chosen from get, far below all others.
const exclusion = -1e9

// excluded returns 0 for experts of the groups that are chosen from, and exclusion for the others. A group is chosen
// from if its score is that of the last chosen one or above.
func (e experts) excluded(g *graph, p *ir.Value) *ir.Value {
	f, tokens := g.f, p.Type.Shape[0]
	inGroups := f.Reshape(p, tokens, ir.Const(e.groups), ir.Const(e.count/e.groups))
	score := f.Reshape(f.ReduceSum(f.Take(inGroups, f.TopK(inGroups, 2))), tokens, ir.Const(e.groups))
	best := f.Take(score, f.TopK(score, int(e.groupsUsed)))
	last := f.Slice(best, 1, ir.Const(e.groupsUsed-1), ir.Const(1))
	below := f.Sub(score, f.MatMul(last, g.ownership("groups.all", 1, e.groups)))
	return f.MatMul(f.Clamp(f.Scale(below, 1e30, 0), exclusion, 0), g.ownership("groups.experts", e.groups, e.count))
}

// ownership returns a matrix of 0 and 1 [n, owners], whose row i has the 1 at the owner of i: the first n/owners belong
// to the first owner and so on.
func (g *graph) ownership(name string, owners, n int64) *ir.Value {
	values := make([]float64, n*owners)
	for i := range n {
		values[i*owners+i*owners/n] = 1
	}
	g.declareLiteral(name, values, n, owners)
	return g.f.Weight(name)
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
