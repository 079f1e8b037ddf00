package placement

import (
	"cmp"
	"math"
	"slices"
)

// tree is a relaxation of a problem that dynamic programming solves: copies are left out until the variables and the
// values that join them form trees.
//
// A joint is a value that joins the variable that owns it with the nodes that read it, because the cost of its copies
// depends on all their labels. Joints are chosen in descending order of the time of a copy. A joint that would close
// a circle with earlier ones is not taken as a whole: each of its readers that is still separate from the owner
// is joined by itself, with its share of the copy.
//
// The cost of the best assignment of the tree is a lower bound of the cost of all assignments, as copies are only
// left out. Where nothing overlaps it is a lower bound of the time as well. For a problem that is a tree it is exact.
//
// Example: the problem of the package's comment.
//
//	joints:  w joins leaf w, node 0;  a joins node 0, node 1;  b joins node 1, node 2
//	tree:    leaf w — node 0 — node 1 — node 2; the root is node 0
//
// The cost of a label of a variable includes everything below the variable. It is found from the bottom of the tree to
// the root:
//
//	node 2:  GPU 1, CPU 2
//	node 1:  CPU 1 + min(copy b 2 + GPU 1, CPU 2) = 3
//	leaf w:  space 0: 0, space 1: 0
//	node 0:  GPU 1 + 0 (w in space 1) + copy a 2 + 3 = 6
//	         CPU 4 + 0 (w in space 0) + 3 = 7
//
// So the optimum is 6 s with node 0 on the GPU. Then labels are chosen from the root down: w in space 1, node 1 on the
// CPU, node 2 on the CPU.
type tree struct {
	g        *graph
	joints   []joint
	jointsOf [][]int32 // by variable: the joints of which it is a member
	up       []int32   // by variable: the joint that leads to its parent; -1 at a root
	order    []int32   // variables, parents first
}

// joint is a value that joins variables.
type joint struct {
	value   int32
	members []int32 // its owner, then readers
	share   float64 // part of the copy's cost that this joint has
}

// maxSpaces is the number of spaces up to which a value with several readers is one joint. The cost of such a joint
// is found by trying all sets of spaces into which the value may be copied.
const maxSpaces = 4

func newTree(g *graph) *tree {
	t := &tree{g: g, joints: g.chooseJoints(), jointsOf: make([][]int32, g.variables())}
	for i := range t.joints {
		for _, x := range t.joints[i].members {
			t.jointsOf[x] = append(t.jointsOf[x], int32(i))
		}
	}
	t.chooseRoots()
	return t
}

// chooseJoints returns joints that form trees.
func (g *graph) chooseJoints() []joint {
	var joints []joint
	sets := newSets(g.variables())
	for _, v := range g.byCopyCost() {
		owner, readers := g.Values[v].Owner, g.readers[v]
		if len(readers) == 1 || g.spaces <= maxSpaces {
			members := append([]int32{owner}, readers...)
			if sets.separate(members) {
				joints = append(joints, joint{v, members, 1})
				sets.union(members)
				continue
			}
		}
		for _, r := range readers {
			if pair := []int32{owner, r}; sets.separate(pair) {
				joints = append(joints, joint{v, pair, 1 / float64(len(readers))})
				sets.union(pair)
			}
		}
	}
	return joints
}

// byCopyCost returns the values that have an owner and readers, those with the most expensive copies first. It assumes
// the slowest of all links for each.
func (g *graph) byCopyCost() []int32 {
	var worst Link
	for _, row := range g.Links {
		for _, l := range row {
			worst.Delay, worst.PerByte = max(worst.Delay, l.Delay), max(worst.PerByte, l.PerByte)
		}
	}
	var list []int32
	cost := make([]float64, len(g.Values))
	for i := range g.Values {
		v := &g.Values[i]
		cost[i] = g.Steps[v.Step].Weight * (worst.Delay + v.Bytes*worst.PerByte)
		if v.Owner >= 0 && len(g.readers[i]) > 0 {
			list = append(list, int32(i))
		}
	}
	slices.SortStableFunc(list, func(a, b int32) int { return cmp.Compare(cost[b], cost[a]) })
	return list
}

