package placement

import (
	"math/rand/v2"
	"slices"
)

// world describes a kind of random problem.
type world struct {
	nodes, leaves, targets int
	queues                 bool // some targets have queues
	limits                 bool // some spaces have limits
	shared                 bool // some targets address others' spaces
	chain, tree            bool // each node reads the result of the one before, or of one earlier node
	steps                  int
}

// random returns a problem of that kind.
func random(r *rand.Rand, w world) *Problem {
	p := &Problem{}
	p.Limits = make([]int64, w.targets)
	p.Room, p.CopyRoom = make([]int64, w.targets), make([]int64, w.targets)
	for s := range p.Limits {
		p.Limits[s], p.Room[s], p.CopyRoom[s] = -1, -1, -1
		if w.limits && s > 0 {
			p.Limits[s] = int64(r.IntN(40))
			p.Room[s] = int64(5 + r.IntN(20))
			p.CopyRoom[s] = p.Room[s] / int64(1+s%2)
		}
		row := make([]Link, w.targets)
		for to := range row {
			row[to] = Link{Delay: float64(r.IntN(4)), PerByte: float64(1+r.IntN(3)) / 4}
		}
		p.Links = append(p.Links, row)
	}
	for t := range w.targets {
		tg := Target{Home: t, Addresses: make([]bool, w.targets), Events: r.IntN(2) == 0}
		tg.Addresses[t] = true
		if w.shared && r.IntN(3) == 0 {
			tg.Addresses[r.IntN(w.targets)] = true
		}
		if w.queues {
			tg.Queues = r.IntN(3)
		}
		p.Targets = append(p.Targets, tg)
	}
	b := &randomBuilder{r: r, w: w, p: p}
	for i := range max(w.steps, 1) {
		b.step(i, w.nodes/max(w.steps, 1))
	}
	for i := range p.Values {
		if v := &p.Values[i]; v.Owner < -1 { // leaf i is noted as -i-2 until the number of nodes is known
			v.Owner = int32(len(p.Nodes)) - v.Owner - 2
		}
	}
	return p
}

type randomBuilder struct {
	r      *rand.Rand
	w      world
	p      *Problem
	leaves int
}

func (b *randomBuilder) step(i, nodes int) {
	s := Step{Weight: float64(1 + b.r.IntN(3)), First: len(b.p.Nodes)}
	input := b.value(i, -1, -1)
	made := []int32{}
	for range nodes {
		made = append(made, b.node(i, input, made))
	}
	s.End = len(b.p.Nodes)
	b.p.Steps = append(b.p.Steps, s)
}

func (b *randomBuilder) value(step int, owner, maker int32) int32 {
	bytes := float64(1 + b.r.IntN(20))
	b.p.Values = append(b.p.Values, Value{Step: int32(step), Owner: owner, Maker: maker, Bytes: bytes})
	return int32(len(b.p.Values) - 1)
}

func (b *randomBuilder) node(step int, input int32, made []int32) int32 {
	x := int32(len(b.p.Nodes))
	n := Node{Step: int32(step), Writes: -1}
	for range b.p.Targets {
		secs := float64(b.r.IntN(30))
		if b.r.IntN(5) == 0 {
			secs = Never
		}
		n.Seconds = append(n.Seconds, secs)
	}
	if slices.Min(n.Seconds) == Never {
		n.Seconds[0] = float64(b.r.IntN(30))
	}
	switch {
	case len(made) == 0:
		n.Reads = []int32{input}
	case b.w.chain:
		n.Reads = []int32{made[len(made)-1]}
	case b.w.tree:
		n.Reads = []int32{made[b.r.IntN(len(made))]}
	default:
		for range 1 + b.r.IntN(3) {
			if v := made[b.r.IntN(len(made))]; !slices.Contains(n.Reads, v) {
				n.Reads = append(n.Reads, v)
			}
		}
	}
	if b.leaves < b.w.leaves && b.r.IntN(2) == 0 {
		n.Reads = append(n.Reads, b.leaf(step))
		if b.r.IntN(3) == 0 {
			n.Writes = n.Reads[len(n.Reads)-1]
		}
	}
	b.p.Nodes = append(b.p.Nodes, n)
	return b.value(step, x, x)
}

// leaf returns a value of a new leaf or of an earlier one.
func (b *randomBuilder) leaf(step int) int32 {
	k := int32(len(b.p.Leaves))
	if k > 0 && b.r.IntN(3) == 0 {
		k = int32(b.r.IntN(int(k)))
		for v := range b.p.Values {
			if b.p.Values[v].Owner == -k-2 && b.p.Values[v].Step == int32(step) {
				return int32(v)
			}
		}
		return b.value(step, -k-2, -1)
	}
	b.leaves++
	spaces := make([]bool, len(b.p.Limits))
	for s := range spaces {
		spaces[s] = s == 0 || b.r.IntN(4) > 0
	}
	b.p.Leaves = append(b.p.Leaves, Leaf{Bytes: int64(1 + b.r.IntN(20)), Spaces: spaces})
	return b.value(step, -k-2, -1)
}
