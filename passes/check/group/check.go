// Package group finds where a group of devices computes something else than one device would, in a plan that makes each
// node run on the devices' parts of its sources. It computes nothing: it follows which elements of the whole each
// device has.
//
// The plan states for each value which part each device uses, and where the devices add up. The check trusts the states
// of weights and states alone. For each node it derives which elements of the whole the devices' results are, from
// those of its sources and from the meaning of the op. That can be another division than the plan states, and still be
// right. It is wrong if a node combines elements that do not belong together, if a sum is read before it is added up,
// if a device reads what it has not computed, and if what is read back in the end is not what the plan states.
package group

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/shard/foreign"
)

// Plan is a plan for a function on a group of devices.
type Plan interface {
	// State returns the state of a value as its readers see it, and Parts the part that each device uses.
	State(*ir.Value) ir.Sharding
	Parts(*ir.Value) []foreign.Part

	// Skips lists the nodes that devices skip: position among the nodes, and device.
	Skips() [][2]int

	// Sums are the values that devices add up, right after they are computed.
	Sums() []*ir.Value
}

// Violation is where the devices compute something else than one device would.
type Violation struct {
	Value *ir.Value
	Kind  Kind
	What  string
}

// Kind is what is wrong, in a word or two.
type Kind string

const (
	KindOp       Kind = "op on parts"       // the op is not defined on parts of its operands
	KindRow      Kind = "split rows"        // rows are read of which devices have parts
	KindElements Kind = "other elements"    // operands of which devices have different elements
	KindBeside   Kind = "whole beside part" // an operand is whole, and larger than the parts of another
	KindIndex    Kind = "whole index"       // what an index selects for is split, and the index is not
	KindShape    Kind = "regrouped"         // a new shape cuts through the parts
	KindHeads    Kind = "numbers of heads"  // a device counts its heads from 0
	KindView     Kind = "odd view"          // a view of a device's part is no part of the view
	KindCounts   Kind = "counts"            // devices have more or fewer elements than stated
	KindEarly    Kind = "early read"        // a sum is read before it is added up
	KindLate     Kind = "never added up"    // a sum is added up nowhere, or stays one for its readers
	KindTwice    Kind = "added up twice"    // what is whole is added up
	KindSkipped  Kind = "skipped"           // a device skips what it, or the sum, needs
	KindOrder    Kind = "other order"       // a result's elements are not where its state places them
)

func (v *Violation) Error() string { return fmt.Sprintf("%v: %s", v.Value, v.What) }

// Check returns where the plan of a function is wrong, in the order of the nodes.
func Check(f *ir.Func, p Plan) ([]*Violation, error) {
	g, err := foreign.Read(f)
	if err != nil {
		return nil, err
	}
	c := &checker{
		graph: g, plan: p, memory: make([][]region, len(g.Tensors)), stale: make(map[staleKey]bool),
		off: make(map[[2]int]bool), sums: make(map[*ir.Value]bool),
	}
	for _, off := range p.Skips() {
		c.off[off] = true
	}
	for _, v := range p.Sums() {
		c.sums[v] = true
	}
	for _, t := range g.Tensors {
		if t.Elems() > 0 {
			c.visit(t)
		}
	}
	for _, t := range g.Tensors {
		if t.Output || t.Kept {
			c.readBack(t)
		}
	}
	return c.found, nil
}

// checker follows what the devices have.
type checker struct {
	graph  *foreign.Graph
	plan   Plan
	memory [][]region // of tensors that are no views, by index
	stale  map[staleKey]bool
	off    map[[2]int]bool // position and device
	sums   map[*ir.Value]bool
	found  []*Violation
	broken []*foreign.Tensor // whose content is unknown; what reads them is not reported
}

// staleKey names the memory of a tensor on a device.
type staleKey struct {
	t      *foreign.Tensor
	device int
}

func (c *checker) report(t *foreign.Tensor, kind Kind, what string) {
	c.found = append(c.found, &Violation{t.Value, kind, what})
}

// root returns the tensor whose memory t has.
func root(t *foreign.Tensor) *foreign.Tensor { return cmp.Or(t.ViewOf, t) }

// visit follows one tensor.
func (c *checker) visit(t *foreign.Tensor) {
	switch {
	case t.Kept:
		c.setMemory(t, given(t, c.plan.State(t.Value)))
	case t.Pos < 0:
		c.setMemory(t, content{kind: whole})
	default:
		c.node(t)
	}
}

// given returns the content of a weight or state.
func given(t *foreign.Tensor, s ir.Sharding) content {
	switch s = foreign.Flip(s); s.Kind {
	case ir.ShardMirrored:
		return content{kind: whole}
	case ir.ShardPartial:
		return content{kind: sum}
	}
	return content{kind: parts, layout: axisLayout(t.NE, s.Axis, spansOf(s))}
}

