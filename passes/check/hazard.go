package check

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: no two workers touch the same bytes between two barriers, one of them writing, whatever the number of workers
// and the sizes are.
//
// Between two barriers, which bound a region, one worker may be at the last step while another one is at the first. In
//
//	%a = silu %x    part=split(1, 64, 16) at 0x000+256
//	%b = neg %a     part=split(1, 64, 16) at 0x100+256     right: same units, same address
//	%c = exp %b     part=split(1, 64, 32) at 0x200+256     wrong: other units
//	%d = tanh %x    part=split(1, 64, 16) at 0x120+256     wrong: other address
//
// the last two steps need a barrier before them. With three workers, worker 0 owns unit 0 of the four of %b, and worker
// 1 owns unit 0 of the two of %c: it reads what worker 0 writes. Byte 0x150 is in unit 1 of %b, and in unit 0 of %d.
//
// The walk collects the accesses of a region. At its end it sorts them by address, and compares each with those after
// it that begin before it ends:
//
//	bytes          access     units of       compared with
//	[0x000,0x100)  write %a   64 of 256      read %a: same units, same address
//	[0x000,0x100)  read %a    64 of 256
//	[0x100,0x200)  write %b   64 of 256      read %b: other units; write %d: other address
//	[0x100,0x200)  read %b    128 of 256     write %d: other units, other address
//	[0x120,0x220)  write %d   64 of 256
//
// Accesses to memory that each worker has for itself (scratch) or that nothing writes (weights) are left out. A call
// begins and ends a region, as all workers wait for the caller there.

// region collects the accesses between two barriers.
type region struct {
	c        *checker
	t        *trace
	workers  int // most workers that the program runs
	accesses []access
	dynamic  dynamicRun
}

// access is what a step does to an object.
type access struct {
	st     *step
	object *object
	arg    int // the operand; -1 for a result
	own    *owner
}

func (a *access) kind() accessKind {
	if a.arg < 0 {
		return writing
	}
	return reading
}

func newRegion(c *checker, t *trace) *region { return &region{c: c, t: t, workers: c.m.Plan.Workers()} }

// step adds the accesses of a step. A barrier before it ends the region.
func (r *region) step(st *step) {
	if st.barrier {
		r.end()
	}
	r.dynamicShares(st)
	r.threadsAgree(st)
	for i, o := range st.args {
		r.add(access{st, o, i, &st.own.reads[i]})
	}
	for i, o := range st.results {
		r.add(access{st, o, -1, &st.own.writes[i]})
	}
}

// add adds an access, unless no other worker can conflict with it.
func (r *region) add(a access) {
	o := a.object
	switch {
	case o == nil || o.cells.lo == o.cells.hi || a.own.by == byNone: // no bytes
	case o.class == ir.ClassScratch || o.class == ir.ClassWeights:
	default:
		r.accesses = append(r.accesses, a)
	}
}

// end compares the accesses of the region, and begins the next one.
func (r *region) end() {
	list := distinct(r.accesses)
	for i := range list {
		for j := i + 1; j < len(list) && list[i].object.cells.meets(list[j].object.cells); j++ {
			a, b := &list[i], &list[j]
			if (a.kind() == writing || b.kind() == writing) && !r.agree(a, b) {
				r.conflict(a, b)
			}
		}
	}
	r.accesses = r.accesses[:0]
	r.dynamic = dynamicRun{}
}

// distinct sorts accesses by address. Of accesses that repeat each other it keeps the last one: what conflicts with one
// conflicts with all, and a late write is the better example for a read after it.
func distinct(list []access) []access {
	slices.SortStableFunc(list, func(a, b access) int { return compareCells(a.object.cells, b.object.cells) })
	out, first := list[:0], 0 // out[first:] are those of the same bytes
	for _, a := range list {
		if first < len(out) && out[first].object.cells != a.object.cells {
			first = len(out)
		}
		if i := slices.IndexFunc(out[first:], a.repeats); i >= 0 {
			out[first+i] = a
		} else {
			out = append(out, a)
		}
	}
	return out
}

// repeats reports whether a does to the same bytes what b does, by the same owner. Two writes of which every worker may
// make any part do not repeat but conflict: the first one may be late, and destroy the second one.
func (a access) repeats(b access) bool {
	return a.kind() == b.kind() && a.own.equal(*b.own) && !(a.kind() == writing && a.own.by == byAll)
}

// agree reports whether no two workers meet in two accesses.
func (r *region) agree(a, b *access) bool {
	switch {
	case a.own.by == byFirst && b.own.by == byFirst:
		return true
	case a.object.cells.lo == b.object.cells.lo && a.own.same(*b.own):
		return true
	}
	return r.tried(a, b)
}

// dynamicRun is the nodes with a dynamic share in a region. Workers take units of the share from one counter, and
// compute each unit in all nodes of the run.
type dynamicRun struct {
	nodes []*ir.Node
	ended bool // another node came after them
}

// dynamicShares claims: the nodes with a dynamic share in a region follow each other, have the same units, and no node
// comes twice. So they are one run.
func (r *region) dynamicShares(st *step) {
	n, run := st.node, &r.dynamic
	if !n.Part.Dynamic {
		run.ended = len(run.nodes) > 0
		return
	}
	if run.ended || slices.Contains(run.nodes, n) || len(run.nodes) > 0 && !run.nodes[0].Part.SameUnits(n.Part) {
		r.c.report(fmt.Sprintf("dynamic %p", n), &Violation{
			Rule: RulePartition, Func: st.frame.String(), Nodes: []string{n.String()},
			What: "it has a dynamic share, and so has another run of nodes since the last barrier",
		})
	}
	run.nodes = append(run.nodes, n)
}

// conflict reports two accesses.
func (r *region) conflict(a, b *access) {
	if b.st.index < a.st.index {
		a, b = b, a
	}
	first, second := a.st, b.st
	r.c.report(fmt.Sprintf("hazard %p %p %d %d", first.node, second.node, a.arg, b.arg), &Violation{
		Rule:  RuleHazard,
		Func:  second.frame.String(),
		Nodes: []string{fmt.Sprintf("%v of @%v", first.node, first.frame), second.node.String()},
		Range: r.c.inRange(b.object.place),
		What: fmt.Sprintf("%s what another thread %s, and no barrier separates them (%v, %v)",
			b.kind(), a.kind(), a, b),
	})
}

// String describes an access and who makes it.
func (a *access) String() string {
	text := "its result"
	if a.kind() == reading {
		text = a.st.node.Args[a.arg].String()
	}
	switch a.own.by {
	case byFirst:
		return text + " by thread 0"
	case byAll:
		return text + " by every thread"
	}
	return fmt.Sprintf("%s in units of %v of %v bytes", text, a.own.width, a.own.period)
}
