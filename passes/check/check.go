package check

import (
	"cmp"
	"context"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// Check proves the plan of m, whose nodes run on the targets. The module has to be well formed (ir.Verify). The error
// is an *Error, or that of ctx.
func Check(ctx context.Context, m *ir.Module, targets *target.List) error {
	c := newChecker(m, targets)
	c.static()
	if c.stopped() {
		return c.result()
	}
	for _, f := range m.Funcs {
		if err := c.run(ctx, f); err != nil {
			return err
		}
	}
	return c.result()
}

// checker collects the violations of a module.
type checker struct {
	m       *ir.Module
	targets *target.List
	spaces  map[string]target.Space
	queues  map[string]queue
	owners  map[*ir.Node]*owners  // of the nodes that were laid out
	shared  map[*ir.Node]*ir.Node // see asShared

	found []*Violation
	more  int             // violations that are not in found
	seen  map[string]bool // keys of reported violations
}

func newChecker(m *ir.Module, targets *target.List) *checker {
	c := &checker{m: m, targets: targets, spaces: make(map[string]target.Space), queues: queuesOf(targets),
		owners: make(map[*ir.Node]*owners), shared: make(map[*ir.Node]*ir.Node), seen: make(map[string]bool)}
	for _, s := range targets.Spaces() {
		c.spaces[s.Name] = s
	}
	return c
}

// static checks the claims that need no execution.
func (c *checker) static() {
	if c.m.Plan == nil {
		c.report("", &Violation{Rule: RuleAddress, What: "there is no plan"})
		return
	}
	c.arenas()
	c.workers()
	c.leaves()
	for _, f := range c.m.AllFuncs() {
		c.function(f)
	}
	for _, f := range c.m.Funcs {
		c.events(f)
		c.observed(f)
	}
}

// function checks the static claims for the nodes of one function.
func (c *checker) function(f *ir.Func) {
	c.paramAddresses(f)
	for _, n := range f.Nodes {
		c.nodeAddresses(n)
	}
	c.resultAddresses(f)
	for _, n := range f.Nodes {
		c.partition(n)
		c.within(n)
		c.reach(n)
		c.copies(n)
		c.submission(n)
	}
	c.epochs(f)
	c.resultsOfExperts(f)
}

// run executes a call of an entry point, or several calls where they may be under way at once. Each step is given to
// the three parts of the proof in turn.
func (c *checker) run(ctx context.Context, f *ir.Func) error {
	t := c.expand(f)
	c.foreignInstances(t)
	calls := c.calls(t)
	l := layOut(t, calls)
	memory, region, threads := newMemory(c, t, l), newRegion(c, t), newThreads(c, t, l)
	group := &group{c: c}
	for call := range calls {
		l.move(t, call)
		memory.begin()
		threads.begin(call)
		group.begin()
		for i := range t.steps {
			if i%4096 == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			st := &t.steps[i]
			memory.step(st)
			region.step(st)
			threads.step(st)
			group.step(st)
		}
		memory.end()
		region.end()
		threads.end()
	}
	return ctx.Err()
}

// spaceName returns the space of a type; the host's where none was chosen.
func spaceName(t ir.Type) string { return cmp.Or(t.Space, target.Host) }

// works reports whether a node computes anything when it runs.
func works(n *ir.Node) bool { return !n.Is(ir.Leaf) && !n.Is(ir.View) }

// backend returns the target that runs a node, or nil if there is none.
func (c *checker) backend(n *ir.Node) *target.Descriptor { return c.targets.Get(n.Backend) }

// class returns the class of the arena of p.
func (c *checker) class(p ir.Place) ir.Class { return c.m.Plan.Arenas[p.Arena].Class }
