package placement

import "slices"

// group is nodes that are moved together, and the leaves that they read.
type group struct{ nodes, leaves []int32 }

// grouper collects groups.
type grouper struct {
	g     *graph
	seen  []int32 // by variable: stamp of the last group that has it
	stamp int32
	last  group // its lists are those of the next one too
}

func newGrouper(g *graph) *grouper { return &grouper{g: g, seen: make([]int32, g.variables())} }

// maxGroup bounds a group: beyond it, nodes that share leaves are left where they are.
const maxGroup = 256

// around returns the nodes with all that share movable leaves with them: who moves a state
// moves all that writes it, in every step. The group holds until the next one is asked for.
func (r *grouper) around(nodes ...int32) group {
	r.stamp++
	out := &r.last
	out.nodes, out.leaves = out.nodes[:0], out.leaves[:0]
	limit := len(nodes) + maxGroup
	for _, n := range nodes {
		r.seen[n] = r.stamp
		out.nodes = append(out.nodes, n)
	}
	for i := 0; i < len(out.nodes) && len(out.nodes) < limit; i++ {
		for _, v := range r.g.Nodes[out.nodes[i]].Reads {
			if x := r.g.leafOf(v); x >= 0 && r.seen[x] != r.stamp {
				r.seen[x] = r.stamp
				out.leaves = append(out.leaves, x)
				r.users(out, x)
			}
		}
	}
	return *out
}

func (r *grouper) users(out *group, x int32) {
	for _, n := range r.g.usersOf(x) {
		if r.seen[n] != r.stamp {
			r.seen[n] = r.stamp
			out.nodes = append(out.nodes, n)
		}
	}
}

// move puts the nodes of a group on target t, as far as they run there, and its leaves
// where that costs least.
func (s *state) move(gr group, t int32) {
	for _, n := range gr.nodes {
		if s.g.mayBe(n, t) {
			s.set(n, t)
		}
	}
	home := int32(s.g.Targets[t].Home)
	for _, x := range gr.leaves {
		if s.g.mayBe(x, home) {
			s.set(x, home)
		} else {
			s.settle(x)
		}
	}
}

