// Package check proves a finished plan without trusting anything that made it.
//
// It knows what ops do (the op table of package ir), what backends can do (package
// passes/target) and what a plan says (docs/explanation/plan.md): an order, a partition and an epoch
// for each node, a place for each value. It shares no code with the passes that decide: it lays out
// repeats by itself, runs the result as a sequence of reads and writes of byte ranges, and
// compares.
//
// The claims, one a file:
//
//   - address: every address lies inside its chunk and is of the right class
//   - align: every address is aligned
//   - reach: every node can address what it is given
//   - kernel: every node has a kernel that reads it as it is
//   - copies: every copy moves the bytes it says, to where it says
//   - reads: every read finds the version that it names, in the order of the program
//   - overlap: nothing is overwritten while someone still needs it
//   - hazard: between two barriers no worker touches what another one writes
//   - queue: every node is on the queue that can run it, and waits for what exists
//   - race: what one queue touches and another one writes, or the host, is ordered by events
//
// Reads and overlap are about the program's order. As no two workers conflict between
// barriers (hazard), and no two queues without an event (race), every interleaving is as
// good as that order. With several steps under way, that holds across steps too.
//
// Whatever cannot be proved is an error. Sizes are the symbols' upper bounds where bytes
// are compared (a value's bytes at any size are a prefix of those), and symbolic where
// owners are: a proof holds for all sizes and all numbers of workers up to ir.Plan.Workers.
package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/abreast"
	"github.com/ggmlc/ggmlc/passes/target"
)

// The rules that a violation can name.
const (
	RuleAddress   = "address"
	RuleAlign     = "align"
	RulePartition = "partition"
	RuleReach     = "reach"
	RuleKernel    = "kernel"
	RuleCopy      = "copy"
	RuleReads     = "reads"
	RuleOverlap   = "overlap"
	RuleHazard    = "hazard"
	RuleQueue     = "queue"
	RuleRace      = "race"
)

// Violation is a claim that does not hold.
type Violation struct {
	Rule  string
	Func  string   // the entry point, and for a body the rounds that led there: decode/body[3]
	Nodes []string // one or two: the one that fails, and the one it meets
	Range string   // the bytes, such as "host activations [0x40,0x80)"; empty if none
	What  string   // what is wrong

	Unreached *Unreached // of reach: what cannot be addressed
}

// Error returns the violation in one line.
func (v *Violation) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: @%s", v.Rule, v.Func)
	if len(v.Nodes) > 0 {
		b.WriteString(": " + strings.Join(v.Nodes, " and "))
	}
	if v.Range != "" {
		b.WriteString(": " + v.Range)
	}
	return b.String() + ": " + v.What
}

// unplaced reports whether what the violation says keeps others from being looked for: all
// but those that concern one access or one address each.
func (v *Violation) unplaced() bool {
	return v.Rule != RuleReach && v.Rule != RuleKernel && v.Rule != RuleAlign
}

// Error holds all that was found wrong with a plan.
type Error struct {
	Violations []*Violation
	More       int // that are not listed
}

// maxListed bounds how many violations are kept, and maxShown how many of them are shown: one
// mistake can have many.
const maxListed, maxShown = 4096, 50

