package passes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/passes/flow"
	"github.com/ggmlc/ggmlc/passes/pass"
	"github.com/ggmlc/ggmlc/passes/plan"
	"github.com/ggmlc/ggmlc/passes/rewrite"
	"github.com/ggmlc/ggmlc/passes/shard"
	"github.com/ggmlc/ggmlc/passes/target"
)

// RunOptions are the options of [Run].
type RunOptions struct {
	Targets *target.List
	Options pass.Options

	// From is the first pass to run; empty is the one after the last that ran on the module. To is the last pass; empty
	// is the end of the pipeline. Before is the pass before which Run stops, in place of To. Passes, if not nil, are
	// exactly the passes to run, in that order.
	From, To, Before string
	Passes           []string

	// After is called after every pass, with the module at that time, to write a dump or to show progress.
	After func(Step, *ir.Module) error

	// Each is called after every pass too, before After. It gets the name of the pass only, so the module is not
	// printed to find out whether it changed.
	Each func(pass string, m *ir.Module)

	table passTable    // the passes that From, To and Passes select from; nil is the pipeline
	dry   *pass.DryRun // nil for a real run

	// ReproDir is the folder for the module on which a pass panicked, or which it broke; empty for none.
	ReproDir string
}

// Step is one pass that ran.
type Step struct {
	Number  int // counted from 1 in the pipeline; 0 is the import
	Pass    string
	Changed bool // the text of the module changed; only set for RunOptions.After
	Stats   *pass.PassStats
	Figures pass.Figures
}

// Run runs passes on m and returns their statistics. It stops at the first pass that fails. Of each pass it checks that
// its needs hold, recovers from its panics, measures its time, verifies the module after it unless it reports that it
// has changed nothing, and calls the functions of the options. An *[pass.InternalError] is a bug; other errors are due to the module or the options.
func Run(ctx context.Context, m *ir.Module, o RunOptions) (*pass.Stats, error) {
	r, err := newRunner(m, o)
	if err != nil {
		return nil, err
	}
	return r.stats, r.run(ctx)
}

// runner is the state of one Run.
type runner struct {
	o        RunOptions
	m        *ir.Module
	todo     []*pass.Pass
	stats    *pass.Stats
	targets  *target.List
	debug    *pass.AllFlags
	fuel     *pass.Fuel
	rulesOff map[pass.RuleName]bool
	text     string // of m after the last pass; only set if RunOptions.After is

	verified bool         // m is as it was when it was verified
	figures  pass.Figures // of m then
}

func newRunner(m *ir.Module, o RunOptions) (*runner, error) {
	targets, deniedErr := o.Targets.Without(o.Options.Deny)
	all, debugErr := o.Options.AllFlags()
	if o.table == nil {
		o.table = table
	}
	off, rulesOff, disableErr := o.table.disabled(&o.Options)
	todo, rangeErr := selectPasses(m, &o, off)
	if err := errors.Join(deniedErr, debugErr, disableErr, rangeErr, checkPins(&o.Options, targets), checkGroup(&o.Options, targets)); err != nil {
		return nil, err
	}
	r := &runner{o: o, m: m, todo: todo, stats: &pass.Stats{}, targets: targets, debug: all, rulesOff: rulesOff}
	r.fuel = pass.NewFuel(all.Fuel)
	if o.After != nil {
		r.text = m.String()
	}
	return r, nil
}

// checkPins reports pins to targets that are denied or do not exist, and pins with the same expression and different
// targets. If different expressions match one node, the first pin is applied.
func checkPins(o *pass.Options, targets *target.List) error {
	var errs []error
	before := make(map[string]pass.Pin)
	for _, p := range o.Pins {
		other, again := before[p.Match.String()]
		switch {
		case slices.Contains(o.Deny, p.Backend):
			errs = append(errs, fmt.Errorf("pin %v: %s is denied: drop one of the two", p, p.Backend))
		case targets != nil && targets.Get(p.Backend) == nil:
			errs = append(errs, fmt.Errorf("pin %v: there is no target %s: there are %s", p, p.Backend, targets.Names()))
		case again && other.Backend != p.Backend:
			errs = append(errs, fmt.Errorf("pin %v contradicts pin %v: drop one of the two", p, other))
		}
		before[p.Match.String()] = p
	}
	return errors.Join(errs...)
}

// checkGroup reports members of a group that are denied or do not exist, and states for a group that there is not.
func checkGroup(o *pass.Options, targets *target.List) error {
	g := o.Group
	if g == nil {
		if len(o.Shard) > 0 {
			return fmt.Errorf("shard %v: there is no group whose devices could divide it: name one with --group", o.Shard[0])
		}
		return nil
	}
	var errs []error
	for _, m := range g.Members {
		switch {
		case slices.Contains(o.Deny, m):
			errs = append(errs, fmt.Errorf("group %s: %s is denied: drop one of the two", g.Name, m))
		case targets != nil && targets.Get(m) == nil:
			errs = append(errs, fmt.Errorf("group %s: there is no target %s: there are %s", g.Name, m, targets.Names()))
		}
	}
	if o.Rules == "ggml-2024" {
		errs = append(errs, fmt.Errorf("group %s: ggml had no groups in 2024: use --rules cost or ggml-2026", g.Name))
	}
	return errors.Join(errs...)
}

