package placement

import (
	"context"
	"math"
)

// relaxation is a lower bound for steps in which work overlaps, and for memory with limits.
//
// A step takes no less than its longest chain of nodes, nor than what the host, any queue or
// any queue of copies has to do; so no less than a mean of these, whatever weights they have
// in it. Bytes of leaves have a price, and what is allowed of them is free. Without the
// copies of what nodes make, the least of such a mean is found leaf by leaf: the nodes that
// read a leaf depend on each other only by where it lies. Weights and prices that make it
// large are found by steps along its gradient (Lagrangian relaxation; the weights by
// multiplicative updates).
type relaxation struct {
	g       *graph
	chain   []bool      // by node: it is on the longest chain of its step
	primary []int32     // by node: the largest leaf that it reads, as a value; -1 is none
	users   lists       // nodes, by the leaf of their primary value
	weight  [][]float64 // by step and resource
	price   []float64   // by space: seconds for a byte
	load    [][]float64 // by step and resource: seconds of the last solution
	used    []int64     // by space: bytes of it
}

// Resources of a step: the chain, the host, then the queue of each target, then the queue of
// copies of each target.
const (
	onChain = iota
	onHost
	onQueue
)

func newRelaxation(g *graph) *relaxation {
	r := &relaxation{g: g, chain: g.longestChains(), primary: make([]int32, len(g.Nodes)), price: make([]float64, g.spaces), used: make([]int64, g.spaces)}
	resources := onQueue + 2*len(g.Targets)
	for range g.Steps {
		w := make([]float64, resources)
		w[onChain], w[onHost] = 0.5, 0.5
		for t := range g.Targets {
			if g.Targets[t].Queues > 0 {
				w[onQueue+t] = 0.5
				w[onQueue+len(g.Targets)+t] = 0.5
			}
		}
		normalize(w)
		r.weight = append(r.weight, w)
		r.load = append(r.load, make([]float64, resources))
	}
	for i := range g.Nodes {
		r.primary[i] = r.largestLeaf(int32(i))
	}
	r.users = newLists(len(g.Leaves), func(yield func(key, item int32)) {
		for i, v := range r.primary {
			if v >= 0 {
				yield(g.Values[v].Owner-int32(len(g.Nodes)), int32(i))
			}
		}
	})
	return r
}

func (r *relaxation) largestLeaf(i int32) int32 {
	best := int32(-1)
	for _, v := range r.g.Nodes[i].Reads {
		if r.g.leafOf(v) >= 0 && (best < 0 || r.g.Values[v].Bytes > r.g.Values[best].Bytes) {
			best = v
		}
	}
	return best
}

// longestChains returns which nodes are on the longest chain of their step, with the least
// time of each.
func (g *graph) longestChains() []bool {
	tail, _ := g.tails()
	on := make([]bool, len(g.Nodes))
	least := func(i int) float64 { return g.Nodes[i].Seconds[g.fastest(int32(i))] }
	for k := range g.Steps {
		s := &g.Steps[k]
		last := s.First
		for i := s.First; i < s.End; i++ {
			if least(i)+tail[i] > least(last)+tail[last] {
				last = i
			}
		}
		for i := last; i < s.End; i++ {
			next := g.follows(int32(i), int32(last)) && math.Abs(least(i)+tail[i]-tail[last]) <= worth*tail[last]
			if i == last || next {
				on[i], last = true, i
			}
		}
	}
	return on
}

// follows reports whether node i reads what node m makes.
func (g *graph) follows(i, m int32) bool {
	for _, v := range g.Nodes[i].Reads {
		if g.Values[v].Maker == m {
			return true
		}
	}
	return false
}

func normalize(w []float64) {
	var sum float64
	for _, x := range w {
		sum += x
	}
	for i := range w {
		w[i] /= sum
	}
}

// bound returns the best lower bound of some rounds, beginning with prices that fit a known
// time.
func (r *relaxation) bound(ctx context.Context, time float64, rounds int) float64 {
	for s, limit := range r.g.Limits {
		if limit >= 0 {
			r.price[s] = time / float64(limit+1) / 4
		}
	}
	var best float64
	for round := range rounds {
		if ctx.Err() != nil {
			break
		}
		best = max(best, r.solve())
		r.adapt(1 / math.Sqrt(float64(round+1)))
	}
	return best
}

