// Package roll holds the pass roll, which finds the layers of a model: equal runs of nodes become one repeat.
package roll

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Pass makes one repeat node of nodes that repeat, such as the layers of a model.
//
// Before: straight-line functions, splits and copies included. After: no value means
// anything else; consecutive groups of nodes that are equal in ops, attributes, types,
// backends and data flow are a repeat whose body is the first of them. Weights and states
// that differ from group to group are tables; what a group takes over from the one before
// is carried; all else that comes from outside is invariant.
//
// Not earlier: what assign, pack and copy decide is part of being equal. Not later: order,
// partition and plan decide a body once.
//
// Candidates for the length of a group are the commonest distances between equal nodes;
// for each, runs of equal nodes at that distance are found in linear time and the data
// flow is compared group by group. The longest repetition is rolled first. A first or
// last group that differs stays as it is. States must belong to one group each.
//
// Where a carried value cannot stay in one place, a copy is inserted, before the loop or
// at the end of the body.
//
// Cost: O(nodes * length of a group) for each repeat made.
var Pass = pass.Pass{
	Name:   "roll",
	Doc:    "make repeats of equal layers",
	Run:    roll,
	Needs:  ir.PropShaped,
	Gives:  ir.PropRolled,
	Breaks: pass.FromOrdered,
	Rules: []pass.Rule{
		{Name: pass.RuleRollRepeat, Doc: "groups of equal nodes follow each other"},
		{Name: pass.RuleRollInit, Doc: "a carried value starts with bytes that others need: it starts with a copy"},
		{Name: pass.RuleRollNext, Doc: "a carried value is needed while its next one is made: that is copied at the end"},
	},
	Flags: rollFlags{Min: 8},
}

// rollFlags are switches for experiments.
type rollFlags struct {
	Min int64 `debug:"min,nodes that a repeat has to save: a loop may cost copies and a barrier a round"`
}

// maxRepeats bounds the repeats made of one function.
const maxRepeats = 16

func roll(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpForeign }) {
			continue // their order says what they read
		}
		for range maxRepeats {
			r := findRepeat(f)
			if r == nil || r.saved() < int(pass.Flags[rollFlags](c).Min) || !r.copies(c) || !c.Allow(pass.RuleRollRepeat, r.group(0)[0]) {
				break
			}
			n := r.build(c, fmt.Sprintf("%s.loop%d", f.Name, loops(f)))
			c.Cause(n, pass.RuleRollRepeat, fmt.Sprintf("%d nodes", r.period))
			c.Count("repeats", 1)
			c.Count("nodes", int64(r.count-1)*int64(r.period))
		}
	}
	return nil
}

func loops(f *ir.Func) int {
	count := 0
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			count++
		}
	}
	return count
}

// slots returns how many instances the results of n have.
func slots(n *ir.Node) int {
	if n.Submit == nil {
		return 1
	}
	return max(n.Submit.Slots, 1)
}
