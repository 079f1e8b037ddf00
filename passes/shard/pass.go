package shard

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/check/parts"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Pass derives how the devices of a group have the values of a module: their states.
//
// Before: every node is for one device. After: with a group, every value has a state, and where the states of operands
// do not fit, there are collectives. The module computes what it did. Without a group, nothing changes. Either way the
// divisions of weights and states, which no other pass reads, are gone.
//
// Not earlier: reshapes of reshapes divide fewer axes than one. Not later: fuse makes products of several weights,
// whose rows are divided in segments.
//
// Derivation goes forward from the weights. For each node it takes the way that moves the fewest bytes (ir.Fits). Under
// the rules ggml-2026 it takes the way that leaves the result in the state that ggml's meta backend derives, once
// passes/check/group has found no place where that would compute something else.
//
// Cost: one walk; O(nodes * ways).
var Pass = pass.Pass{
	Name:     "shard",
	Doc:      "derive how the devices of a group have each value",
	Run:      run,
	Required: true,
	Needs:    ir.PropShaped,
	Breaks:   pass.FromAssigned,
	Flags:    shardFlags{},
	Rules: []pass.Rule{
		{Name: pass.RuleShardReduce, Doc: "a reader needs the sum of what the devices have"},
		{Name: pass.RuleShardOrder, Doc: "the devices add up in the order of the shortest predicted time"},
		{Name: pass.RuleShardGather, Doc: "a reader needs all of a value of which the devices have parts"},
		{Name: pass.RuleShardScatter, Doc: "a reader needs parts of the sum of what the devices have"},
		{Name: pass.RuleShardPart, Doc: "a reader needs parts of a value that every device has"},
		{Name: pass.RuleShardCost, Doc: "the group has the block in the way of the shortest predicted time for a token"},
		{Name: pass.RuleShardGGML, Doc: "ggml has the value in this state before it adds up"},
	},
}

// SpreadPass writes a module out for the devices of a group.
//
// Before: every value has a state. After: each node is one node for every device that has a part of it, with the device
// as its backend; collectives are slices, adds and concatenations. No value has a state.
//
// Not earlier: the states are derived on whole values. Not later: fuse joins nodes of one device, and assign places
// what is left open. cse, which comes before, would merge what several devices compute alike if they had no backends.
//
// A device that does not run a node of its own leaves it open: assign finds another backend, and copy moves the values.
//
// Cost: one walk; O(nodes * devices).
var SpreadPass = pass.Pass{
	Name:     "spread",
	Doc:      "write nodes out for the devices of a group",
	Run:      runSpread,
	Required: true,
	Needs:    ir.PropShaped,
	Breaks:   pass.FromAssigned,
	Rules: []pass.Rule{
		{Name: pass.RuleSpreadMember, Doc: "the member computes its part of the node"},
		{Name: pass.RuleSpreadOnce, Doc: "the member computes the node for all: it reads a weight of which there is one copy, or adds up what three or more have"},
		{Name: pass.RuleSpreadPin, Doc: "the user put the node there: it is computed once, for all members"},
		{Name: pass.RuleSpreadFallback, Doc: "the member does not run its part of the node, which is placed as if there were no group"},
	},
}

func run(c *pass.Context, m *ir.Module) error {
	g := c.Options.Group
	if g == nil {
		c.Unchanged = !forget(m)
		return nil
	}
	defer forget(m)
	members, err := membersOf(g, c.Targets)
	if err != nil {
		return err
	}
	share := shares(g, members)
	orders, err := newSumOrders(c, members)
	if err != nil {
		return refusal(err)
	}
	o := options{devices: len(members), pins: c.Options.Pins, orders: orders, fixed: usualOrder(len(members)),
		cause: func(n *ir.Node, rule pass.RuleName, operands ...string) { c.Cause(n, rule, operands...) }}
	if c.Options.Rules == "ggml-2026" {
		err = o.byGGML(c, m, share)
	} else {
		err = o.byCost(c, m, members, share)
	}
	if err != nil {
		return refusal(err)
	}
	collectives, err := divide(m, o)
	if err != nil {
		return refusal(fmt.Errorf("group %s: %w", g.Name, err))
	}
	for _, x := range collectives {
		c.Count(string(x.Kind), 1)
	}
	for _, f := range m.Funcs {
		measure(f, g.Name, orders, share).note(m, f.Name)
	}
	return nil
}

// byCost sets the states of weights and states that our own rules give.
func (o *options) byCost(c *pass.Context, m *ir.Module, members []*target.Descriptor, share []float64) (err error) {
	if err := severalShares(c.Options.Group, share); err != nil {
		return err
	}
	if err := keepPinned(m, o.pins, c.Options.Shard); err != nil {
		return err
	}
	ways, choices, err := chooseWays(m, limited(members, c.Options.MaxMemory), share, c.Options.Shard, o)
	if err != nil && len(c.Options.MaxMemory) > 0 { // pass assign finds room elsewhere, or states what is missing
		ways, choices, err = chooseWays(m, members, share, c.Options.Shard, o)
	}
	if err != nil {
		return err
	}
	if o.given, err = statesIn(m, share, c.Options.Shard, ways); err != nil {
		return err
	}
	noteChoices(c, m, choices)
	if err := noteWhole(m, o.given, share, c.Options); err != nil {
		return err
	}
	if len(choices) > 0 { // then a device may have nothing, if that is faster
		return nil
	}
	return everyMember(m, c.Options.Group, c.Options.Pins, share, o.given)
}