// chooseRoots makes the first variable of each tree its root, and fills in up and order.
func (t *tree) chooseRoots() {
	const open = -2
	t.up = slices.Repeat([]int32{open}, t.g.variables())
	for root := range t.up {
		if t.up[root] != open {
			continue
		}
		t.up[root] = -1
		next := len(t.order)
		t.order = append(t.order, int32(root))
		for ; next < len(t.order); next++ {
			for _, j := range t.jointsOf[t.order[next]] {
				for _, x := range t.joints[j].members {
					if t.up[x] == open {
						t.up[x] = j
						t.order = append(t.order, x)
					}
				}
			}
		}
	}
}

// treeCosts are the costs of the labels of a tree's variables.
type treeCosts struct {
	*tree
	cost [][]float64 // by variable, by index of the label in allowed: the least cost of the variable and all below it
}

// solve returns the best assignment of the tree and its cost, which includes a price, by space, for each byte of a leaf
// there.
func (t *tree) solve(price []float64) (labels []int32, cost float64) {
	c := treeCosts{t, make([][]float64, t.g.variables())}
	for _, x := range slices.Backward(t.order) {
		c.cost[x] = c.costsOf(x, price)
	}
	labels = make([]int32, t.g.variables())
	for _, x := range t.order {
		if t.up[x] < 0 {
			label, least := c.cheapest(x, func(int32) float64 { return 0 })
			labels[x] = label
			cost += least
		}
		for _, j := range t.jointsOf[x] {
			if j != t.up[x] {
				c.assign(&t.joints[j], x, labels)
			}
		}
	}
	return labels, cost
}

// costsOf returns the costs of the labels of x. Those of all variables below x are known.
func (c *treeCosts) costsOf(x int32, price []float64) []float64 {
	costs := make([]float64, len(c.g.allowed[x]))
	for i, label := range c.g.allowed[x] {
		if c.g.isLeaf(x) {
			costs[i] = price[label] * float64(c.g.leaf(x).Bytes)
		} else {
			costs[i] = c.ownCost(x, label)
		}
		for _, j := range c.jointsOf[x] {
			if j != c.up[x] {
				costs[i] += c.jointCost(&c.joints[j], x, label)
			}
		}
	}
	return costs
}

// ownCost returns the cost of node n on target t by itself: its time, and its share of the copies of values that have
// no owner.
func (c *treeCosts) ownCost(n, t int32) float64 {
	cost := c.g.seconds(n, t) + c.g.misfits(n, t)
	for _, v := range c.g.Nodes[n].Reads {
		if val := &c.g.Values[v]; val.Owner < 0 {
			cost += c.readCost(v, val.Space, n, t, 1/float64(len(c.g.readers[v])))
		}
	}
	return cost
}

// readCost returns what it costs node n on target t to read value v, which is in space from, if n bears this share of
// the cost of a copy.
func (c *treeCosts) readCost(v, from, n, t int32, share float64) float64 {
	switch {
	case c.g.reaches(t, from):
		return 0
	case c.g.Nodes[n].Writes == v:
		return broken
	}
	return share * c.g.weightOf(v) * c.g.copySeconds(v, from, c.g.home(t))
}

// cheapest returns the label of x for which its cost and more of the label, which is not negative, are least together,
// and this sum.
func (c *treeCosts) cheapest(x int32, more func(label int32) float64) (int32, float64) {
	best, least := int32(-1), math.Inf(1)
	for i, label := range c.g.allowed[x] {
		cost := c.cost[x][i]
		if best >= 0 && cost >= least {
			continue
		}
		if cost += more(label); cost < least || best < 0 {
			best, least = label, cost
		}
	}
	return best, least
}

