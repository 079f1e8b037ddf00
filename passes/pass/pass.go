// Package pass declares what every pass is and may use: [Pass], [Context], [Options], statistics, fuel and
// errors. It knows no pass; package passes has the table of them and runs them.
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

// One copy of a value serves all its readers in a space, and takes memory from the first to
// the last of them. Where a space has a limit that the plan would not keep so, the readers are
// cut into regions of use that lie apart, each with a copy of its own: between them the bytes
// are free for others. That costs the time of a copy, so it is done only where the limit asks
// for it.
//
// Whether it does is seen from real plans: the passes up to plan are rehearsed with one copy
// each, and then with those cuts that bring the bytes live in the space, node by node, below
// what that plan needs too much. The bytes live are an estimate (they know nothing of in-place
// and of gaps between buffers), so what is still too much is taken off again, a few times. Cuts
// without which the plan keeps the limits as well are taken back. Where no cuts help, none is
// made. Belady's choice (A study of replacement algorithms, 1966), what is needed again last,
// decides only between regions whose copies take equally long for a byte.
//
// Cuts do not make a value live longer where memory is short as well. Copies of inputs made
// ahead of all else are not cut, as the caller may have overwritten the input, nor those of
// chosen experts, which one layer uses.

// NodeAt is a node of a module: the position of its function, and its own in there.
type NodeAt struct{ Fn, Node int }

// CopySet is a set of copies, as they stand before elide-copy, that begin a region of use. It is
// not nil where it is known, if only to be empty.
type CopySet map[NodeAt]bool

// Pass is one step of the pipeline.
type Pass struct {
	Name string
	Doc  string // one line
	Run  func(*Context, *ir.Module) error

	// Required passes cannot be disabled.
	Required bool

	// Needs holds before the pass, and nothing of Breaks: what later passes have decided would no
	// longer hold, or the pass would not see it. Afterwards Gives holds.
	Needs, Gives, Breaks ir.Props

	// Rules are those that the pass names in causes and that can be disabled one by one.
	Rules []Rule

	// Flags is the zero value of a struct whose fields, tagged `debug:"name,doc"`, are set
	// by --debug PASS/NAME=VALUE; nil for none. A pass reads them with [Flags].
	Flags any
}

// What passes break: a property, and all that passes give which decide on what has it.
const (
	FromSynced      = ir.PropSynced | ir.PropChecked
	fromPlaced      = ir.PropPlaced | FromSynced
	FromPartitioned = ir.PropPartitioned | fromPlaced
	FromOrdered     = ir.PropOrdered | FromPartitioned
	FromRolled      = ir.PropRolled | FromOrdered
	FromQueued      = ir.PropQueued | FromRolled
	FromCopied      = ir.PropCopied | FromQueued
	FromSplit       = ir.PropSplit | FromCopied
	FromPacked      = ir.PropPacked | FromSplit
	FromAssigned    = ir.PropAssigned | FromPacked
)

// Rule is a reason for which a pass decides something.
type Rule struct {
	Name RuleName // unique in the pipeline
	Doc  string   // one sentence
}

// As returns the same pass under another name, to run again. It declares no rules.
func (p Pass) As(name string) Pass {
	p.Name = name
	p.Rules = nil
	return p
}

// Declares reports whether the pass declares the rule.
func (p *Pass) Declares(rule RuleName) bool {
	return slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Name == rule })
}

// Context is what a pass may use besides its module.
type Context struct {
	Ctx     context.Context
	Options *Options
	Targets *target.List
	Rand    *rand.Rand // seeded from Options.Seed and the pass's name

	Pass  *Pass
	flags any // pointer to a copy of pass.Flags, filled in
	Debug *AllFlags
	Stats *PassStats
	Fuel  *Fuel
	Off   map[RuleName]bool // rules that are disabled
	Run   *Stats            // of the passes that ran, this one among them

	// dry is set in a dry run, which is to tell how much memory a plan needs.
	Dry *DryRun

	// tryPlan makes a dry run of the passes after the last one that ran, up to plan, on m, a copy of
	// the module. elide-copy leaves the copies to keep; where that is nil, it finds out itself.
	TryPlan func(m *ir.Module, keep CopySet) error
}

// DryRun is what passes have to know of a dry run: plan does not look at limits of memory.
type DryRun struct {
	Keep CopySet // copies that elide-copy leaves; nil lets it find out itself
}

// NewContext returns the context of a pass that runs by itself: with its flags, without a limit on fuel,
// with statistics of its own.
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

// Cause appends to the node's causes that this pass applied the rule, and which values,
// nodes or backends the rule looked at.
func (c *Context) Cause(n *ir.Node, rule RuleName, operands ...string) {
	c.CauseChange(n, rule, "", "", operands...)
}

// CauseChange is Cause with what was there before and what is there now.
func (c *Context) CauseChange(n *ir.Node, rule RuleName, before, after string, operands ...string) {
	n.Cause(c.NewCause(rule, before, after), operands...)
}

// NewCause returns a cause for what is not a node, such as a split. An undeclared rule is
// an error of the pass.
func (c *Context) NewCause(rule RuleName, before, after string, operands ...string) ir.Cause {
	if !c.Pass.Declares(rule) {
		panic(fmt.Sprintf("passes: internal error: %s uses the rule %q and does not declare it", c.Pass.Name, rule))
	}
	return ir.Cause{Pass: c.Pass.Name, Rule: string(rule), Operands: operands, Before: before, After: after}
}

// Count adds n to a counter of the pass; its full name is pass.name.
func (c *Context) Count(name string, n int64) { c.Stats.count(name, n) }

// Ran reports whether a pass of this name ran in this run.
func (c *Context) Ran(name string) bool {
	return slices.ContainsFunc(c.Run.Passes, func(p *PassStats) bool { return p.Pass == name })
}

// Allow reports whether the rule may be applied to the node: it is not disabled, and there
// is fuel left. A pass asks once for each application, just before it makes a change that
// it may as well leave out.
func (c *Context) Allow(rule RuleName, n *ir.Node) bool {
	return !c.Off[rule] && c.Fuel.take(c.Pass.Name, rule, n)
}

// Enabled reports whether the rule is not disabled; it takes no fuel.
func (c *Context) Enabled(rule RuleName) bool { return !c.Off[rule] }

// Target returns the target that runs the node; nil before assign.
func (c *Context) Target(n *ir.Node) *target.Descriptor { return c.Targets.Get(n.Backend) }

// Flags returns the flags of the running pass, of the type of its Pass.Flags.
func Flags[T any](c *Context) T { return *c.flags.(*T) }
