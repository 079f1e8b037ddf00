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