// settle puts a leaf where it costs least, of the spaces that its readers' targets prefer.
func (s *state) settle(x int32) {
	if len(s.g.labelsOf(x)) < 2 {
		return
	}
	tried := []int32{s.labels[x]}
	cost, over, best := s.cost, s.over, s.labels[x]
	for i, n := range s.g.usersOf(x) {
		to := int32(s.g.Targets[s.labels[n]].Home)
		if i == maxGroup || slices.Contains(tried, to) || !s.g.mayBe(x, to) {
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

// descent improves a state by moves of nodes, of nodes with their readers, of groups around
// a leaf, and of runs of nodes on one target, until none helps, the work is used up, or nobody
// wants to know any more.
type descent struct {
	*state
	groups *grouper
	limit  int         // of state.work, as far as it is known
	more   func() int  // says what the limit is after all; nil where it is known
	ended  func() bool // nothing more is wanted

	buffer []int32 // see promising
	within []int32 // the nodes of a run
}

// newDescent returns a descent of a state that has tried nothing, which may try so much.
func newDescent(s *state, groups *grouper, work int, ended func() bool) *descent {
	return &descent{state: s, groups: groups, limit: work, ended: ended}
}

// spent reports whether nothing more is to be tried.
func (d *descent) spent() bool { return d.beyond(1) || d.ended() }

// beyond reports whether so much work is more than what is left.
func (d *descent) beyond(work int) bool {
	if d.work+work > d.limit && d.more != nil {
		d.limit, d.more = d.more(), nil
	}
	return d.work+work > d.limit
}

// descend tries all moves, until none helps.
func (d *descent) descend() {
	for !d.spent() {
		cost, over := d.cost, d.over
		d.nodes()
		d.pairs()
		d.leaves()
		d.runs()
		d.log = d.log[:0]
		if !d.better(cost, over) {
			break
		}
	}
}

// try makes a change and takes it back unless the state is better for it.
func (d *descent) try(change func()) bool {
	cost, over, mark := d.cost, d.over, d.mark()
	change()
	if d.better(cost, over) {
		return true
	}
	d.undo(mark)
	return false
}

// tryAll tries moveAll, unless that is hopeless.
func (d *descent) tryAll(t int32, nodes ...int32) {
	if !d.hopeless(t, nodes) {
		d.try(func() { d.moveAll(t, nodes...) })
	}
}

// hopeless reports whether putting nodes on target t, as far as they run there, cannot help:
// no leaf would move along, and even if all copies around them cost nothing then, the nodes
// themselves would take as much longer. That is so in the middle of a run of nodes on one
// target, and found without a sum over the copies as they would be. It counts as the work that it saves.
func (d *descent) hopeless(t int32, nodes []int32) bool {
	var more float64
	moved := 0
	for _, x := range nodes {
		if !d.g.alone[x] {
			return false
		}
		if before := d.labels[x]; before != t && d.g.mayBe(x, t) {
			more += d.own(x, before, t) - d.keepBond(x)
			moved++
		}
	}
	if more < 0 {
		return false
	}
	d.work += 2 * moved // to move them, and to take that back
	return true
}

func (d *descent) nodes() {
	for i := range d.g.Nodes {
		x := int32(i)
		if d.spent() {
			return
		}
		if len(d.g.labelsOf(x)) < 2 {
			continue
		}
		for _, t := range d.promising(x) {
			if t != d.labels[x] {
				d.tryAll(t, x)
			}
		}
	}
}

// pairs moves each node that makes a value together with those that read it, one or all of
// them.
func (d *descent) pairs() {
	var all []int32
	for v := range d.g.Values {
		owner, readers := d.g.Values[v].Owner, d.g.readers.at(int32(v))
		if d.spent() {
			return
		}
		if owner < 0 || d.g.isLeaf(owner) || len(readers) > manyReaders {
			continue
		}
		all = append(append(all[:0], readers...), owner)
		for _, t := range d.promising(owner) {
			for _, r := range readers {
				d.tryAll(t, owner, r)
			}
			if len(readers) > 1 {
				d.tryAll(t, all...)
			}
		}
	}
}

// moveAll puts nodes on a target, as far as they run there, and settles what they read.
func (s *state) moveAll(t int32, nodes ...int32) {
	for _, n := range nodes {
		if s.g.mayBe(n, t) {
			s.set(n, t)
		}
	}
	for _, n := range nodes {
		if s.g.alone[n] {
			continue
		}
		for _, v := range s.g.Nodes[n].Reads {
			if leaf := s.g.leafOf(v); leaf >= 0 {
				s.settle(leaf)
			}
		}
	}
}

// fewTargets is how many targets are all tried for every node. Of more, those of its
// neighbours are, and the one that is fastest.
const fewTargets = 4

// promising returns the targets to try for a node; the list holds until the next call.
func (d *descent) promising(x int32) []int32 {
	d.buffer = d.buffer[:0]
	if len(d.g.labelsOf(x)) <= fewTargets {
		d.buffer = append(d.buffer, d.g.labelsOf(x)...)
		return d.buffer
	}
	add := func(t int32) {
		if len(d.buffer) < 2*fewTargets && !slices.Contains(d.buffer, t) && d.g.mayBe(x, t) {
			d.buffer = append(d.buffer, t)
		}
	}
	add(d.g.fastest(x))
	for _, v := range d.g.Nodes[x].Reads {
		if o := d.g.facts[v].owner; o >= 0 && !d.g.isLeaf(o) {
			add(d.labels[o])
		}
	}
	for _, v := range d.g.owned.at(x) {
		for i, n := range d.g.readers.at(v) {
			if i < fewTargets {
				add(d.labels[n])
			}
		}
	}
	return d.buffer
}

func (d *descent) leaves() {
	for i := range d.g.Leaves {
		x := int32(len(d.g.Nodes) + i)
		if d.spent() {
			return
		}
		users := d.g.usersOf(x)
		if len(users) == 0 || len(users) > maxGroup {
			continue
		}
		d.moveGroup(d.groups.around(users...), users[0])
		for _, space := range d.g.labelsOf(x) {
			if space != d.labels[x] {
				d.try(func() { d.set(x, space) })
			}
		}
	}
}

// moveGroup tries a group on the targets that are promising for one of its nodes.
func (d *descent) moveGroup(gr group, node int32) {
	for _, t := range d.promising(node) {
		if !d.beyond(len(gr.nodes)+1) && !d.hopeless(t, gr.nodes) {
			d.try(func() { d.move(gr, t) })
		}
	}
}

// runs moves nodes that follow each other on one target to another one.
func (d *descent) runs() {
	for i := range d.g.Steps {
		s := &d.g.Steps[i]
		for first := s.First; first < s.End && !d.ended(); {
			end := first + 1
			for end < s.End && d.labels[end] == d.labels[first] {
				end++
			}
			d.run(s, first, end)
			first = end
		}
	}
}

// run tries the targets of the runs before and after; all, where there are few.
func (d *descent) run(s *Step, first, end int) {
	var targets []int32
	if len(d.g.Targets) <= fewTargets {
		for t := range d.g.Targets {
			targets = append(targets, int32(t))
		}
	}
	if first > s.First {
		targets = append(targets, d.labels[first-1])
	}
	if end < s.End {
		targets = append(targets, d.labels[end])
	}
	nodes := slices.Grow(d.within[:0], end-first)
	for n := first; n < end; n++ {
		nodes = append(nodes, int32(n))
	}
	d.within = nodes
	for i, t := range targets {
		if t == d.labels[first] || slices.Contains(targets[:i], t) || d.beyond(2*len(nodes)) {
			continue
		}
		gr := d.groups.around(nodes...)
		if !d.hopeless(t, gr.nodes) && d.try(func() { d.move(gr, t) }) {
			return
		}
	}
}
