package placement

import (
	"math"
	"slices"
)

// graph is a problem with the tables that the search derives from it. It does not change during the search.
//
// Nodes, variables, values, targets and spaces are all numbers of type int32. In this package, n is a node, x is a
// variable (which a node is too), v is a value, t is a target, and from, to and space are spaces.
type graph struct {
	*Problem
	spaces  int
	allowed [][]int32 // by variable: labels that it may have, ascending
	fastest []int32   // by node: the target on which it takes least time, ignoring copies
	readers [][]int32 // by value: nodes that read it, ascending
	writers [][]int32 // by value: nodes that change it
	owned   [][]int32 // by variable: values whose Owner it is
	users   [][]int32 // by leaf: nodes that read a value of it, ascending
	copier  []int32   // by space: target whose queue makes copies out of it; -1 if the reader or the host makes them
	serial  bool      // no target has a queue, so nothing overlaps
}

func newGraph(p *Problem) *graph {
	g := &graph{Problem: p, spaces: len(p.Limits)}
	g.serial = !slices.ContainsFunc(p.Targets, func(t Target) bool { return t.Queues > 0 })
	g.indexValues()
	g.allowLabels()
	g.findCopiers()
	return g
}

// indexValues fills in readers, writers, owned and users.
func (g *graph) indexValues() {
	g.readers = make([][]int32, len(g.Values))
	g.writers = make([][]int32, len(g.Values))
	g.owned = make([][]int32, g.variables())
	g.users = make([][]int32, len(g.Leaves))
	for v := range g.Values {
		if x := g.Values[v].Owner; x >= 0 {
			g.owned[x] = append(g.owned[x], int32(v))
		}
	}
	for i := range g.Nodes {
		n := int32(i)
		for _, v := range g.Nodes[i].Reads {
			g.readers[v] = append(g.readers[v], n)
			if x := g.leafOf(v); x >= 0 {
				g.addUser(x, n)
			}
		}
		if v := g.Nodes[i].Writes; v >= 0 {
			g.writers[v] = append(g.writers[v], n)
		}
	}
}

// addUser notes that node n reads leaf x. A node that reads several values of a leaf is noted once.
func (g *graph) addUser(x, n int32) {
	users := &g.users[int(x)-len(g.Nodes)]
	if k := len(*users); k == 0 || (*users)[k-1] != n {
		*users = append(*users, n)
	}
}

// allowLabels fills in allowed and fastest.
func (g *graph) allowLabels() {
	g.allowed = make([][]int32, 0, g.variables())
	g.fastest = make([]int32, 0, len(g.Nodes))
	for i := range g.Nodes {
		targets := targetsOf(g.Nodes[i].Seconds)
		g.allowed = append(g.allowed, targets)
		g.fastest = append(g.fastest, fastestOf(g.Nodes[i].Seconds, targets))
	}
	for i := range g.Leaves {
		g.allowed = append(g.allowed, g.spacesOf(&g.Leaves[i]))
	}
}

// targetsOf returns the targets that can run a node with these times.
func targetsOf(seconds []float64) []int32 {
	list := make([]int32, 0, len(seconds))
	for t, s := range seconds {
		if !math.IsInf(s, 1) {
			list = append(list, int32(t))
		}
	}
	return list
}

// fastestOf returns the target with the least time, the first of several; -1 where there is no target.
func fastestOf(seconds []float64, targets []int32) int32 {
	best := int32(-1)
	for _, t := range targets {
		if best < 0 || seconds[t] < seconds[best] {
			best = t
		}
	}
	return best
}

// spacesOf returns the spaces in which a leaf fits by itself. For a leaf that fits nowhere it returns all spaces that
// the leaf allows, because every leaf needs a label; no assignment of such a problem keeps the limits.
func (g *graph) spacesOf(l *Leaf) []int32 {
	var fitting, all []int32
	for s, ok := range l.Spaces {
		if !ok {
			continue
		}
		all = append(all, int32(s))
		if g.excess(int32(s), l.Bytes) == 0 {
			fitting = append(fitting, int32(s))
		}
	}
	if len(fitting) > 0 {
		return fitting
	}
	return all
}

// findCopiers fills in copier. A space that a target without a queue addresses is memory of the host. Any other space
// is copied from by the first target with a queue whose home it is.
func (g *graph) findCopiers() {
	g.copier = slices.Repeat([]int32{-1}, g.spaces)
	for space := range g.copier {
		if g.onHost(space) {
			continue
		}
		t := slices.IndexFunc(g.Targets, func(t Target) bool { return t.Queues > 0 && t.Home == space })
		g.copier[space] = int32(t)
	}
}

// onHost reports whether a target without a queue addresses a space.
func (g *graph) onHost(space int) bool {
	return slices.ContainsFunc(g.Targets, func(t Target) bool { return t.Queues == 0 && t.Addresses[space] })
}

func (g *graph) variables() int { return len(g.Nodes) + len(g.Leaves) }

// isLeaf reports whether variable x is a leaf.
func (g *graph) isLeaf(x int32) bool { return int(x) >= len(g.Nodes) }

// leafVariable returns the variable of leaf i.
func (g *graph) leafVariable(i int) int32 { return int32(len(g.Nodes) + i) }