// limited returns members that have no more memory than the user allows their backends and spaces.
func limited(members []*target.Descriptor, most map[string]int64) []*target.Descriptor {
	list := make([]*target.Descriptor, len(members))
	for i, t := range members {
		d := *t
		for _, name := range []string{t.Name, t.Home()} {
			if n, ok := most[name]; ok && (d.Memory == 0 || n < d.Memory) {
				d.Memory = max(n, 1) // 0 would be no limit
			}
		}
		list[i] = &d
	}
	return list
}

// noteChoices keeps what was compared in the module, and as causes of the weights and states.
func noteChoices(c *pass.Context, m *ir.Module, choices []Choice) {
	if len(choices) == 0 {
		return
	}
	by := make(map[string]*Choice)
	for _, l := range leavesOf(m) {
		if l.divide == nil || !leftToCost(c.Options.Shard, l.name) {
			continue
		}
		i := slices.IndexFunc(choices, func(x Choice) bool { return x.Block == blockOf(l.divide) })
		by[l.name] = &choices[i]
	}
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			if x := by[nameOfLeaf(n.Result())]; x != nil && n.Is(ir.Leaf) {
				c.Cause(n, pass.RuleShardCost, x.words()...)
			}
		}
	}
	keepChoices(m, choices)
}

// byGGML sets the states that ggml gives, and its plans.
func (o *options) byGGML(c *pass.Context, m *ir.Module, share []float64) (err error) {
	for _, f := range m.Funcs {
		for _, n := range f.Nodes {
			if p := pinOf(o.pins, n); p != nil {
				return fmt.Errorf("--pin %v: ggml computes @%s %v on the whole group: drop it, or %s", p, f.Name, n, useCost)
			}
		}
	}
	o.orders = nil
	o.derived = func(n *ir.Node, op string, s ir.Sharding) { c.Cause(n, pass.RuleShardGGML, op, s.String()) }
	if o.plans, o.given, err = ggmlPlans(m, share, c.Options.Shard); err != nil {
		return err
	}
	return everyMember(m, c.Options.Group, c.Options.Pins, share, o.given)
}

func runSpread(c *pass.Context, m *ir.Module) error {
	g := c.Options.Group
	if !slices.ContainsFunc(m.Funcs, (*ir.Func).Sharded) {
		c.Unchanged = true
		return nil
	}
	if g == nil {
		return refusal(fmt.Errorf("the values of the module are divided over a group, and no group is named: give --group"))
	}
	members, err := membersOf(g, c.Targets)
	if err != nil {
		return err
	}
	o := options{devices: len(members), pins: c.Options.Pins, place: func(n *ir.Node, j int, all bool) { place(c, n, members[j], all) }}
	o.pinned = func(n *ir.Node, p *pass.Pin) {
		n.Backend = p.Backend
		c.CauseChange(n, pass.RuleSpreadPin, "", p.Backend, p.String())
	}
	before := m.Clone()
	if err := writeOut(m, o); err != nil {
		return refusal(fmt.Errorf("group %s: %w", g.Name, err))
	}
	if err := parts.Check(before, m); err != nil {
		return &pass.InternalError{Pass: c.Pass.Name, Module: m.Name, Err: err}
	}
	return nil
}

// refusal makes an error one about the user's choices.
func refusal(err error) error { return &pass.RulesError{Text: err.Error()} }

// forget removes the divisions, which later passes do not read, and reports whether there were some.
func forget(m *ir.Module) (some bool) {
	for _, w := range m.Weights {
		some = some || w.Divide != nil
		w.Divide = nil
	}
	for _, s := range m.States {
		some = some || s.Divide != nil
		s.Divide = nil
	}
	return some
}

// membersOf returns the targets of a group.
func membersOf(g *pass.Group, l *target.List) ([]*target.Descriptor, error) {
	members := make([]*target.Descriptor, len(g.Members))
	for i, name := range g.Members {
		if members[i] = l.Get(name); members[i] == nil {
			return nil, refusal(fmt.Errorf("group %s: there is no target %s: there are %s", g.Name, name, l.Names()))
		}
	}
	return members, nil
}

// place gives a node of a member its backend, if the member runs it.
func place(c *pass.Context, n *ir.Node, t *target.Descriptor, all bool) {
	if slices.ContainsFunc(c.Options.Pins, func(p pass.Pin) bool { return p.Matches(n) }) {
		return // a pin of this device's node, which assign follows
	}
	if ok, why := t.Supports(n); !ok {
		c.Cause(n, pass.RuleSpreadFallback, t.Name, why)
		c.Count("fallback", 1)
		return
	}
	rule := pass.RuleSpreadMember
	if all {
		rule = pass.RuleSpreadOnce
	}
	n.Backend = t.Name
	c.CauseChange(n, rule, "", t.Name, c.Options.Group.Name)
}

// Shares returns the share of each member of a group, of which only the ratios count. The error names a member that is
// no target of the list.
func Shares(g *pass.Group, l *target.List) ([]float64, error) {
	members, err := membersOf(g, l)
	if err != nil {
		return nil, err
	}
	return shares(g, members), nil
}

// shares returns the share of each member: those of the user, or the rates at which the members read memory, which is
// what generating tokens takes. If a rate is not known, they are the sizes of the memories, and if one of these is not,
// equal.
func shares(g *pass.Group, members []*target.Descriptor) []float64 {
	if len(g.Shares) > 0 {
		return g.Shares
	}
	for _, figure := range []func(*target.Descriptor) float64{
		func(t *target.Descriptor) float64 { return cmp.Or(t.Rates.Bandwidth, t.Rates.WorkerBW) },
		func(t *target.Descriptor) float64 { return float64(t.Memory) },
	} {
		list, known := make([]float64, len(members)), true
		for i, t := range members {
			list[i] = figure(t)
			known = known && list[i] > 0
		}
		if known {
			return list
		}
	}
	list := make([]float64, len(members))
	for i := range list {
		list[i] = 1
	}
	return list
}
