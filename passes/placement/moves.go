package placement

import "slices"

// group is a set of nodes that move to another target together, with the leaves that they read.
type group struct{ nodes, leaves []int32 }

// maxGroup bounds the nodes that join a group because they share leaves with it.
const maxGroup = 256

// around returns the group of some nodes: the nodes, the leaves that they read, all nodes that read these leaves, and
// so on. If one node that changes a leaf moves, all other nodes that change it so move too, in every step.
//
// Example: node 0 changes leaf k. Node 5 reads leaves k and v, and node 4 changes v. around(0) finds k, then node 5,
// then v, then node 4: the group has nodes 0, 5, 4 and leaves k, v.
func (g *graph) around(nodes ...int32) group {
	seen := make(map[int32]bool)
	var out group
	for _, n := range nodes {
		seen[n] = true
		out.nodes = append(out.nodes, n)
	}
	limit := len(nodes) + maxGroup
	for i := 0; i < len(out.nodes) && len(out.nodes) < limit; i++ {
		for _, v := range g.Nodes[out.nodes[i]].Reads {
			x := g.leafOf(v)
			if x < 0 || seen[x] {
				continue
			}
			seen[x] = true
			out.leaves = append(out.leaves, x)
			for _, n := range g.usersOf(x) {
				if !seen[n] {
					seen[n] = true
					out.nodes = append(out.nodes, n)
				}
			}
		}
	}
	return out
}

// moveGroup moves the nodes of a group to target t, except nodes that cannot run there. Each leaf moves to the home of
// t or, where it may not be stored there, to the space where it costs least.
func (s *state) moveGroup(gr group, t int32) {
	s.setAll(gr.nodes, t)
	home := s.g.home(t)
	for _, x := range gr.leaves {
		if s.g.allows(x, home) {
			s.set(x, home)
		} else {
			s.settle(x)
		}
	}
}

// moveNodes moves nodes to target t, except nodes that cannot run there. The leaves that they read move to the spaces
// where they cost least then.
func (s *state) moveNodes(t int32, nodes ...int32) {
	s.setAll(nodes, t)
	for _, n := range nodes {
		for _, v := range s.g.Nodes[n].Reads {
			if x := s.g.leafOf(v); x >= 0 {
				s.settle(x)
			}
		}
	}
}

// setAll gives the label t to those nodes that may have it.
func (s *state) setAll(nodes []int32, t int32) {
	for _, n := range nodes {
		if s.g.allows(n, t) {
			s.set(n, t)
		}
	}
}

// settle moves a leaf to the space where it costs least. It tries the homes of the targets that read it.
func (s *state) settle(x int32) {
	if len(s.g.allowed[x]) < 2 {
		return
	}
	tried := []int32{s.labels[x]}
	cost, over, best := s.cost, s.over, s.labels[x]
	for i, n := range s.g.usersOf(x) {
		to := s.g.home(s.labels[n])
		if i == maxGroup || slices.Contains(tried, to) || !s.g.allows(x, to) {
			continue
		}
		tried = append(tried, to)
		s.set(x, to)
		if s.better(cost, over) {
			cost, over, best = s.cost, s.over, to
		}
	}
	s.set(x, best)
}

// fewTargets is the number of targets up to which all are tried for a node or a run of nodes.
const fewTargets = 4

// promising returns the targets to try for node x. If x can run on many targets, these are its fastest one and those
// of the nodes that make what it reads and that read what it makes, as a move there saves copies.
func (s *state) promising(x int32) []int32 {
	if len(s.g.allowed[x]) <= fewTargets {
		return s.g.allowed[x]
	}
	list := make([]int32, 0, 2*fewTargets)
	add := func(t int32) {
		if len(list) < 2*fewTargets && !slices.Contains(list, t) && s.g.allows(x, t) {
			list = append(list, t)
		}
	}
	add(s.g.fastest[x])
	for _, v := range s.g.Nodes[x].Reads {
		if maker := s.g.Values[v].Owner; maker >= 0 && !s.g.isLeaf(maker) {
			add(s.labels[maker])
		}
	}
	for _, v := range s.g.owned[x] {
		for i, n := range s.g.readers[v] {
			if i < fewTargets {
				add(s.labels[n])
			}
		}
	}
	return list
}
