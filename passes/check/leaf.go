package check

import (
	"slices"

	"github.com/ggmlc/ggmlc/ir"
)

// Claim: weights, constants and states are in arenas of their class, and no two of them share bytes. Their bytes
// outlive calls, so that no order of steps could make sharing right.
//
// The plan
//
//	weight "up"   : f32[64] @host at 0:0x00+256
//	weight "down" : f32[64] @host at 0:0x80+256
//
// fails: the first half of "down" is the second half of "up".

// leaf is a weight, constant or state.
type leaf struct {
	name  string // for messages
	place ir.Place
}

// leaves checks the claim above.
func (c *checker) leaves() {
	all := c.placedLeaves()
	slices.SortFunc(all, func(a, b leaf) int { return comparePlaces(a.place, b.place) })
	for i := 1; i < len(all); i++ {
		// Neighbours are enough: in order of offset, a leaf that overlaps an earlier one overlaps the one before it,
		// or that one overlaps an earlier one itself.
		if a, b := all[i-1], all[i]; overlap(a.place, b.place) {
			c.report("", &Violation{
				Rule: RuleOverlap, Nodes: []string{a.name, b.name}, Range: c.inRange(b.place), What: "share bytes permanently",
			})
		}
	}
}

// placedLeaves returns the leaves that have bytes, and reports those whose address is wrong.
func (c *checker) placedLeaves() (all []leaf) {
	add := func(name string, t ir.Type, p *ir.Place, class ir.Class) {
		if c.inside("", name, t, t.MaxBytes(), p, class) && p.Bytes > 0 {
			all = append(all, leaf{name, *p})
		}
	}
	for _, w := range c.m.Weights {
		add("weight "+w.Name, w.Type, w.Place, ir.ClassWeights)
	}
	for _, s := range c.m.States {
		add("state "+s.Name, s.Type, s.Place, ir.ClassState)
	}
	for _, f := range c.m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Op == ir.OpConstant {
				add(f.Name+" "+n.String(), n.Result().Type, n.Result().Place, ir.ClassWeights)
			}
		}
	}
	return all
}
