package check

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: the threads of a group, which share each node of its queue, compute all of it, in pieces that its kernel can
// compute, and no thread touches bytes that another one writes.
//
// The threads meet between two nodes unless the second is concurrent, and concurrent nodes have no bytes in common
// (concurrent.go). So it suffices to look at each node by itself. In
//
//	%y = softmax %x at 0x000+256 queue=cpu:0 within=split(1, 64, 16)   wrong: %x is at 0x000+256 too
//	%z = add %a, %b at 0x100+256 queue=cpu:0 within=split(1, 64, 16)   right, even if %a is at 0x100+256
//
// the softmax reads whole rows, of which other threads have overwritten parts already.

// within checks the part of the claim that needs no execution.
func (c *checker) within(n *ir.Node) {
	d := c.backend(n)
	if n.Submit == nil || n.Submit.Within.Mode == ir.PartNone {
		if d != nil && d.IsGroup() && n.Queue() != "" && works(n) && n.Op != ir.OpRepeat && !moves(n) {
			c.fail(RulePartition, n, "no thread of the group %s computes it", d.Name)
		}
		return
	}
	switch p := n.Submit.Within; {
	case d == nil: // reach reports it
	case !d.IsGroup() || n.Queue() != d.Name || moves(n):
		c.fail(RulePartition, n, "it is divided within the queue of %s, which shares no nodes", d.Name)
	case p.Mode == ir.PartReplicated || p.Dynamic:
		c.fail(RulePartition, n, "the threads of a group compute a node once, in units that are known before")
	case p.Mode == ir.PartSplit:
		c.division(c.asShared(n))
	}
}

// asShared returns n as if the host's workers shared it as the threads of its group do.
func (c *checker) asShared(n *ir.Node) *ir.Node {
	if s := c.shared[n]; s != nil {
		return s
	}
	s := *n
	s.Part, s.Submit = n.Submit.Within, nil
	c.shared[n] = &s
	return &s
}

// threadsAgree claims: no thread of the group that runs a step reads bytes that another one writes.
func (r *region) threadsAgree(st *step) {
	n := st.node
	if n.Submit == nil || n.Submit.Within.Mode != ir.PartSplit {
		return
	}
	own := r.c.ownersOf(r.c.asShared(n))
	threads := &region{c: r.c, t: r.t, workers: ir.MaxThreads}
	if d := r.c.backend(n); d != nil {
		threads.workers = d.Threads
	}
	for i, o := range st.results {
		if o == nil || o.cells.lo == o.cells.hi {
			continue
		}
		write := access{st, o, -1, &own.writes[i]}
		for k, x := range st.args {
			if x == nil || own.reads[k].by == byNone || !x.cells.meets(o.cells) {
				continue
			}
			if read := (access{st, x, k, &own.reads[k]}); !threads.agree(&read, &write) {
				r.withinConflict(&read, &write)
			}
		}
	}
}

// withinConflict reports two accesses of the threads of a group.
func (r *region) withinConflict(a, b *access) {
	r.c.report(fmt.Sprintf("within %p %d %d", a.st.node, a.arg, b.arg), &Violation{
		Rule: RuleHazard, Func: a.st.frame.String(), Nodes: []string{a.st.describe()}, Range: r.c.inRange(b.object.place),
		What: fmt.Sprintf("a thread of the group touches what another one writes (%v, %v)", a, b),
	})
}
