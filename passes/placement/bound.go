package placement

// followers returns two lower bounds for each node, both without the node itself: the time of the longest chain of
// nodes that has to follow it in its step, and the time of all nodes after it in its step together. Each node counts
// with its time on its fastest target.
//
// Example: node 1 reads the result of node 0, and node 2 does not. The nodes take at least 1, 4 and 2 s.
//
//	node    longest chain    all after it
//	0       4 (node 1)       6
//	1       0                2
//	2       0                0
func (g *graph) followers() (chain, all []float64) {
	chain, all = make([]float64, len(g.Nodes)), make([]float64, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		own := g.leastSeconds(i)
		if i > g.Steps[n.Step].First {
			all[i-1] = all[i] + own
		}
		for _, v := range n.Reads {
			if m := g.Values[v].Maker; m >= 0 {
				chain[m] = max(chain[m], own+chain[i])
			}
		}
	}
	return chain, all
}

// chainBound returns a lower bound of the weighted time of all steps. It ignores copies and limits: a step takes
// at least the time of its longest chain of nodes, and at least its share for each worker if the nodes are
// distributed evenly.
//
// In the example of followers, the longest chain takes 5 s and all nodes together take 7 s. With one GPU that has a
// queue and the CPU, two nodes can run at a time, so the bound is max(5, 7/2) = 5 s.
func (g *graph) chainBound() float64 {
	chain, all := g.followers()
	var sum float64
	for i := range g.Steps {
		s := &g.Steps[i]
		sum += s.Weight * g.stepBound(s, chain, all)
	}
	return sum
}

// stepBound returns the bound of chainBound for one step, without its weight, from the result of followers.
func (g *graph) stepBound(s *Step, chain, all []float64) float64 {
	if s.First == s.End {
		return 0
	}
	var longest float64
	for n := s.First; n < s.End; n++ {
		longest = max(longest, g.leastSeconds(n)+chain[n])
	}
	together := all[s.First] + g.leastSeconds(s.First)
	return max(longest, together/float64(g.workers()))
}

// workers returns how many nodes can run at the same time: one on each queue, and one on the host if some target has
// no queue.
func (g *graph) workers() int {
	queues, host := 0, 0
	for _, t := range g.Targets {
		if t.Queues > 0 {
			queues++
		} else {
			host = 1
		}
	}
	return queues + host
}