// Error returns the violations, a line for each.
func (e *Error) Error() string {
	shown := e.Violations[:min(len(e.Violations), maxShown)]
	lines := make([]string, len(shown))
	for i, v := range shown {
		lines[i] = v.Error()
	}
	if more := e.More + len(e.Violations) - len(shown); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the violations.
func (e *Error) Unwrap() []error {
	errs := make([]error, len(e.Violations))
	for i, v := range e.Violations {
		errs[i] = v
	}
	return errs
}

// Check proves the plan of m, whose nodes run on the targets. The module must be well
// formed, as ir.Verify says. The error is an *Error, or that of a context that is done.
func Check(ctx context.Context, m *ir.Module, targets *target.List) error {
	if done, err := newChecker(ctx, m, targets).hastily(); done {
		return err
	}
	return newChecker(ctx, m, targets).check()
}

// hastily is check with what does not depend on each other done at once. It is not done if there
// is something to find, or a panic: that may be another one than check comes to first.
func (c *checker) hastily() (done bool, err error) {
	defer func() {
		if recover() != nil {
			done = false
		}
	}()
	c.hasty = true
	err = c.check()
	return err == nil || c.ctx.Err() != nil, err
}

func newChecker(ctx context.Context, m *ir.Module, targets *target.List) *checker {
	c := &checker{ctx: ctx, m: m, targets: targets, spaces: make(map[string]target.Space), seen: make(map[string]bool)}
	c.owners, c.scenarios, c.routes = make(ownerTable), make(map[*ir.Func]*scenario), make(map[route][]string)
	c.queues = queuesOf(targets)
	for _, s := range targets.Spaces() {
		c.spaces[s.Name] = s
	}
	return c
}

func (c *checker) check() error {
	c.look()
	if c.hasty && len(c.found) > 0 || slices.ContainsFunc(c.found, (*Violation).unplaced) {
		return c.result() // the rest presupposes that addresses are addresses
	}
	for _, f := range c.m.Funcs {
		if err := c.run(f); err != nil {
			return err
		}
	}
	return c.result()
}

// checker collects what is wrong with a module.
type checker struct {
	ctx     context.Context
	m       *ir.Module
	targets *target.List
	spaces  map[string]target.Space
	queues  map[string]queue
	routes  map[route][]string // the queues of copies
	owners  ownerTable
	kinds   kinds
	hasty   bool // see both

	scenarios map[*ir.Func]*scenario // that are known already
	likely    int                    // the index of the next weight that behind is asked for

	lastBackend struct { // see backend
		name string
		d    *target.Descriptor
	}

	finding sync.Mutex // guards what follows
	found   []*Violation
	more    int
	seen    map[string]bool // what was reported, without rounds
}

// look checks what needs no execution. In haste it lays out what is executed meanwhile.
func (c *checker) look() {
	if c.m.Plan == nil {
		c.report("", &Violation{Rule: RuleAddress, What: "there is no plan"})
		return
	}
	if !c.hasty {
		c.static()
		return
	}
	c.both(c.static, func() {
		for _, f := range c.m.Funcs {
			c.scenarios[f] = c.scenarioOf(f)
		}
	})
}

// static checks what needs no execution.
func (c *checker) static() {
	c.arenas()
	c.workers()
	c.both(c.leaves, c.functions)
	for _, f := range c.m.Funcs {
		c.events(f)
	}
}

// workers claims: the plan is for no more workers than the targets allow.
func (c *checker) workers() {
	if n, most := c.m.Plan.Workers(), c.targets.MaxWorkers(); n > most {
		c.report("", &Violation{Rule: RulePartition, What: fmt.Sprintf("the plan is for up to %d workers, and the targets allow %d: it needs threads=%d", n, most, most)})
	}
}

// functions checks what is said of each function and its nodes: claim after claim, or in haste
// all of them node by node, as nodes lie all over memory.
func (c *checker) functions() {
	for _, f := range c.m.AllFuncs() {
		c.owners[f] = &ownerList{of: make([]*owners, f.NumNodes())}
		c.paramAddresses(f)
		e := epochs{c: c}
		if c.hasty {
			for _, n := range f.Nodes {
				c.nodeAddresses(n)
				c.node(n)
				e.follow(n)
			}
			c.resultAddresses(f)
		} else {
			eachNode(f, c.nodeAddresses)
			c.resultAddresses(f)
			eachNode(f, c.node)
			eachNode(f, e.follow)
		}
		c.resultsOfExperts(f)
	}
}

func eachNode(f *ir.Func, do func(n *ir.Node)) {
	for _, n := range f.Nodes {
		do(n)
	}
}

func (c *checker) node(n *ir.Node) {
	c.partition(n)
	c.reach(n)
	c.copies(n)
	c.submission(n)
}

// backend returns the target that runs a node, which mostly runs the one asked for before; nil
// if there is none.
func (c *checker) backend(n *ir.Node) *target.Descriptor {
	if last := &c.lastBackend; last.d == nil || last.name != n.Backend {
		last.name, last.d = n.Backend, c.targets.Get(n.Backend)
	}
	return c.lastBackend.d
}

// both does two things that do not depend on each other: one after the other, as violations
// are to be listed, or in haste at once. Whoever finds something in haste begins anew, without.
func (c *checker) both(first, second func()) {
	if !c.hasty {
		first()
		second()
		return
	}
	abreast.Do(first, func() {
		defer func() {
			if x := recover(); x != nil { // without haste, it is the caller that panics
				c.report("", &Violation{What: fmt.Sprint(x)})
			}
		}()
		second()
	})
}

// scenario is what is run of an entry point: once, or as often as steps of it are under way.
type scenario struct {
	t      *trace
	calls  int
	layout *layout
}

func (c *checker) scenarioOf(f *ir.Func) *scenario {
	t := c.expand(f)
	c.foreignInstances(t)
	calls := c.calls(t)
	return &scenario{t, calls, layOut(t, calls)}
}

// run checks what happens when an entry point is called, once or as often as steps of it
// are under way at once.
func (c *checker) run(f *ir.Func) error {
	sc := c.scenarios[f]
	if sc == nil {
		sc = c.scenarioOf(f)
	}
	delete(c.scenarios, f) // nobody needs it any more
	s := newSim(c, sc.t, sc.layout)
	var r *regions
	var o *order
	half := len(sc.t.steps) / 2
	c.both(func() {
		c.own(sc.t.steps[:half])
		r = newRegions(s)
	}, func() {
		c.own(sc.t.steps[half:])
		o = newOrder(s)
	})
	for call := range sc.calls {
		if err := c.call(call, s, r, o); err != nil {
			return err
		}
	}
	return nil
}

// own gives steps their owners.
func (c *checker) own(steps []step) {
	for i := range steps {
		steps[i].own = c.owners.of(steps[i].node)
	}
}

// call checks one of the calls that are under way.
func (c *checker) call(call int, s *sim, r *regions, o *order) error {
	s.t.move(s.layout, call)
	r.barrier()
	o.begin(call)
	if c.hasty {
		c.both(func() {
			s.start()
			c.each(s.t, s.step)
		}, func() {
			c.both(func() { c.each(s.t, r.step) }, func() { c.each(s.t, o.step) })
		})
	} else {
		s.start()
		c.each(s.t, func(i int) {
			s.step(i)
			r.step(i)
			o.step(i)
		})
	}
	s.end()
	o.end()
	return c.ctx.Err()
}

// each calls do for all steps, until the context is done.
func (c *checker) each(t *trace, do func(at int)) {
	for i := range t.steps {
		if i%4096 == 0 && c.ctx.Err() != nil {
			return
		}
		do(i)
	}
}

// report adds a violation, once for all the rounds in which it occurs.
func (c *checker) report(key string, v *Violation) {
	c.finding.Lock()
	defer c.finding.Unlock()
	if key != "" && c.seen[key] {
		return
	}
	c.seen[key] = true
	if len(c.found) == maxListed {
		c.more++
		return
	}
	c.found = append(c.found, v)
}

// fail reports a violation at a node, outside of any round.
func (c *checker) fail(rule string, n *ir.Node, format string, args ...any) {
	c.report("", &Violation{Rule: rule, Func: n.Func.Name, Nodes: []string{n.String()}, What: fmt.Sprintf(format, args...)})
}

func (c *checker) result() error {
	if len(c.found) == 0 {
		return nil
	}
	return &Error{c.found, c.more}
}

// spaceName returns the space of a type; the host's where none was chosen.
func spaceName(t ir.Type) string { return cmp.Or(t.Space, target.Host) }

// works reports whether a node does anything when it runs.
func works(n *ir.Node) bool { return !n.Is(ir.Leaf) && !n.Is(ir.View) }

// inRange describes bytes of an arena.
func (c *checker) inRange(p ir.Place) string {
	a := c.m.Plan.Arenas[p.Arena]
	text := fmt.Sprintf("%s %v [%#x,%#x)", a.Space, a.Class, p.Offset, p.Offset+p.Bytes)
	if len(a.Chunks) > 1 {
		text += fmt.Sprintf(" of chunk %d", p.Chunk)
	}
	return text
}

// class returns the class of the arena where p is.
func (c *checker) class(p ir.Place) ir.Class { return c.m.Plan.Arenas[p.Arena].Class }

// has reports whether a list of operand numbers holds i.
func has(list []int, i int) bool { return slices.Contains(list, i) }
