package placement

import (
	"context"
	"math"
	"slices"
)

// relaxation is a lower bound for steps in which work overlaps and for memory with limits.
//
// The resources of a step are the host, the queues, the queues of copies, and its longest chain of nodes. A step
// takes at least as long as each resource is busy, so it takes at least any weighted mean of these times. The bytes
// of leaves have prices; an assignment that fits pays for no more bytes than the limits allow, so this amount is
// subtracted. Copies of what nodes make are left out. Then the nodes that read a leaf depend on each other only by
// the space of the leaf, and the least weighted mean is found leaf by leaf.
//
// Any weights and prices give a lower bound. Weights and prices that make it high are found by iteration: a resource
// that is busy in the solution gets more weight, and a space that is too full gets a higher price (Lagrangian
// relaxation with multiplicative updates).
//
// Example: two nodes take 2 s each on a GPU with a queue, and 3 s each on the CPU. The resources are the GPU and the
// host.
//
//	weights GPU 1/2, host 1/2    each node costs 1 s on the GPU and 1.5 s on the CPU: bound 2 s, the GPU is busy
//	weights GPU 3/5, host 2/5    each node costs 1.2 s on either: bound 2.4 s
//
// The best assignment takes 3 s: one node on each.
type relaxation struct {
	g       *graph
	chain   []bool    // by node: it is on the longest chain of its step
	primary []int32   // by node: the largest value of a leaf that it reads; -1 is none
	users   [][]int32 // by leaf: nodes whose primary value is part of it
}

// Indices of the resources of a step. The queue of target t is onQueue+t. Its queue of copies follows after the queues
// of all targets.
const (
	onChain = iota
	onHost
	onQueue
)

// multipliers are the weights and prices of one iteration.
type multipliers struct {
	weight [][]float64 // by step and resource; the sum over a step is 1
	price  []float64   // by space: seconds for a byte
}

// usage is what the solution of one iteration takes.
type usage struct {
	busy  [][]float64 // by step and resource: seconds
	bytes []int64     // by space: bytes of leaves
}

const (
	relaxRounds  = 200        // iterations at most
	fewRounds    = 10         // fewer iterations are not worth their time
	maxRelaxWork = 20_000_000 // labels that all iterations may look at
)

// relaxedBound returns a lower bound of the weighted time of all steps. It gets better if time is near the time of the
// best assignment. It is 0 for a problem that is too large.
func (g *graph) relaxedBound(ctx context.Context, time float64) float64 {
	once := g.variables() * len(g.Targets) * g.spaces
	rounds := min(relaxRounds, maxRelaxWork/max(once, 1))
	if rounds < fewRounds {
		return 0
	}
	r := newRelaxation(g)
	m := r.firstMultipliers(time)
	var best float64
	for i := range rounds {
		if ctx.Err() != nil {
			break
		}
		bound, u := r.solve(m)
		best = max(best, bound)
		r.adapt(m, u, 1/math.Sqrt(float64(i+1)))
	}
	return best
}

func newRelaxation(g *graph) *relaxation {
	r := &relaxation{
		g: g, chain: g.longestChains(),
		primary: make([]int32, len(g.Nodes)), users: make([][]int32, len(g.Leaves)),
	}
	for i := range g.Nodes {
		n := int32(i)
		v := g.largestLeafValue(n)
		r.primary[n] = v
		if v >= 0 {
			leaf := int(g.leafOf(v)) - len(g.Nodes)
			r.users[leaf] = append(r.users[leaf], n)
		}
	}
	return r
}

// largestLeafValue returns the largest value of a leaf that node n reads; -1 for none.
func (g *graph) largestLeafValue(n int32) int32 {
	best := int32(-1)
	for _, v := range g.Nodes[n].Reads {
		if g.leafOf(v) >= 0 && (best < 0 || g.Values[v].Bytes > g.Values[best].Bytes) {
			best = v
		}
	}
	return best
}

// longestChains returns by node whether it is on the longest chain of its step, if each node runs on its fastest
// target.
func (g *graph) longestChains() []bool {
	chain, _ := g.followers()
	on := make([]bool, len(g.Nodes))
	for k := range g.Steps {
		s := &g.Steps[k]
		last := s.First
		for i := s.First; i < s.End; i++ {
			if g.leastSeconds(i)+chain[i] > g.leastSeconds(last)+chain[last] {
				last = i
			}
		}
		for i := last; i < s.End; i++ {
			rest := g.leastSeconds(i) + chain[i]
			next := g.follows(int32(i), int32(last)) && math.Abs(rest-chain[last]) <= rounding*chain[last]
			if i == last || next {
				on[i], last = true, i
			}
		}
	}
	return on
}

// follows reports whether node n reads a result of node m.
func (g *graph) follows(n, m int32) bool {
	return slices.ContainsFunc(g.Nodes[n].Reads, func(v int32) bool { return g.Values[v].Maker == m })
}

// firstMultipliers returns equal weights for all resources, and prices at which full spaces cost a part of the time.
func (r *relaxation) firstMultipliers(time float64) *multipliers {
	m := &multipliers{price: make([]float64, r.g.spaces)}
	for range r.g.Steps {
		w := make([]float64, r.resources())
		w[onChain], w[onHost] = 1, 1
		for t := range r.g.Targets {
			if r.g.Targets[t].Queues > 0 {
				w[onQueue+t], w[r.copyQueue(int32(t))] = 1, 1
			}
		}
		normalize(w)
		m.weight = append(m.weight, w)
	}
	for s, limit := range r.g.Limits {
		if limit >= 0 {
			m.price[s] = time / float64(limit+1) / 4
		}
	}
	return m
}

