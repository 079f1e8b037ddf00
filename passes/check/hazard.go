package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// regions finds conflicts between workers: within one region, the steps between two
// barriers, workers may be anywhere.
type regions struct {
	s       *sim
	touched []*cover // by chunk: the group of accesses, counted over all regions
	first   int32    // number of the region's first group
	groups  []group  // from first on
	cap     int      // most workers that the program runs; all numbers to it are tried where owners are compared by trying
	run     run      // of nodes with a tail in the region
}

// run is the nodes that are computed together unit by unit, the tail going to whoever comes
// first.
type run struct {
	nodes  []*ir.Node
	closed bool // another node came after them
}

// group is the accesses of a region to a range of bytes. Accesses to other ranges are in
// the same group where the ranges meet.
type group struct {
	into     int32 // the group that took this one over; none
	accesses []access
}

// access is what a step does to a value.
type access struct {
	step   int32
	object int32
	arg    int16 // the operand; none for a result
	write  bool
	own    *owner
	at     cells // of the object
}

func newRegions(s *sim) *regions {
	return &regions{s: s, touched: s.layout.covers(), first: 1, cap: s.c.m.Plan.Workers()}
}

// barrier begins a region.
func (r *regions) barrier() {
	r.first += int32(len(r.groups))
	r.groups = r.groups[:0]
	r.run = run{nodes: r.run.nodes[:0]}
}

// tails claims: the nodes with a tail between two barriers follow each other, have the
// same units, and none comes twice: so they are one run, which deals out its units once.
func (r *regions) tails(st *step) {
	n, now := st.node, &r.run
	if !st.tail {
		now.closed = len(now.nodes) > 0
		return
	}
	if now.closed || slices.Contains(now.nodes, n) || len(now.nodes) > 0 && !now.nodes[0].Part.SameUnits(n.Part) {
		r.s.c.report(fmt.Sprintf("tail %p", n), &Violation{
			Rule: RulePartition, Func: st.frame.String(), Nodes: []string{n.String()},
			What: "it has a tail, and so has another run of nodes since the last barrier",
		})
	}
	now.nodes = append(now.nodes, n)
}

// step claims: no two workers touch the same bytes between two barriers, one of them
// writing, whatever the number of workers and the sizes are. Two accesses that overlap are
// either both made by worker 0 or both owned by the same units. Bytes that each worker has
// for itself, and bytes that nothing ever writes, are left out. So are the moments before
// the call and behind it, when the caller and the workers wait for each other.
func (r *regions) step(at int) {
	st := &r.s.t.steps[at]
	if st.barrier {
		r.barrier()
	}
	r.tails(st)
	for i, o := range r.s.t.args(st) {
		if by := st.own.read(i); o != none && by.by != byNone {
			r.touch(access{step: int32(at), object: o, arg: int16(i), own: by})
		}
	}
	for i, o := range r.s.t.results(st) {
		if o != none {
			r.touch(access{step: int32(at), object: o, arg: none, write: true, own: st.own.write(i)})
		}
	}
}

// touch adds an access of an object to the region and compares it with those before.
func (r *regions) touch(a access) {
	spot := &r.s.t.spots[a.object]
	if spot.class == ir.ClassScratch || spot.class == ir.ClassWeights {
		return
	}
	a.at = spot.at
	g := r.groupOf(a.at)
	for i := range g.accesses {
		b := &g.accesses[i]
		if b.write == a.write && b.at == a.at && (b.own == a.own || b.own.equal(*a.own)) {
			b.step, b.arg = a.step, a.arg
			return // whatever meets a met b; the later one is the better example
		}
	}
	for i := range g.accesses {
		if b := &g.accesses[i]; (a.write || b.write) && a.at.meet(b.at) && !r.agree(&a, b) {
			r.conflict(b, &a)
		}
	}
	g.accesses = append(g.accesses, a)
}

// groupOf returns the group that holds all accesses of the region to bytes of a range.
func (r *regions) groupOf(at cells) *group {
	id, whole := int32(none), true
	r.touched[at.chunk].visit(at.lo, at.hi, func(found, _, _ int32) bool {
		if found < r.first {
			whole = false
			return true
		}
		found = r.root(found)
		switch {
		case id == none:
			id = found
		case id != found:
			r.merge(id, found)
		}
		return true
	})
	if id == none {
		id = r.newGroup()
		whole = false
	}
	if !whole {
		r.touched[at.chunk].assign(at.lo, at.hi, id)
	}
	return &r.groups[id-r.first]
}

// newGroup adds a group to the region. It takes the room for accesses of one that an earlier
// region had.
func (r *regions) newGroup() int32 {
	n := len(r.groups)
	if n < cap(r.groups) {
		r.groups = r.groups[:n+1]
		r.groups[n] = group{into: none, accesses: r.groups[n].accesses[:0]}
	} else {
		r.groups = append(r.groups, group{into: none})
	}
	return r.first + int32(n)
}

// root returns the group that has taken id over, or id.
func (r *regions) root(id int32) int32 {
	for r.groups[id-r.first].into != none {
		id = r.groups[id-r.first].into
	}
	return id
}

// merge moves the accesses of one group to another.
func (r *regions) merge(to, from int32) {
	t, f := &r.groups[to-r.first], &r.groups[from-r.first]
	t.accesses = append(t.accesses, f.accesses...)
	f.accesses, f.into = f.accesses[:0], to
}

// equal reports whether two owners are described alike.
func (a owner) equal(b owner) bool {
	return a.by == b.by && (a.by != byUnit || a.same(b))
}

// agree reports whether no two workers meet in two accesses.
func (r *regions) agree(a, b *access) bool {
	switch {
	case a.own.by == byFirst && b.own.by == byFirst:
		return true
	case a.at.chunk == b.at.chunk && a.at.lo == b.at.lo && a.own.same(*b.own):
		return true
	}
	return r.tried(a, b)
}

// conflict reports two accesses.
func (r *regions) conflict(before, now *access) {
	t := r.s.t
	first, second := &t.steps[before.step], &t.steps[now.step]
	r.s.c.report(fmt.Sprintf("hazard %p %p %d %d", first.node, second.node, before.arg, now.arg), &Violation{
		Rule:  RuleHazard,
		Func:  second.frame.String(),
		Nodes: []string{fmt.Sprintf("%v of @%v", first.node, first.frame), second.node.String()},
		Range: r.s.c.inRange(t.objects[now.object].place),
		What: fmt.Sprintf("%s what another worker %s, and no barrier stands between them (%s, %s)",
			verb(now.write), verb(before.write), before.sharing(t), now.sharing(t)),
	})
}

func verb(write bool) string {
	if write {
		return "writes"
	}
	return "reads"
}

// sharing describes an access and who makes it.
func (a *access) sharing(t *trace) string {
	n := t.steps[a.step].node
	text := "its result"
	if a.arg != none {
		text = n.Args[a.arg].String()
	}
	switch a.own.by {
	case byFirst:
		return text + " by worker 0"
	case byAll:
		return text + " by every worker"
	}
	return fmt.Sprintf("%s in units of %v of %v bytes", text, a.own.width, a.own.period)
}