// jointCost returns the least cost of a joint and of everything below its other members, if member x has a label.
func (c *treeCosts) jointCost(j *joint, x, label int32) float64 {
	if len(j.members) == 2 {
		_, cost := c.bestOther(j, x, label)
		return cost
	}
	_, cost := c.bestSpread(j, x, label)
	return cost
}

// assign labels the other members of a joint of which member x is labelled, so that the cost is jointCost.
func (c *treeCosts) assign(j *joint, x int32, labels []int32) {
	if len(j.members) == 2 {
		labels[j.other(x)], _ = c.bestOther(j, x, labels[x])
		return
	}
	s, _ := c.bestSpread(j, x, labels[x])
	if owner := j.members[0]; owner != x {
		labels[owner] = s.owner
	}
	for _, r := range j.members[1:] {
		if r != x {
			labels[r], _ = c.cheapest(r, func(t int32) float64 { return c.spreadRead(j, s, r, t) })
		}
	}
}

// other returns the member of a joint of two that is not x.
func (j *joint) other(x int32) int32 {
	if j.members[0] == x {
		return j.members[1]
	}
	return j.members[0]
}

// bestOther returns the best label of the other member of a joint of two, where x has a label, and its cost.
func (c *treeCosts) bestOther(j *joint, x, label int32) (int32, float64) {
	owner, reader := j.members[0], j.members[1]
	if x == owner {
		from := c.g.spaceFor(owner, label)
		return c.cheapest(reader, func(t int32) float64 { return c.readCost(j.value, from, reader, t, j.share) })
	}
	return c.cheapest(owner, func(l int32) float64 {
		return c.readCost(j.value, c.g.spaceFor(owner, l), reader, label, j.share)
	})
}

// spread is a choice of where a value with several readers is: the label of its owner, and a set of spaces with copies,
// of which bit i is space i.
type spread struct {
	owner int32
	set   int
}

// bestSpread returns the best spread of a joint of which member x has a label, and its cost.
func (c *treeCosts) bestSpread(j *joint, x, label int32) (spread, float64) {
	best, least := spread{owner: label}, math.Inf(1)
	owner := j.members[0]
	for i, l := range c.g.allowed[owner] {
		if x == owner && l != label {
			continue
		}
		var ownerCost float64
		if x != owner {
			ownerCost = c.cost[owner][i]
		}
		for set := range 1 << c.g.spaces {
			s := spread{l, set}
			if cost := c.spreadCost(j, s, x, label, ownerCost); cost < least {
				best, least = s, cost
			}
		}
	}
	return best, least
}

// spreadCost returns the cost of a spread of a joint of which member x has a label.
func (c *treeCosts) spreadCost(j *joint, s spread, x, label int32, ownerCost float64) float64 {
	from := c.g.spaceFor(j.members[0], s.owner)
	if s.has(from) {
		return math.Inf(1) // a copy into its own space
	}
	var sum float64
	for to := range int32(c.g.spaces) {
		if s.has(to) {
			sum += c.g.weightOf(j.value) * c.g.copySeconds(j.value, from, to)
		}
	}
	sum += ownerCost
	for _, r := range j.members[1:] {
		if r == x {
			sum += c.spreadRead(j, s, r, label)
			continue
		}
		_, cost := c.cheapest(r, func(t int32) float64 { return c.spreadRead(j, s, r, t) })
		sum += cost
	}
	return sum
}

// spreadRead returns what it costs reader r on target t to read the value of a joint, without the copies of the spread:
// it is infinite if t can read neither the value nor a copy.
func (c *treeCosts) spreadRead(j *joint, s spread, r, t int32) float64 {
	switch {
	case c.g.reaches(t, c.g.spaceFor(j.members[0], s.owner)):
		return 0
	case c.g.Nodes[r].Writes == j.value:
		return broken
	case s.has(c.g.home(t)):
		return 0
	}
	return math.Inf(1)
}

func (s spread) has(space int32) bool { return s.set&(1<<space) != 0 }
