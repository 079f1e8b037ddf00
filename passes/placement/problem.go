// Package placement decides on which of several backends the nodes of a program run, and in
// which memory its weights and states lie, so that the predicted time of its steps is
// short. It knows no tensors: nodes have seconds, values have bytes.
//
// [Solve] starts from given assignments and from the optimum of a tree within the problem,
// improves them by moves, and searches small problems completely. docs/assign.md says how,
// and why so.
package placement

import (
	"math"
	"slices"
)

// Problem is what has to be decided. Its variables are the nodes, whose labels are
// targets, and the leaves, whose labels are spaces; leaf i is variable len(Nodes)+i.
type Problem struct {
	Targets  []Target
	Limits   []int64  // by space: bytes that leaves may take there; negative is no limit
	Room     []int64  // by space: bytes that a value may have which is made there; negative is no limit
	CopyRoom []int64  // by space: bytes that a value may have which is copied there; negative is no limit
	Stay     bool     // leaves are not copied into spaces that have limits
	UnderWay int      // how many steps may be under way at once; 0 and 1 are one
	Links    [][]Link // by space from, space to
	Steps    []Step
	Nodes    []Node // those of a step follow each other, in order
	Leaves   []Leaf
	Values   []Value
}

// Target is a backend.
type Target struct {
	Home      int    // the space where results go
	Addresses []bool // by space: it can read and write there
	Queues    int    // 0: the host waits; 1: work runs in order; 2: copies into Home run beside it
	Events    bool   // others can wait for a part of a queue, not only for its end
}

// Link says how long bringing bytes from one space into another takes.
type Link struct{ Delay, PerByte float64 } // seconds

// Step is a function that is called again and again. Its cost counts Weight times.
type Step struct {
	Weight     float64
	First, End int // range of its nodes
}

// Node is a piece of work.
type Node struct {
	Seconds []float64 // by target; infinite where it cannot run
	Reads   []int32   // values, each once
	Writes  int32     // a value, also read, whose bytes it changes: it has to address them; -1 is none
	Step    int32
	Caller  bool // it is what the caller does with results: the next step does not wait for it
}

// Leaf is memory that outlives a step and lies in one space.
type Leaf struct {
	Bytes  int64
	Spaces []bool // where it may lie
}

// Value is what is copied as a whole for a reader that cannot address it.
type Value struct {
	Step  int32
	Owner int32   // variable that says where it lies: a node, in the home of its target, or a leaf; -1 is none
	Maker int32   // node that computes it; -1 where it is there from the beginning
	Space int32   // where it lies without an owner
	Bytes float64 // that a copy moves
}

// Never is the time of what cannot run.
var Never = math.Inf(1)

// broken is the cost, in seconds, of a node that writes where it cannot and of a value that
// is too large for where it lies: more than any step, and little enough that sums keep their
// digits.
const broken = 1e9

// lists is a list of numbers for each key.
type lists struct{ start, items []int32 }

func (l *lists) at(key int32) []int32 { return l.items[l.start[key]:l.start[key+1]] }

// newLists groups what each gives by key. While items come, start[key+1] is where the next one of a
// key goes, which in the end is where the next key starts.
func newLists(keys int, each func(yield func(key, item int32))) lists {
	start := make([]int32, keys+2)
	each(func(key, _ int32) { start[key+2]++ })
	for i := range keys {
		start[i+2] += start[i+1]
	}
	l := lists{start[:keys+1], make([]int32, start[keys+1])}
	each(func(key, item int32) {
		l.items[start[key+1]] = item
		start[key+1]++
	})
	return l
}

// graph is a problem with what follows from it.
type graph struct {
	*Problem
	spaces  int
	readers lists     // nodes, by value
	writers lists     // nodes, by value
	owned   lists     // values, by variable
	users   lists     // nodes that read values of a leaf, each once, by leaf
	lists   [][]int32 // different lists of labels
	list    []int32   // by variable: which of them it may have
	may     []bool    // by list and label: the label is in it
	labels  int       // how many labels there are
	fast    []int32   // by list of nodes: the target of least time
	alone   []bool    // by node: no leaf that it reads has a choice of spaces
	outOf   []int32   // by space: the target whose queue copies out of it; -1 is memory of the host
	sync    bool      // no target has a queue
	roomy   bool      // whatever is made in a space, or copied there, has room

	homes []int32 // by target
	reach []bool  // by space and target: see reaches

	facts   []valueFacts // by value
	crowded []int32      // values that many nodes read
}

