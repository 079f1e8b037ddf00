package placement

// tails returns for each node the least time of the longest chain of nodes that has to
// follow it, and of all nodes behind it in its step together.
func (g *graph) tails() (tail, least []float64) {
	tail, least = make([]float64, len(g.Nodes)), make([]float64, len(g.Nodes))
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		n := &g.Nodes[i]
		own := n.Seconds[g.fastest(int32(i))]
		if i > g.Steps[n.Step].First {
			least[i-1] = least[i] + own
		}
		for _, v := range n.Reads {
			if m := g.Values[v].Maker; m >= 0 {
				tail[m] = max(tail[m], own+tail[i])
			}
		}
	}
	return tail, least
}

// leastStep returns a lower bound of a step's time: the longest chain of nodes, or all of
// them shared evenly by whoever can work at a time.
func (g *graph) leastStep(s *Step, tail, least []float64) float64 {
	if s.First == s.End {
		return 0
	}
	var chain float64
	for i := s.First; i < s.End; i++ {
		chain = max(chain, g.Nodes[i].Seconds[g.fastest(int32(i))]+tail[i])
	}
	all := least[s.First] + g.Nodes[s.First].Seconds[g.fastest(int32(s.First))]
	return max(chain, all/float64(g.workers()))
}

// workers is how many nodes can run at a time: the host's, and one in each queue.
func (g *graph) workers() int {
	n, host := 0, 0
	for _, t := range g.Targets {
		if t.Queues > 0 {
			n++
		} else {
			host = 1
		}
	}
	return n + host
}

// bound returns a lower bound of the time of all steps.
func (g *graph) bound() float64 {
	tail, least := g.tails()
	var sum float64
	for i := range g.Steps {
		s := &g.Steps[i]
		sum += s.Weight * g.leastStep(s, tail, least)
	}
	return sum
}