// resources returns the number of resources of a step.
func (r *relaxation) resources() int { return onQueue + 2*len(r.g.Targets) }

// queueOf returns the resource that is busy while target t runs a node.
func (r *relaxation) queueOf(t int32) int {
	if r.g.Targets[t].Queues == 0 {
		return onHost
	}
	return onQueue + int(t)
}

// copyQueue returns the resource that is the queue of copies of target t.
func (r *relaxation) copyQueue(t int32) int { return onQueue + len(r.g.Targets) + int(t) }

// normalize scales weights so that their sum is 1.
func normalize(w []float64) {
	var sum float64
	for _, x := range w {
		sum += x
	}
	for i := range w {
		w[i] /= sum
	}
}

// solve returns the least weighted mean for these multipliers, which is a lower bound, and what its solution uses.
func (r *relaxation) solve(m *multipliers) (bound float64, u *usage) {
	u = &usage{bytes: make([]int64, r.g.spaces)}
	for range r.g.Steps {
		u.busy = append(u.busy, make([]float64, r.resources()))
	}
	for i := range r.g.Nodes {
		if r.primary[i] < 0 {
			cost, t := r.cheapest(m, int32(i), -1)
			bound += cost
			r.addNode(u, int32(i), t, -1)
		}
	}
	for k := range r.g.Leaves {
		cost, space := r.cheapestSpace(m, k)
		bound += cost
		u.bytes[space] += r.g.Leaves[k].Bytes
		for _, n := range r.users[k] {
			_, t := r.cheapest(m, n, space)
			r.addNode(u, n, t, space)
		}
	}
	for s, limit := range r.g.Limits {
		if limit >= 0 {
			bound -= m.price[s] * float64(limit)
		}
	}
	return bound, u
}

// cheapestSpace returns the least cost of leaf k with the nodes of which it is the primary one, and its space then.
func (r *relaxation) cheapestSpace(m *multipliers, k int) (cost float64, space int32) {
	cost, space = math.Inf(1), -1
	for _, at := range r.g.allowed[r.g.leafVariable(k)] {
		c := m.price[at] * float64(r.g.Leaves[k].Bytes)
		for _, n := range r.users[k] {
			more, _ := r.cheapest(m, n, at)
			c += more
		}
		if c < cost {
			cost, space = c, at
		}
	}
	return cost, space
}

// cheapest returns the least cost of node n if its primary leaf is in a space, and its target then.
func (r *relaxation) cheapest(m *multipliers, n, space int32) (cost float64, t int32) {
	cost, t = math.Inf(1), -1
	for _, on := range r.g.allowed[n] {
		if c := r.cost(m, n, on, space); c < cost || t < 0 {
			cost, t = c, on
		}
	}
	return cost, t
}

// cost returns the cost of node n on target t: its seconds on each resource times the weight of the resource.
func (r *relaxation) cost(m *multipliers, n, t, space int32) float64 {
	node := &r.g.Nodes[n]
	w := m.weight[node.Step]
	share := w[r.queueOf(t)]
	if r.chain[n] {
		share += w[onChain]
	}
	sum := share * node.Seconds[t]
	if by, seconds := r.copyShare(n, t, space); seconds > 0 {
		sum += w[by] * seconds
	}
	return sum * r.g.Steps[node.Step].Weight
}

// copyShare returns the time that node n on target t bears for the copy of its primary value from a space, and the
// resource that makes the copy. All readers of a value bear the same share.
func (r *relaxation) copyShare(n, t, space int32) (resource int, seconds float64) {
	if space < 0 || r.g.reaches(t, space) {
		return 0, 0
	}
	v := r.primary[n]
	seconds = r.g.copySeconds(v, space, r.g.home(t)) / float64(len(r.g.readers[v]))
	if r.g.Nodes[n].Writes == v {
		seconds += broken
	}
	switch by := r.g.copier[space]; {
	case by >= 0:
		return r.queueOf(by), seconds
	case r.g.Targets[t].Queues > 1:
		return r.copyQueue(t), seconds
	}
	return r.queueOf(t), seconds
}

// addNode adds what node n on target t uses.
func (r *relaxation) addNode(u *usage, n, t, space int32) {
	node := &r.g.Nodes[n]
	busy := u.busy[node.Step]
	busy[r.queueOf(t)] += node.Seconds[t]
	if r.chain[n] {
		busy[onChain] += node.Seconds[t]
	}
	if by, seconds := r.copyShare(n, t, space); seconds > 0 {
		busy[by] += seconds
	}
}

// adapt gives busy resources more weight and full spaces a higher price. A larger step changes them more.
func (r *relaxation) adapt(m *multipliers, u *usage, step float64) {
	for k, busy := range u.busy {
		var most float64
		for _, seconds := range busy {
			most = max(most, seconds)
		}
		if most == 0 {
			continue
		}
		for i, seconds := range busy {
			m.weight[k][i] *= math.Exp(step * seconds / most)
		}
		normalize(m.weight[k])
	}
	for s, limit := range r.g.Limits {
		if limit >= 0 {
			excess := float64(u.bytes[s]-limit) / float64(limit+1)
			m.price[s] *= math.Exp(step * max(-1, min(1, excess)))
		}
	}
}