// selectPasses returns the passes to run, without the disabled ones.
func selectPasses(m *ir.Module, o *RunOptions, off map[string]bool) ([]*pass.Pass, error) {
	if o.Passes != nil {
		return namedPasses(o.table, o.Passes)
	}
	from, err := firstPass(o.table, m, o.From)
	to, toErr := lastPass(o)
	if err := errors.Join(err, toErr); err != nil {
		return nil, err
	}
	var todo []*pass.Pass
	for i := from; i < to; i++ {
		if p := &o.table[i]; !off[p.Name] {
			todo = append(todo, p)
		}
	}
	return todo, nil
}

// namedPasses returns the passes of these names.
func namedPasses(t passTable, names []string) ([]*pass.Pass, error) {
	var todo []*pass.Pass
	var errs []error
	for _, name := range names {
		p := t.find(name)
		if p == nil {
			errs = append(errs, t.unknown(name))
			continue
		}
		todo = append(todo, p)
	}
	return todo, errors.Join(errs...)
}

// UnknownPass returns the error for a name that no pass has.
func UnknownPass(name string) error { return table.unknown(name) }

func (t passTable) unknown(name string) error {
	return fmt.Errorf("there is no pass %q:%s ggmlc passes lists them", name, spell.Hint(name, t.names()))
}

// firstPass returns the index of the first pass to run.
func firstPass(t passTable, m *ir.Module, from string) (int, error) {
	if from != "" {
		i := t.index(from)
		if i < 0 {
			return 0, t.unknown(from)
		}
		return i, nil
	}
	if m.Last == "" || m.Last == "import" {
		return 0, nil
	}
	i := t.index(m.Last)
	if i < 0 {
		return 0, fmt.Errorf("module %s was last changed by %q, which is no pass of this version", m.Name, m.Last)
	}
	return i + 1, nil
}

// lastPass returns the index after that of the last pass to run.
func lastPass(o *RunOptions) (int, error) {
	name, after := o.To, 1
	if o.Before != "" {
		name, after = o.Before, 0
	}
	if name == "" {
		return len(o.table), nil
	}
	i := o.table.index(name)
	if i < 0 {
		return 0, o.table.unknown(name)
	}
	return i + after, nil
}