// leaf returns the leaf that variable x is.
func (g *graph) leaf(x int32) *Leaf { return &g.Leaves[int(x)-len(g.Nodes)] }

// leafOf returns the leaf, as a variable, that value v is part of; -1 for none.
func (g *graph) leafOf(v int32) int32 {
	if x := g.Values[v].Owner; x >= 0 && g.isLeaf(x) {
		return x
	}
	return -1
}

// usersOf returns the nodes that read a leaf, given as a variable.
func (g *graph) usersOf(x int32) []int32 { return g.users[int(x)-len(g.Nodes)] }

// allows reports whether variable x may have a label.
func (g *graph) allows(x, label int32) bool {
	_, ok := slices.BinarySearch(g.allowed[x], label)
	return ok
}

// home returns the home of target t.
func (g *graph) home(t int32) int32 { return int32(g.Targets[t].Home) }

// spaceFor returns the space of what variable x owns if it has a label: the label of a leaf, the home of a node's
// target.
func (g *graph) spaceFor(x, label int32) int32 {
	if g.isLeaf(x) {
		return label
	}
	return g.home(label)
}

// spaceOf returns the space of value v in an assignment.
func (g *graph) spaceOf(labels []int32, v int32) int32 {
	x := g.Values[v].Owner
	if x < 0 {
		return g.Values[v].Space
	}
	return g.spaceFor(x, labels[x])
}

// reaches reports whether target t addresses a space.
func (g *graph) reaches(t, space int32) bool { return g.Targets[t].Addresses[space] }

// weightOf returns the weight of the step of value v, with which copies of v count.
func (g *graph) weightOf(v int32) float64 { return g.Steps[g.Values[v].Step].Weight }

// seconds returns the weighted time of node n on target t.
func (g *graph) seconds(n, t int32) float64 {
	node := &g.Nodes[n]
	return g.Steps[node.Step].Weight * node.Seconds[t]
}

// leastSeconds returns the time of node n on its fastest target, without the weight of its step.
func (g *graph) leastSeconds(n int) float64 { return g.Nodes[n].Seconds[g.fastest[n]] }

// copySeconds returns the time of one copy of value v, or at least broken if the copy is not allowed.
func (g *graph) copySeconds(v, from, to int32) float64 {
	l := &g.Links[from][to]
	seconds := l.Delay + g.Values[v].Bytes*l.PerByte
	seconds += g.tooLarge(v, g.CopyRoom[to])
	if g.Stay && g.Limits[to] >= 0 && g.leafOf(v) >= 0 {
		seconds += broken
	}
	return seconds
}

// tooLarge returns broken if value v has more bytes than a limit allows, otherwise 0.
func (g *graph) tooLarge(v int32, limit int64) float64 {
	if limit >= 0 && g.Values[v].Bytes > float64(limit) {
		return broken
	}
	return 0
}

// misfits returns broken for each result of node n that is too large for the home of target t.
func (g *graph) misfits(n, t int32) float64 {
	var sum float64
	for _, v := range g.owned[n] {
		sum += g.tooLarge(v, g.Room[g.home(t)])
	}
	return sum
}

// legal reports whether an assignment can run: all nodes are legal.
func (g *graph) legal(labels []int32) bool {
	for i := range g.Nodes {
		if !g.legalNode(labels, int32(i)) {
			return false
		}
	}
	return true
}

// legalNode reports whether the target of node n addresses the value that n changes, and its home has room for the
// results.
func (g *graph) legalNode(labels []int32, n int32) bool {
	if v := g.Nodes[n].Writes; v >= 0 && !g.reaches(labels[n], g.spaceOf(labels, v)) {
		return false
	}
	return g.misfits(n, labels[n]) == 0
}

// used returns by space the bytes of the leaves that an assignment stores there.
func (g *graph) used(labels []int32) []int64 {
	used := make([]int64, g.spaces)
	for i := range g.Leaves {
		used[labels[g.leafVariable(i)]] += g.Leaves[i].Bytes
	}
	return used
}

// overs returns by how many bytes an assignment exceeds the limit of each space.
func (g *graph) overs(labels []int32) []int64 {
	over := g.used(labels)
	for space := range over {
		over[space] = g.excess(int32(space), over[space])
	}
	return over
}

// excess returns by how much a number of bytes exceeds the limit of a space.
func (g *graph) excess(space int32, bytes int64) int64 {
	if limit := g.Limits[space]; limit >= 0 {
		return max(0, bytes-limit)
	}
	return 0
}

// repair returns labels with each label that a variable must not have replaced, and whether it had to replace any.
func (g *graph) repair(labels []int32) (repaired []int32, changed bool) {
	repaired = slices.Clone(labels)
	for i := range repaired {
		if x := int32(i); !g.allows(x, repaired[x]) {
			repaired[x] = g.fallback(x)
			changed = true
		}
	}
	return repaired, changed
}

// fallback returns a label for a variable: the fastest target of a node, the first allowed space of a leaf.
func (g *graph) fallback(x int32) int32 {
	if g.isLeaf(x) {
		return g.allowed[x][0]
	}
	return g.fastest[x]
}

// fallbackLabels returns the assignment of the fallback of each variable.
func (g *graph) fallbackLabels() []int32 {
	labels := make([]int32, g.variables())
	for i := range labels {
		labels[i] = g.fallback(int32(i))
	}
	return labels
}