func newGraph(p *Problem) *graph {
	g := &graph{Problem: p, spaces: len(p.Limits), sync: true}
	g.roomy = most(p.Room) < 0 && most(p.CopyRoom) < 0
	for t := range p.Targets {
		g.homes = append(g.homes, int32(p.Targets[t].Home))
	}
	for space := range g.spaces {
		for t := range p.Targets {
			g.reach = append(g.reach, p.Targets[t].Addresses[space])
		}
	}
	g.readers = newLists(len(p.Values), func(yield func(key, item int32)) {
		for i := range p.Nodes {
			for _, v := range p.Nodes[i].Reads {
				yield(v, int32(i))
			}
		}
	})
	g.writers = newLists(len(p.Values), func(yield func(key, item int32)) {
		for i := range p.Nodes {
			if v := p.Nodes[i].Writes; v >= 0 {
				yield(v, int32(i))
			}
		}
	})
	g.owned = newLists(g.variables(), func(yield func(key, item int32)) {
		for i := range p.Values {
			if o := p.Values[i].Owner; o >= 0 {
				yield(o, int32(i))
			}
		}
	})
	for _, t := range p.Targets {
		g.sync = g.sync && t.Queues == 0
	}
	g.findMovers()
	g.findUsers()
	g.findLabels()
	g.findAlone()
	g.findFacts()
	return g
}

// findMovers says who copies out of each space: the first target with a queue that prefers
// it, unless one without a queue addresses it too.
func (g *graph) findMovers() {
	g.outOf = slices.Repeat([]int32{-1}, g.spaces)
	for space := range g.outOf {
		for t := range g.Targets {
			if d := &g.Targets[t]; d.Queues > 0 && d.Home == space && g.outOf[space] < 0 && !g.onHost(space) {
				g.outOf[space] = int32(t)
			}
		}
	}
}

// onHost reports whether a target without a queue addresses a space.
func (g *graph) onHost(space int) bool {
	return slices.ContainsFunc(g.Targets, func(t Target) bool { return t.Queues == 0 && t.Addresses[space] })
}

func (g *graph) variables() int { return len(g.Nodes) + len(g.Leaves) }

// isLeaf reports whether variable x is a leaf.
func (g *graph) isLeaf(x int32) bool { return int(x) >= len(g.Nodes) }

func (g *graph) leaf(x int32) *Leaf { return &g.Leaves[int(x)-len(g.Nodes)] }

// leafOf returns the leaf, as a variable, that value v lies with; -1 for none.
func (g *graph) leafOf(v int32) int32 {
	if o := g.Values[v].Owner; o >= 0 && g.isLeaf(o) {
		return o
	}
	return -1
}

func (g *graph) findUsers() {
	last := make([]int32, len(g.Leaves)) // node that was counted last, plus one
	g.users = newLists(len(g.Leaves), func(yield func(key, item int32)) {
		clear(last)
		for i := range g.Nodes {
			for _, v := range g.Nodes[i].Reads {
				x := g.leafOf(v)
				if x < 0 {
					continue
				}
				if k := x - int32(len(g.Nodes)); last[k] != int32(i)+1 {
					last[k] = int32(i) + 1
					yield(k, int32(i))
				}
			}
		}
	})
}

// usersOf returns the nodes that read a leaf, given as a variable.
func (g *graph) usersOf(x int32) []int32 { return g.users.at(x - int32(len(g.Nodes))) }

// findLabels lists what each variable may be. There are few different lists: nodes of equal seconds
// share one, and leaves that may lie where the one before may.
func (g *graph) findLabels() {
	g.list = make([]int32, g.variables())
	g.labels = max(len(g.Targets), g.spaces)
	known := make(map[*float64]int32)
	for i := range g.Nodes {
		secs := g.Nodes[i].Seconds
		k, ok := known[&secs[0]]
		if !ok {
			labels := able(secs)
			k = g.addList(labels)
			g.fast = append(g.fast, fastest(secs, labels))
			known[&secs[0]] = k
		}
		g.list[i] = k
	}
	var room []int32
	before := int32(-1)
	for i := range g.Leaves {
		room = g.appendSpaces(room[:0], &g.Leaves[i])
		if before < 0 || !slices.Equal(room, g.lists[before]) {
			before = g.addList(slices.Clone(room))
		}
		g.list[len(g.Nodes)+i] = before
	}
}

// addList adds a list of labels and returns its number.
func (g *graph) addList(labels []int32) int32 {
	g.lists = append(g.lists, labels)
	g.may = append(g.may, make([]bool, g.labels)...)
	for _, label := range labels {
		g.may[(len(g.lists)-1)*g.labels+int(label)] = true
	}
	return int32(len(g.lists)) - 1
}

// able returns the targets with a time.
func able(seconds []float64) []int32 {
	var list []int32
	for t, s := range seconds {
		if !math.IsInf(s, 1) {
			list = append(list, int32(t))
		}
	}
	return list
}

// appendSpaces appends where a leaf may lie: where it fits, or anywhere if it fits nowhere, as it has
// to be somewhere, and the assignment then does not fit.
func (g *graph) appendSpaces(list []int32, l *Leaf) []int32 {
	for s, may := range l.Spaces {
		if may && (g.Limits[s] < 0 || l.Bytes <= g.Limits[s]) {
			list = append(list, int32(s))
		}
	}
	if len(list) > 0 {
		return list
	}
	for s, may := range l.Spaces {
		if may {
			list = append(list, int32(s))
		}
	}
	return list
}

