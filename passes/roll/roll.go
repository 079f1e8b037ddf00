// Package roll holds the pass roll, which finds the layers of a model: groups of equal nodes that follow each other
// become one repeat.
package roll

import (
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Pass makes one repeat node of groups of equal nodes that follow each other, such as the layers of a model.
//
// Before: straight-line functions, with splits and copies. After: each value is what it was before. Consecutive groups
// that are equal in ops, attributes, types, backends and data flow are a repeat, whose body is the first group.
//
// Not earlier: the decisions of assign, pack and copy are part of being equal. Not later: order, partition and plan
// decide a body once.
//
// For example, here are three groups of two nodes, and the repeat that they become:
//
//	%w0 = weight "0.w"
//	%a0 = matmul %x, %w0
//	%b0 = add %a0, %bias           %b2 = repeat 3 %x, %bias, ["0.w" "1.w" "2.w"] {
//	%w1 = weight "1.w"               (%x, %bias, %w) ->
//	%a1 = matmul %b0, %w1            %a = matmul %x, %w
//	%b1 = add %a1, %bias             %b = add %a, %bias
//	%w2 = weight "2.w"               return %b
//	%a2 = matmul %b1, %w2          }
//	%b2 = add %a2, %bias
//
// The operands of the body are of these kinds:
//
//   - %a is a value of the body.
//   - %x is a carried value: a group takes it over from the group before, and the first group takes it from outside.
//   - %bias is invariant: all groups read the same value of outside.
//   - %w is a table: weights or states that differ from group to group, with an entry for each.
//   - A leaf that all groups read, of which there is none above, is named again in the body.
//
// The steps of the search are:
//
//  1. Number the nodes by kind, equal for nodes that may be in the same place of two groups (sequence.go, key.go):
//     matmul 0, add 1, so the kinds above are 0 1 0 1 0 1.
//  2. Guess the length of a group, the period: the most frequent distances between nodes of one kind, here 2. For each
//     period, find the runs of nodes that are equal to the node one period later (find.go).
//  3. Guess where the first group of a run starts: maybe at any node of its first period (start.go). Above, groups may
//     be matmul, add or add, matmul.
//  4. Compare the data flow of the groups, and find out what each operand of the body becomes (repetition.go).
//  5. Choose the repetition that saves most nodes, and make a repeat of it (build.go). Then search again.
//
// A first or last group that differs stays as it is. A state has to belong to one group. Where a carried value cannot
// stay in one place, a copy is inserted, before the repeat or at the end of the body.
//
// Cost: O(nodes * length of a group) for each repeat.
var Pass = pass.Pass{
	Name:   "roll",
	Doc:    "make repeats of equal layers",
	Run:    roll,
	Needs:  ir.PropShaped,
	Gives:  ir.PropRolled,
	Breaks: pass.FromOrdered,
	Rules: []pass.Rule{
		{Name: pass.RuleRollRepeat, Doc: "groups of equal nodes follow each other"},
		{Name: pass.RuleRollInit, Doc: "the initial bytes of a carried value are read elsewhere too: it starts with a copy"},
		{Name: pass.RuleRollNext, Doc: "a carried value is still read after its next one is made: the next one is copied at the end"},
	},
	Flags: rollFlags{Min: 8},
}

type rollFlags struct {
	Min int64 `debug:"min,nodes that a repeat has to save: a loop may cost copies, and a barrier in each iteration"`
}

// maxRepeats is the largest number of repeats that are made of one function.
const maxRepeats = 16

func roll(c *pass.Context, m *ir.Module) error {
	for _, f := range m.Funcs {
		if slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpForeign }) {
			continue // the order of foreign nodes determines what they read
		}
		for range maxRepeats {
			r := findRepeat(f)
			if r == nil || r.saved() < int(pass.Flags[rollFlags](c).Min) || !r.canCopy(c) || !c.Allow(pass.RuleRollRepeat, r.group(0)[0]) {
				break
			}
			n := r.build(c, fmt.Sprintf("%s.loop%d", f.Name, countRepeats(f)))
			c.Cause(n, pass.RuleRollRepeat, fmt.Sprintf("%d nodes", r.period))
			c.Count("repeats", 1)
			c.Count("nodes", int64(r.count-1)*int64(r.period))
		}
	}
	c.Unchanged = c.NoneCounted()
	return nil
}

// countRepeats returns the number of repeats in f.
func countRepeats(f *ir.Func) int {
	count := 0
	for _, n := range f.Nodes {
		if n.Op == ir.OpRepeat {
			count++
		}
	}
	return count
}