func (r *runner) run(ctx context.Context) error {
	for _, p := range r.todo {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("before pass %s: %w", p.Name, err)
		}
		if err := r.pass(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// pass runs one pass, with all checks and reports.
func (r *runner) pass(ctx context.Context, p *pass.Pass) error {
	if err := inTurn(r.o.table, p, r.m); err != nil {
		return err
	}
	c, err := r.context(ctx, p)
	if err != nil {
		return err
	}
	before := r.keep() // before permute: its order depends on the seed, so the reproducer repeats it
	r.permute(c)
	if err := r.call(c, p); err != nil {
		return r.failed(p, before, err)
	}
	given := p.Gives &^ r.m.Props
	r.m.Props |= given
	r.m.Last = p.Name
	if r.isVerified(c, given) {
		c.Stats.Figures = r.figures
		return r.report(p, c)
	}
	if err := ir.Verify(r.m); err != nil {
		return r.failed(p, before, &pass.InternalError{Pass: p.Name, Module: r.m.Name, Err: err})
	}
	r.verified, r.figures = true, flow.Measure(r.m)
	c.Stats.Figures = r.figures
	return r.report(p, c)
}

// isVerified reports whether the module is the one that was verified after an earlier pass, and nothing that Verify
// looks at was given to it. With --debug check=all, passes are not believed that they changed nothing.
func (r *runner) isVerified(c *pass.Context, given ir.Props) bool {
	return r.verified && c.Unchanged && given&ir.VerifiedProps == 0 && r.debug.Check != "all"
}

// inTurn returns an error if p must not run now: passes before it have not run, or passes after it have.
func inTurn(t passTable, p *pass.Pass, m *ir.Module) error {
	last := cmp.Or(m.Last, "no pass")
	switch missing := p.Needs &^ m.Props; {
	case missing != 0 && m.Props == 0:
		return fmt.Errorf("pass %s needs a module that is %v; this one has no line \"props\" that says what it is: add props imported", p.Name, missing)
	case missing != 0:
		return fmt.Errorf("pass %s needs a module that is %v; this one, after %s, is not: run the passes before it first", p.Name, missing, last)
	case p.Breaks&m.Props != 0:
		return fmt.Errorf("pass %s would undo what pass %s has decided; this module, after %s, is %v already: start from a dump after an earlier pass",
			p.Name, t.giver(p.Breaks&m.Props), last, p.Breaks&m.Props)
	case p.Name != shard.SpreadPass.Name && slices.ContainsFunc(m.Funcs, (*ir.Func).Sharded):
		return fmt.Errorf("pass %s needs a module that is written out; the values of this one, after %s, have states of a group: run spread first", p.Name, last)
	}
	return nil
}

// context returns the context of a pass. The passes of a run share statistics, the flags of the runner, and fuel.
func (r *runner) context(ctx context.Context, p *pass.Pass) (*pass.Context, error) {
	c, err := pass.NewContext(ctx, p, r.targets, &r.o.Options)
	if err != nil {
		return nil, err
	}
	c.Debug, c.Fuel, c.Off, c.Dry = r.debug, r.fuel, r.rulesOff, r.o.dry
	c.Stats, c.Run = r.stats.Add(p.Name), r.stats
	c.TryPlan = func(m *ir.Module, keep pass.CopySet) error { return r.tryPlan(ctx, m, keep) }
	return c, nil
}

// tryPlan is pass.Context.TryPlan.
func (r *runner) tryPlan(ctx context.Context, m *ir.Module, keep pass.CopySet) error {
	o := RunOptions{Targets: r.o.Targets, Options: r.o.Options, To: plan.Pass.Name, table: r.o.table, dry: &pass.DryRun{Keep: keep}}
	_, err := Run(ctx, m, o)
	return err
}

// permute shuffles the nodes with --debug check=all, as far as data flow allows, until split or order decides on their
// order.
func (r *runner) permute(c *pass.Context) {
	if r.debug.Check != "all" || r.m.Props&(ir.PropSplit|ir.PropOrdered) != 0 {
		return
	}
	for _, f := range r.m.AllFuncs() {
		rewrite.Permute(f, c.Rand)
	}
}

// keep returns a copy of the module for a reproducer, as passes change modules in place; nil if none is wanted.
func (r *runner) keep() *ir.Module {
	if r.o.ReproDir == "" {
		return nil
	}
	return r.m.Clone()
}

// call runs the pass; a panic becomes an *InternalError.
func (r *runner) call(c *pass.Context, p *pass.Pass) (err error) {
	defer func() {
		if x := recover(); x != nil {
			cause, ok := x.(error)
			if !ok {
				cause = fmt.Errorf("%v", x)
			}
			err = &pass.InternalError{Pass: p.Name, Module: r.m.Name, Err: cause, Stack: string(debug.Stack())}
		}
	}()
	start, allocs := time.Now(), allocations()
	err = p.Run(c, r.m)
	c.Stats.Time, c.Stats.Allocs = time.Since(start), allocations()-allocs
	return err
}

// failed returns the error of a pass with its name. For a bug it writes the reproducer.
func (r *runner) failed(p *pass.Pass, before *ir.Module, err error) error {
	var bug *pass.InternalError
	if !errors.As(err, &bug) {
		return fmt.Errorf("pass %s: %w", p.Name, err)
	}
	if before != nil {
		path, writeErr := writeRepro(r.o.ReproDir, p.Name, before)
		if writeErr != nil {
			return errors.Join(bug, writeErr)
		}
		bug.Repro = path
		if r.debug.Check == "all" { // other settings are in the module's head
			bug.Flags = "--debug check=all "
		}
	}
	return bug
}

// writeRepro writes a module to a new file in the folder, and returns its path.
func writeRepro(dir, pass string, m *ir.Module) (string, error) {
	f, err := os.CreateTemp(dir, "ggmlc-"+pass+"-*.ggir")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(m.String())
	return f.Name(), errors.Join(err, f.Close())
}

// report calls the functions of the options after the pass.
func (r *runner) report(p *pass.Pass, c *pass.Context) error {
	if r.o.Each != nil {
		r.o.Each(p.Name, r.m)
	}
	if r.o.After == nil {
		return nil
	}
	text := r.m.String()
	step := Step{
		Number:  r.o.table.index(p.Name) + 1,
		Pass:    p.Name,
		Changed: body(text) != body(r.text),
		Stats:   c.Stats,
		Figures: c.Stats.Figures,
	}
	if step.Changed && c.Unchanged && r.debug.Check != "all" { // else permute has changed it
		return &pass.InternalError{Pass: p.Name, Module: r.m.Name, Err: errors.New("it has changed the module, and reports that it has not")}
	}
	r.text = text
	return r.o.After(step, r.m)
}

// body returns the text of a module without the lines for the last pass and the properties, which differ after every
// pass.
func body(text string) string {
	lines := slices.Collect(strings.Lines(text))
	return strings.Join(slices.DeleteFunc(lines, func(l string) bool {
		return strings.HasPrefix(l, "after ") || strings.HasPrefix(l, "props ")
	}), "")
}

// allocations returns how many objects the program has allocated so far.
func allocations() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:objects"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}
