// Package order holds the pass order, which makes the order of nodes final.
package order

import (
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// Pass makes the order of nodes final, with fewer bytes live at once where it can.
//
// Before: any order that respects data. After: the final order. Leaves and views are before their first reader. The
// other nodes are in an order whose peak of live bytes is in no space above that of the order before.
//
// Not earlier: bodies are ordered once, and copies have to be there. Not later: epochs and lifetimes follow the order.
//
// A list schedule (schedule.go) takes, among the nodes whose operands are computed, the one that adds the fewest live
// bytes. Its order is kept only if the peak of some space is lower and that of no space is higher. Nodes stay in their
// split, except copies into backends with queues, which begin earlier, and copies that devices make for other
// backends, which move to the head of their split (overlap.go). Nodes that a queue can run at the same time are put
// next to each other, unless a peak becomes higher for it (together.go). A reader of a version of a state, or of a
// carried value, runs before the next version is written.
//
// Cost: O(nodes * log of the ready nodes + operands).
var Pass = pass.Pass{
	Name:     "order",
	Doc:      "order nodes for fewer live bytes",
	Run:      order,
	Required: true,
	Needs:    ir.PropShaped,
	Gives:    ir.PropOrdered,
	Breaks:   pass.FromPartitioned,
	Rules: []pass.Rule{
		{Name: pass.RuleOrderPeak, Doc: "the node runs earlier than before, so that fewer bytes are live at once"},
		{Name: pass.RuleOrderTogether, Doc: "the node runs earlier than before, next to nodes that its queue can run at the same time"},
		{Name: pass.RuleOrderOverlap, Doc: "the copy is submitted earlier, so that it runs at the same time as other work"},
	},
}

func order(c *pass.Context, m *ir.Module) error {
	early, err := mayOverlap(c, m)
	if err != nil {
		return err
	}
	orderFuncs(c, m, early)
	return nil
}

// orderFuncs orders all functions, and returns how many copies have moved forward. None moves unless early is set.
func orderFuncs(c *pass.Context, m *ir.Module, early bool) (moves int) {
	for _, f := range m.AllFuncs() {
		g := newDataflow(c.Targets, f)
		now := identity(len(g.work))
		if c.Enabled(pass.RuleOrderPeak) {
			if list, ok := g.better(c, now); ok {
				now = list
				g.causes(c, now)
			}
		}
		if c.Enabled(pass.RuleOrderTogether) {
			now = g.groups(c, now)
		}
		if early {
			o := newOverlapper(g, c)
			o.survey(now)
			now = o.overlap(now)
			moves += o.moves
		}
		f.Nodes = g.withLeavesAndViews(now)
	}
	return moves
}

// identity returns the numbers below n in order.
func identity(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// better returns the order of the list schedule; ok is false if it has no lower peak, or if a rule is off.
func (g *dataflow) better(c *pass.Context, now []int) (list []int, ok bool) {
	before := g.peaks(now)
	list, after := g.schedule()
	c.Count("peak.before", total(before))
	if !allLower(after, before) {
		c.Count("peak.after", total(before))
		return nil, false
	}
	for at, i := range list {
		if at < i && !c.Allow(pass.RuleOrderPeak, g.work[i]) {
			return nil, false
		}
	}
	c.Count("peak.after", total(after))
	return list, true
}

// allLower reports whether some number of after is lower than that of before, and none is higher.
func allLower(after, before []int64) bool {
	lower := false
	for i, n := range after {
		if n > before[i] {
			return false
		}
		lower = lower || n < before[i]
	}
	return lower
}

func total(list []int64) int64 {
	var all int64
	for _, n := range list {
		all += n
	}
	return all
}

// causes gives a cause to the nodes that run earlier in the order than before.
func (g *dataflow) causes(c *pass.Context, order []int) {
	for at, i := range order {
		if at < i {
			c.Cause(g.work[i], pass.RuleOrderPeak)
		}
	}
}

// withLeavesAndViews returns the nodes with work in the given order, with leaves and views before their first readers.
// Leaves and views that nothing reads come last.
func (g *dataflow) withLeavesAndViews(order []int) []*ir.Node {
	out := make([]*ir.Node, 0, len(g.f.Nodes))
	done := make([]bool, g.f.NumNodes()) // by id: a leaf or view that is in out
	var add func(n *ir.Node)             // adds the leaves and views that n reads
	add = func(n *ir.Node) {
		for _, a := range n.Args {
			if a == nil || a.Def == nil || g.index[a.Def.ID] != flow.None || done[a.Def.ID] {
				continue
			}
			done[a.Def.ID] = true
			add(a.Def)
			out = append(out, a.Def)
		}
	}
	for _, i := range order {
		add(g.work[i])
		out = append(out, g.work[i])
	}
	for _, n := range g.f.Nodes {
		if g.index[n.ID] == flow.None && !done[n.ID] {
			done[n.ID] = true
			add(n)
			out = append(out, n)
		}
	}
	return out
}
