package assign

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/placement"
	"github.com/ggmlc/ggmlc/passes/target"
)

// impossible reports why no assignment was found in which all nodes can run. It names the nodes of an assignment that
// write in place what their target does not address:
//
//	%k2 = state_write %k, %x    pinned to gpu, while %k is stored in the memory of the host
//
// If there are none, it names the largest value instead.
func (s *search) impossible(labels []int32) []error {
	errs := s.pinnedWriters(labels)
	errs = append(errs, s.writtenLeaves(labels)...)
	if len(errs) == 0 {
		errs = append(errs, s.largestValue())
	}
	return errs
}

// pinnedWriters reports the nodes out of reach of what they write, where a pin is the reason.
func (s *search) pinnedWriters(labels []int32) []error {
	var errs []error
	for i, v := range s.nodes {
		space, out := s.outOfReach(i, labels)
		if !out || s.ownsWrittenLeaf(i, labels) || !s.pinned(s.Values[s.Nodes[i].Writes].Owner) {
			continue // without a pin, another assignment could run it
		}
		errs = append(errs, fmt.Errorf("@%s %v: it writes %v, which is in %s, and %s, which has to run it, does not address that: pin all nodes that write it to targets of one memory",
			v.node.Func.Name, v.node, writtenBy(v.node), s.spaces[space].Name, s.backends[labels[i]].Name))
	}
	return errs
}

// writtenLeaves reports the spaces with a limit that have no room for the leaves which nodes there write in place.
func (s *search) writtenLeaves(labels []int32) []error {
	written := make([]int64, len(s.spaces)) // by space: bytes of leaves that are stored elsewhere
	counted := make(map[int32]bool)
	for i := range s.nodes {
		if _, out := s.outOfReach(i, labels); !out || !s.ownsWrittenLeaf(i, labels) {
			continue
		}
		if owner := s.Values[s.Nodes[i].Writes].Owner; !counted[owner] {
			counted[owner] = true
			written[s.Targets[labels[i]].Home] += s.Leaves[owner-int32(len(s.Nodes))].Bytes
		}
	}
	var errs []error
	leaves := s.leafBytes(labels)
	for i, bytes := range written {
		if bytes == 0 {
			continue
		}
		for _, l := range s.limitsBelow(i, bytes+leaves[i]) {
			l.Advice = "what nodes write in place is in the memory where they run, which has no room for all of it: lower --ctx, allow more, or pin the nodes that write it elsewhere"
			errs = append(errs, l)
		}
	}
	return errs
}

// ownsWrittenLeaf reports whether node i writes a leaf in place, and runs where memory has a limit.
func (s *search) ownsWrittenLeaf(i int, labels []int32) bool {
	return s.limits[s.Targets[labels[i]].Home] >= 0 && s.isLeaf(s.Values[s.Nodes[i].Writes].Owner)
}

// outOfReach returns the space of what node i writes in place; out is false if the target of the node addresses it.
func (p *problem) outOfReach(i int, labels []int32) (space int, out bool) {
	v := p.Nodes[i].Writes
	if p.nodes[i].node == nil || v < 0 {
		return 0, false
	}
	owner, space := p.Values[v].Owner, int(p.Values[v].Space)
	if p.isLeaf(owner) {
		space = int(labels[owner])
	} else if owner >= 0 {
		space = p.Targets[labels[owner]].Home
	}
	return space, !p.Targets[labels[i]].Addresses[space]
}

// pinned reports whether a node that writes the bytes of a variable had its backend before the search.
func (p *problem) pinned(owner int32) bool {
	for i := range p.Nodes {
		if v := p.Nodes[i].Writes; p.nodes[i].given && v >= 0 && p.Values[v].Owner == owner {
			return true
		}
	}
	return false
}

// whyNot explains in a few words why an assignment cannot run.
func (p *problem) whyNot(labels []int32) string {
	for i, v := range p.nodes {
		if v.node == nil {
			continue
		}
		if p.Nodes[i].Seconds[labels[i]] == placement.Never {
			return "cannot: " + notRun(v.node, p.backends[labels[i]])
		}
		if space, out := p.outOfReach(i, labels); out {
			return fmt.Sprintf("cannot: %v writes bytes in %s", v.node, p.spaces[space].Name)
		}
	}
	return "does not fit"
}

// notRun explains why a target may not run a node.
func notRun(n *ir.Node, t *target.Descriptor) string {
	if ok, why := t.Supports(n); !ok {
		return why
	}
	return fmt.Sprintf("%v may not run on %s", n, t.Name)
}

// largestValue names the value that lacks most bytes on the target that has most room for it.
func (s *search) largestValue() error {
	e := &pass.BudgetError{Name: "all of it together", Own: len(s.c.Options.MaxMemory) == 0,
		Advice: "no assignment was found in which every node has memory for its values: lower --ctx or --batch, or allow more"}
	for i, v := range s.nodes {
		if v.node == nil || v.node.Result() == nil {
			continue
		}
		need, limit := v.node.Result().Type.MaxBytes(), s.mostRoom(i)
		if limit >= 0 && need-limit > e.Need-e.Limit {
			e.Name, e.Need, e.Limit = fmt.Sprintf("@%s %v", v.node.Func.Name, v.node), need, limit
			e.Advice = "no target that runs the node has memory for its result: lower --ctx or --batch, or allow more"
		}
	}
	return e
}

// mostRoom returns the most bytes that there are for a value where node i may run; -1 where any value fits.
func (s *search) mostRoom(i int) int64 {
	var most int64
	for t, seconds := range s.Nodes[i].Seconds {
		if seconds == placement.Never {
			continue
		}
		n := s.largest(s.limits, s.Targets[t].Home)
		if n < 0 {
			return -1
		}
		most = max(most, n)
	}
	return most
}