// solve returns the least mean for the present weights and prices, and notes what the
// resources do in it.
func (r *relaxation) solve() float64 {
	for _, l := range r.load {
		clear(l)
	}
	clear(r.used)
	var sum float64
	for i := range r.g.Nodes {
		if r.primary[i] < 0 {
			c, t := r.cheapest(int32(i), -1)
			sum += c
			r.note(int32(i), t, -1)
		}
	}
	for k := range r.g.Leaves {
		sum += r.leaf(int32(k))
	}
	for s, limit := range r.g.Limits {
		if limit >= 0 {
			sum -= r.price[s] * float64(limit)
		}
	}
	return sum
}

// leaf places a leaf and its nodes, and returns what that costs.
func (r *relaxation) leaf(k int32) float64 {
	x := int32(len(r.g.Nodes)) + k
	best, at := math.Inf(1), int32(-1)
	for _, space := range r.g.labelsOf(x) {
		c := r.price[space] * float64(r.g.Leaves[k].Bytes)
		for _, n := range r.users.at(k) {
			more, _ := r.cheapest(n, space)
			c += more
		}
		if c < best {
			best, at = c, space
		}
	}
	r.used[at] += r.g.Leaves[k].Bytes
	for _, n := range r.users.at(k) {
		_, t := r.cheapest(n, at)
		r.note(n, t, at)
	}
	return best
}

// cheapest returns the least that node i costs where its leaf lies in a space, and where.
func (r *relaxation) cheapest(i, space int32) (float64, int32) {
	best, at := math.Inf(1), int32(-1)
	for _, t := range r.g.labelsOf(i) {
		if c := r.cost(i, t, space); c < best || at < 0 {
			best, at = c, t
		}
	}
	return best, at
}

func (r *relaxation) cost(i, t, space int32) float64 {
	n := &r.g.Nodes[i]
	w := r.weight[n.Step]
	share := w[r.resource(t)]
	if r.chain[i] {
		share += w[onChain]
	}
	sum := share * n.Seconds[t]
	if by, secs := r.copy(i, t, space); secs > 0 {
		sum += w[by] * secs
	}
	return sum * r.g.Steps[n.Step].Weight
}

// resource returns who is busy while target t works.
func (r *relaxation) resource(t int32) int {
	if r.g.Targets[t].Queues == 0 {
		return onHost
	}
	return onQueue + int(t)
}

// copy returns the part of the copy of its leaf that node i on t bears, and who makes it.
func (r *relaxation) copy(i, t, space int32) (int, float64) {
	if space < 0 || r.g.reaches(t, space) {
		return 0, 0
	}
	v := r.primary[i]
	secs := r.g.copySeconds(v, space, int32(r.g.Targets[t].Home)) / float64(len(r.g.readers.at(v)))
	if r.g.Nodes[i].Writes == v {
		secs += broken
	}
	switch by := r.g.outOf[space]; {
	case by >= 0:
		return r.resource(by), secs
	case r.g.Targets[t].Queues > 1:
		return onQueue + len(r.g.Targets) + int(t), secs
	}
	return r.resource(t), secs
}

// note adds what a node does to the loads.
func (r *relaxation) note(i, t, space int32) {
	n := &r.g.Nodes[i]
	load := r.load[n.Step]
	load[r.resource(t)] += n.Seconds[t]
	if r.chain[i] {
		load[onChain] += n.Seconds[t]
	}
	if by, secs := r.copy(i, t, space); secs > 0 {
		load[by] += secs
	}
}

// adapt gives busy resources more weight, and full spaces a higher price.
func (r *relaxation) adapt(step float64) {
	for k, load := range r.load {
		var most float64
		for _, l := range load {
			most = max(most, l)
		}
		if most == 0 {
			continue
		}
		for i, l := range load {
			r.weight[k][i] *= math.Exp(step * l / most)
		}
		normalize(r.weight[k])
	}
	for s, limit := range r.g.Limits {
		if limit >= 0 {
			r.price[s] *= math.Exp(step * max(-1, min(1, float64(r.used[s]-limit)/float64(limit+1))))
		}
	}
}
