package group

import (
	"fmt"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// linear returns the content of a node with a source that is not added up yet: a sum, if the op may come before the
// addition as well as after it.
func (s *step) linear() (content, string) {
	x, y := s.arg(0).kind, s.arg(1).kind
	switch s.Op {
	case "RESHAPE", "PERMUTE", "TRANSPOSE", "CONT":
		return content{kind: sum}, ""
	case "SCALE":
		if b := s.Params["bias"]; len(b) == 1 && b[0] == 0 {
			return content{kind: sum}, ""
		}
	case "MUL", "DIV":
		if x == sum && y == whole {
			return content{kind: sum}, ""
		}
	case "ADD", "SUB":
		if x == sum && y == sum {
			return content{kind: sum}, ""
		}
	case "ADD_ID":
		if x == sum && y == sum && s.isWhole(2) {
			return content{kind: sum}, ""
		}
	}
	return bad(wrongEarly)
}

// missing reports which device skips a node whose result is a sum, though it has a summand: it has some of the operands
// that are multiplied, or has not skipped what the sum is made of.
func (s *step) missing() string {
	for j := range s.c.devices(s.Tensor) {
		if !s.c.off[[2]int{s.Pos, j}] {
			continue
		}
		for i, src := range s.Src {
			in := s.arg(i)
			if in.kind == parts && in.layout.count(j) > 0 || in.kind == sum && !s.c.stale[staleKey{root(src), j}] {
				return fmt.Sprintf("device %d skips it, though it has a summand of %v", j, src.Value)
			}
		}
	}
	return ""
}

// addUp lets the devices add up a node where the plan requires it.
func (c *checker) addUp(t *foreign.Tensor, regions []region) {
	isSum := regions[0].kind == sum
	switch {
	case isSum && c.plan.State(t.Value).Kind == ir.ShardPartial:
		c.report(t, KindLate, "it stays a sum for its readers, though the devices add it up")
		c.broken = append(c.broken, t)
	case !c.sums[t.Value]:
	case !isSum:
		c.report(t, KindTwice, "the devices add it up, and each has all of it")
	default:
		c.setMemory(root(t), content{kind: whole})
		for j := range c.devices(t) {
			delete(c.stale, staleKey{root(t), j})
		}
	}
}

// skipped marks the memory that devices do not write as they skip a node.
func (c *checker) skipped(t *foreign.Tensor) {
	if isView(t) {
		return
	}
	for j, p := range c.plan.Parts(t.Value) {
		empty := p.NE[0]*p.NE[1]*p.NE[2]*p.NE[3] == 0
		if c.off[[2]int{t.Pos, j}] && !empty {
			c.stale[staleKey{root(t), j}] = true
		}
	}
}

// isView reports whether a node does no work.
func isView(t *foreign.Tensor) bool {
	return t.Op == "VIEW" || t.Op == "RESHAPE" || t.Op == "PERMUTE" || t.Op == "TRANSPOSE"
}

// readStale reports devices that read what they have not computed.
func (c *checker) readStale(t *foreign.Tensor) {
	if isView(t) {
		return
	}
	for _, src := range t.Sources() {
		for j := range c.devices(t) {
			if c.stale[staleKey{root(src), j}] && !c.off[[2]int{t.Pos, j}] {
				c.report(t, KindSkipped, fmt.Sprintf("device %d has skipped %v and reads it here", j, src.Value))
				return
			}
		}
	}
}

// readBack checks that an output, or a state that the next run reads, is in the end what the plan states.
func (c *checker) readBack(t *foreign.Tensor) {
	if t.Elems() == 0 || c.isBroken(t) {
		return
	}
	have, state := c.view(t), foreign.Flip(c.plan.State(t.Value))
	switch {
	case have.kind == sum && t.Kept && state.Kind == ir.ShardPartial:
	case have.kind == sum:
		c.report(t, KindLate, "the devices do not add it up, and it is read in the end")
	case have.kind == unknown:
		c.report(t, KindView, "the devices' parts are no part of it in the end")
	case have.kind == parts && !(state.IsSplit() && have.layout.equal(axisLayout(t.NE, state.Axis, spansOf(state)))):
		c.report(t, KindOrder, "its elements are not where the state says, and it is read in the end")
	default:
		c.readBackStale(t, have.kind)
	}
}

// isBroken reports whether the memory of t was written by a node that is wrong.
func (c *checker) isBroken(t *foreign.Tensor) bool {
	for _, b := range c.broken {
		if root(b) == root(t) {
			return true
		}
	}
	return false
}

// readBackStale reports a value that a device has not computed. Of what all have, the first device's is read; the next
// run reads a state on all of them.
func (c *checker) readBackStale(t *foreign.Tensor, k kind) {
	for j := range c.devices(t) {
		if c.stale[staleKey{root(t), j}] && (j == 0 || k == parts || t.Kept) {
			c.report(t, KindSkipped, fmt.Sprintf("device %d has skipped it, and it is read in the end", j))
			return
		}
	}
}