// spansOf returns the elements of the split axis that the devices have.
func spansOf(s ir.Sharding) [][]span {
	spans := make([][]span, len(s.Counts()))
	at := int64(0)
	for _, seg := range s.Segments {
		for range seg.Times {
			for j, n := range seg.Counts {
				spans[j] = append(spans[j], span{at, n})
				at += n
			}
		}
	}
	for j := range spans {
		spans[j] = joined(spans[j])
	}
	return spans
}

// setMemory makes c the content of all memory of a tensor.
func (c *checker) setMemory(t *foreign.Tensor, to content) {
	if t.ViewOf == nil {
		c.memory[t.Index] = []region{{end: t.Elems(), at: make([]int64, c.devices(t)), content: to}}
	}
}

func (c *checker) devices(t *foreign.Tensor) int { return len(c.plan.Parts(t.Value)) }

// view returns the content of t, as a view of memory.
func (c *checker) view(t *foreign.Tensor) content {
	return viewContent(c.memory[root(t).Index], t, c.plan.Parts(t.Value))
}

// node follows a node.
func (c *checker) node(t *foreign.Tensor) {
	s := &step{Tensor: t, c: c}
	for _, src := range t.Src {
		in := content{}
		if src != nil {
			in = c.view(src)
		}
		s.in = append(s.in, in)
	}
	if slices.ContainsFunc(t.Sources(), func(s *foreign.Tensor) bool { return slices.Contains(c.broken, s) }) {
		c.broken = append(c.broken, t)
		return
	}
	c.readStale(t)
	regions, wrong := c.compute(s)
	kind := kinds[wrong]
	if wrong == "" {
		wrong, kind = c.stated(t, regions), KindCounts
	}
	if wrong == "" && regions[0].kind == sum && !isView(t) {
		wrong, kind = s.missing(), KindSkipped
	}
	if wrong != "" {
		c.report(t, kind, wrong)
		c.broken = append(c.broken, t)
		return
	}
	if t.ViewOf == nil {
		c.memory[t.Index] = regions
	}
	c.skipped(t)
	c.addUp(t, regions)
}

// compute returns what the devices have of the result of a node.
func (c *checker) compute(s *step) ([]region, string) {
	one := func(to content, wrong string) ([]region, string) {
		return []region{{end: s.Elems(), at: make([]int64, c.devices(s.Tensor)), content: to}}, wrong
	}
	has := func(k kind) bool {
		for i, in := range s.in {
			if s.Src[i] != nil && in.kind == k {
				return true
			}
		}
		return false
	}
	switch {
	case s.Op == "VIEW":
		to := c.view(s.Tensor)
		if to.kind == unknown {
			return one(bad(wrongView))
		}
		return one(to, "")
	case has(unknown):
		return one(bad(wrongView))
	case has(sum):
		return one(s.linear())
	case !has(parts):
		return one(content{kind: whole}, "")
	}
	if at := s.alone(); at >= 0 {
		return one(s.onOne(at))
	}
	if s.Op == "GATED_DELTA_NET" {
		return gatedDeltaNet(s)
	}
	r := ruleOf(s.Op)
	if r == nil {
		return one(bad(wrongOp))
	}
	return one(r(s))
}

// alone returns the device that has all of every split source; -1 if there is none.
func (s *step) alone() int {
	device := -1
	for _, in := range s.in {
		if in.kind != parts {
			continue
		}
		at := in.layout.only()
		if at < 0 || device >= 0 && device != at {
			return -1
		}
		device = at
	}
	return device
}

// onOne returns the content of a node that one device computes alone: the value, or what the others add nothing to.
func (s *step) onOne(device int) (content, string) {
	if !s.c.plan.State(s.Value).IsSplit() {
		return content{kind: sum}, ""
	}
	return content{kind: parts, layout: oneHasAll(device, s.c.devices(s.Tensor))}, ""
}

// stated reports whether devices have as many elements of the result as the plan states.
func (c *checker) stated(t *foreign.Tensor, regions []region) string {
	for j, p := range c.plan.Parts(t.Value) {
		want := int64(1)
		for _, n := range p.NE {
			want *= n
		}
		got := int64(0)
		for _, r := range regions {
			n := r.end - r.begin
			if r.kind == parts {
				n = n / r.layout.period * r.layout.count(j)
			}
			got += n
		}
		if got != want {
			return fmt.Sprintf("device %d has %d elements, and the plan states %d", j, got, want)
		}
	}
	return ""
}
