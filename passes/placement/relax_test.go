package placement

import (
	"math/rand/v2"
	"testing"
)

// longestFrom returns the time of the longest chain that begins with node n of a step that ends at end, found by
// trying all readers.
func longestFrom(g *graph, n, end int) float64 {
	var rest float64
	for i := n + 1; i < end; i++ {
		if g.follows(int32(i), int32(n)) {
			rest = max(rest, longestFrom(g, i, end))
		}
	}
	return g.leastSeconds(n) + rest
}

// TestLongestChainsAreChainsAndLongest adds up the times of the nodes that are marked as the longest chain of their
// step, each of which has to read the one before, and compares with all chains.
func TestLongestChainsAreChainsAndLongest(t *testing.T) {
	for seed := range uint64(100) {
		g := newGraph(random(rand.New(rand.NewPCG(seed, 14)), world{nodes: 20, leaves: 3, targets: 3, steps: 2}))
		on := g.longestChains()
		for k := range g.Steps {
			s := &g.Steps[k]
			var got, want float64
			last := -1
			for i := s.First; i < s.End; i++ {
				want = max(want, longestFrom(g, i, s.End))
				if !on[i] {
					continue
				}
				if last >= 0 && !g.follows(int32(i), int32(last)) {
					t.Errorf("seed %d: node %d is marked after %d and does not read its result", seed, i, last)
				}
				got, last = got+g.leastSeconds(i), i
			}
			if !near(got, want) {
				t.Errorf("seed %d, step %d: the marked nodes take %v s, and the longest chain %v", seed, k, got, want)
			}
		}
	}
}

// TestRelaxationIsTheLeastWeightedMean compares the bound for random weights and prices with the weighted mean of what
// its solution uses, and with that of random other assignments, none of which may be less.
func TestRelaxationIsTheLeastWeightedMean(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 15))
		g := newGraph(random(rng, world{nodes: 16, leaves: 6, targets: 3, queues: true, limits: seed%2 == 0, shared: true, steps: 2}))
		r := newRelaxation(g)
		m := r.firstMultipliers(100)
		for k := range m.weight {
			for i := range m.weight[k] {
				m.weight[k][i] *= rng.Float64()
			}
		}
		mean := func(u *usage) (sum float64) {
			for k, busy := range u.busy {
				for i, seconds := range busy {
					sum += g.Steps[k].Weight * m.weight[k][i] * seconds
				}
			}
			for s, limit := range g.Limits {
				sum += m.price[s] * float64(u.bytes[s]-max(0, limit))
			}
			return sum
		}
		bound, u := r.solve(m)
		if got := mean(u); !near(got, bound) {
			t.Errorf("seed %d: the bound is %v, and the weighted mean of its solution %v", seed, bound, got)
		}
		for range 100 {
			if got := mean(randomUsage(rng, r)); got < bound*(1-1e-9) {
				t.Errorf("seed %d: the bound is %v, and an assignment has the weighted mean %v", seed, bound, got)
			}
		}
	}
}

// randomUsage returns what a random assignment uses.
func randomUsage(rng *rand.Rand, r *relaxation) *usage {
	u := &usage{bytes: make([]int64, r.g.spaces)}
	for range r.g.Steps {
		u.busy = append(u.busy, make([]float64, r.resources()))
	}
	anyOf := func(x int32) int32 { return r.g.allowed[x][rng.IntN(len(r.g.allowed[x]))] }
	spaces := make([]int32, len(r.g.Leaves))
	for k := range spaces {
		spaces[k] = anyOf(r.g.leafVariable(k))
		u.bytes[spaces[k]] += r.g.Leaves[k].Bytes
	}
	for i := range r.g.Nodes {
		space := int32(-1)
		if v := r.primary[i]; v >= 0 {
			space = spaces[int(r.g.leafOf(v))-len(r.g.Nodes)]
		}
		r.addNode(u, int32(i), anyOf(int32(i)), space)
	}
	return u
}

// TestPrimaryIsTheLargestValue has a node that reads values of leaves in different orders, and a result.
func TestPrimaryIsTheLargestValue(t *testing.T) {
	for turn := range 3 {
		p := machine(0, 1)
		p.addNode(1, 1)
		p.addNode(1, 1, 0)
		p.Values[0].Bytes = 1000 // not of a leaf
		sizes := []int64{10, 30, 20}
		for i := range sizes {
			p.addLeaf(sizes[(i+turn)%3], 1)
		}
		g := newGraph(p)
		if v := g.largestLeafValue(1); v < 0 || g.Values[v].Bytes != 30 {
			t.Errorf("turn %d: value %d is the largest of a leaf, want the one of 30 bytes", turn, v)
		}
		if v := g.largestLeafValue(0); v != -1 {
			t.Errorf("a node that reads no leaf has the primary value %d", v)
		}
	}
}

// TestReadersShareACopyOnTheQueueThatMakesIt copies a leaf that two nodes read. The queue of the device makes a copy
// out of its memory, and its queue of copies, where it has one, a copy into it.
func TestReadersShareACopyOnTheQueueThatMakesIt(t *testing.T) {
	for queues := range 3 {
		p := machine(queues, 3)
		p.addNode(1, 1)
		p.addNode(1, 1)
		p.addLeaf(8, 0, 1)
		r := newRelaxation(newGraph(p))
		into, out := onHost, onHost
		if queues > 0 {
			into, out = r.queueOf(0), r.queueOf(0)
		}
		if queues > 1 {
			into = r.copyQueue(0)
		}
		for n := range int32(2) {
			if by, s := r.copyShare(n, 0, 0); by != into || s != 1.5 {
				t.Errorf("%d queues, into the device: resource %d for %v s, want %d for 1.5", queues, by, s, into)
			}
			if by, s := r.copyShare(n, 1, 1); by != out || s != 1.5 {
				t.Errorf("%d queues, out of the device: resource %d for %v s, want %d for 1.5", queues, by, s, out)
			}
			if _, s := r.copyShare(n, 0, 1); s != 0 {
				t.Errorf("a device takes %v s for a copy of what it addresses", s)
			}
		}
	}
}