// labelsOf returns what variable x may be.
func (g *graph) labelsOf(x int32) []int32 { return g.lists[g.list[x]] }

// mayBe reports whether variable x may have a label.
func (g *graph) mayBe(x, label int32) bool {
	return uint(label) < uint(g.labels) && g.may[int(g.list[x])*g.labels+int(label)]
}

// fastest returns the target on which node x takes least time by itself.
func (g *graph) fastest(x int32) int32 { return g.fast[g.list[x]] }

// fastest returns the label of least time, the first of several; -1 where there is none.
func fastest(seconds []float64, labels []int32) int32 {
	best := int32(-1)
	for _, t := range labels {
		if best < 0 || seconds[t] < seconds[best] {
			best = t
		}
	}
	return best
}

// most returns the largest of some limits; -1 where there is none.
func most(limits []int64) int64 {
	n := int64(-1)
	for _, limit := range limits {
		n = max(n, limit)
	}
	return n
}

// valueFacts is what the cost of a value's copies is found with. It is asked for far more often than
// all else: what it takes lies side by side.
type valueFacts struct {
	weight     float64 // of its step
	owner      int32   // as the value has it; -1 less the space for one without
	maker      int32   // as the value has it
	first, end int32   // its readers, in readers.items
	crowd      int32   // its index in crowded; -1 where few nodes read it
	written    bool    // some node changes it
}

// manyReaders is from how many readers on those of a value are counted by target, so that
// a change of one does not look at all.
const manyReaders = 8

func (g *graph) findFacts() {
	g.facts = make([]valueFacts, len(g.Values))
	for i := range g.facts {
		v, val := int32(i), &g.Values[i]
		g.facts[i] = valueFacts{
			weight: g.Steps[val.Step].Weight,
			owner:  val.Owner, maker: val.Maker,
			first: g.readers.start[i], end: g.readers.start[i+1],
			crowd: -1, written: len(g.writers.at(v)) > 0,
		}
		if val.Owner < 0 {
			g.facts[i].owner = -1 - val.Space
		}
		if len(g.readers.at(v)) > manyReaders {
			g.facts[i].crowd = int32(len(g.crowded))
			g.crowded = append(g.crowded, v)
		}
	}
}

// findAlone finds the nodes that can be moved without a leaf.
func (g *graph) findAlone() {
	g.alone = make([]bool, len(g.Nodes))
	for i := range g.Nodes {
		g.alone[i] = !slices.ContainsFunc(g.Nodes[i].Reads, func(v int32) bool {
			leaf := g.leafOf(v)
			return leaf >= 0 && len(g.labelsOf(leaf)) > 1
		})
	}
}

// home returns the space that a label stands for: that of a leaf, or the home of a node's
// target.
func (g *graph) home(x, label int32) int32 {
	if g.isLeaf(x) {
		return label
	}
	return g.homes[label]
}

// spaceOf returns where value v lies.
func (g *graph) spaceOf(labels []int32, v int32) int32 {
	return g.lies(labels, &g.facts[v])
}

// lies is spaceOf for a value of which the facts are at hand.
func (g *graph) lies(labels []int32, f *valueFacts) int32 {
	if f.owner < 0 {
		return -1 - f.owner
	}
	return g.home(f.owner, labels[f.owner])
}

// copySeconds is the time of one copy of v.
func (g *graph) copySeconds(v, from, to int32) float64 {
	l := &g.Links[from][to]
	seconds := l.Delay + g.Values[v].Bytes*l.PerByte
	if !g.roomy {
		seconds += g.misfit(v, g.CopyRoom[to])
	}
	if g.Stay && g.Limits[to] >= 0 && g.leafOf(v) >= 0 {
		return seconds + broken
	}
	return seconds
}

// misfit is the cost of having v where there is room for so many bytes: nothing, unless it
// is too large.
func (g *graph) misfit(v int32, room int64) float64 {
	if room >= 0 && g.Values[v].Bytes > float64(room) {
		return broken
	}
	return 0
}

// misfits is the cost of having what a node makes in the home of a target.
func (g *graph) misfits(x, t int32) float64 {
	var sum float64
	if g.roomy {
		return sum
	}
	for _, v := range g.owned.at(x) {
		sum += g.misfit(v, g.Room[g.Targets[t].Home])
	}
	return sum
}

// seconds is the weighted time of node i on target t.
func (g *graph) seconds(i, t int32) float64 {
	n := &g.Nodes[i]
	return g.Steps[n.Step].Weight * n.Seconds[t]
}

// reaches reports whether target t addresses a space.
func (g *graph) reaches(t, space int32) bool { return g.reachers(space)[t] }

// reachers says of each target whether it addresses a space.
func (g *graph) reachers(space int32) []bool {
	return g.reach[int(space)*len(g.Targets):][:len(g.Targets)]
}
