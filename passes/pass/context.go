package pass

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Context is what a pass may use besides its module.
type Context struct {
	Ctx     context.Context
	Options *Options
	Targets *target.List
	Rand    *rand.Rand // seeded from Options.Seed and the pass's name

	Pass  *Pass
	flags any // pointer to a copy of Pass.Flags with the settings of Options.Debug
	Debug *AllFlags
	Stats *PassStats        // of this pass
	Run   *Stats            // of the passes that ran, with this one
	Fuel  *Fuel             // shared by all passes
	Off   map[RuleName]bool // disabled rules

	// Unchanged is set by a pass that has left the module as it was, which then need not be verified again.
	Unchanged bool

	// Dry is not nil in a dry run.
	Dry *DryRun

	// TryPlan makes a dry run on m, a copy of the module: of the passes after the last one that ran, up to plan. It
	// returns the error of plan, such as a [BudgetError]. For keep see [DryRun].
	TryPlan func(m *ir.Module, keep CopySet) error
}

// NewContext returns the context of a pass that runs alone: with its flags, no limit on fuel, and statistics of its
// own.
func NewContext(ctx context.Context, p *Pass, l *target.List, o *Options) (*Context, error) {
	flags, err := o.flags(p)
	if err != nil {
		return nil, err
	}
	h := fnv.New64a()
	h.Write([]byte(p.Name))
	run := new(Stats)
	return &Context{
		Ctx:     ctx,
		Options: o,
		Targets: l,
		Rand:    rand.New(rand.NewPCG(o.Seed, h.Sum64())),
		Pass:    p,
		flags:   flags,
		Debug:   &AllFlags{Fuel: -1},
		Stats:   run.Add(p.Name),
		Run:     run,
		Fuel:    NewFuel(-1),
	}, nil
}

// Cause appends a cause to the node: this pass applied the rule. Operands are the values, nodes or backends that the
// rule depended on.
func (c *Context) Cause(n *ir.Node, rule RuleName, operands ...string) {
	c.CauseChange(n, rule, "", "", operands...)
}

// CauseChange is Cause with texts of what was there before and is there after.
func (c *Context) CauseChange(n *ir.Node, rule RuleName, before, after string, operands ...string) {
	n.Cause(c.NewCause(rule, before, after), operands...)
}

// NewCause returns a cause that is not appended to a node. It panics if the pass does not declare the rule.
func (c *Context) NewCause(rule RuleName, before, after string, operands ...string) ir.Cause {
	if !c.Pass.Declares(rule) {
		panic(fmt.Sprintf("passes: internal error: %s uses the rule %q and does not declare it", c.Pass.Name, rule))
	}
	return ir.Cause{Pass: c.Pass.Name, Rule: string(rule), Operands: operands, Before: before, After: after}
}

// Count adds n to a counter of the pass; its full name is pass.name.
func (c *Context) Count(name string, n int64) { c.Stats.count(name, n) }

// NoneCounted reports whether all counters of the pass are 0. Many passes count each change.
func (c *Context) NoneCounted() bool {
	return !slices.ContainsFunc(c.Stats.Counters, func(n Counter) bool { return n.Value != 0 })
}

// Ran reports whether a pass of this name ran in this run.
func (c *Context) Ran(name string) bool {
	return slices.ContainsFunc(c.Run.Passes, func(p *PassStats) bool { return p.Pass == name })
}

// Allow reports whether the rule may be applied to the node: it is not disabled, and there is fuel left. A pass calls
// it once for each application, just before a change that it could leave out.
func (c *Context) Allow(rule RuleName, n *ir.Node) bool {
	return !c.Off[rule] && c.Fuel.take(c.Pass.Name, rule, n)
}

// Enabled reports whether the rule is not disabled; it takes no fuel.
func (c *Context) Enabled(rule RuleName) bool { return !c.Off[rule] }

// Target returns the target that runs the node; nil if it has none.
func (c *Context) Target(n *ir.Node) *target.Descriptor { return c.Targets.Get(n.Backend) }

// FirstSupporting returns the first target that runs n, and for each target before it the reason why it does not. The
// target is nil if none does.
func FirstSupporting(c *Context, n *ir.Node) (*target.Descriptor, []string) {
	var refusals []string
	for _, t := range c.Targets.All() {
		ok, why := t.Supports(n)
		if ok {
			return t, refusals
		}
		refusals = append(refusals, why)
	}
	return nil, refusals
}

// Flags returns the flags of the running pass. T is the type of its Pass.Flags.
func Flags[T any](c *Context) T { return *c.flags.(*T) }
