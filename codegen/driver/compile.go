package driver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/ggmlc/ggmlc/codegen/backend"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// CompileOptions describe how a module is planned.
type CompileOptions struct {
	Targets *target.List
	Passes  pass.Options
	After   func(passes.Step, *ir.Module) error // called after each pass
	Done    func(*pass.Stats) error             // called after the last pass
	Pinned  func([]PinMatch)                    // called when pins have put nodes on backends
	Repro   string                              // folder for modules that break a pass

	// To and Before stop after or before a pass; empty: at the end. Run, if not nil, names
	// exactly the passes to run instead.
	To, Before string
	Run        []string
}

// OptionError reports options that name something unknown, or that contradict the module.
type OptionError struct{ Err error }

func (e *OptionError) Error() string { return e.Err.Error() }
func (e *OptionError) Unwrap() error { return e.Err }

func optionf(format string, args ...any) error { return &OptionError{fmt.Errorf(format, args...)} }

// Compile runs the passes that have not yet run on the model's module.
func Compile(ctx context.Context, md *Model, o CompileOptions) (*pass.Stats, error) {
	if err := backend.Err(); err != nil {
		return nil, err
	}
	if err := checkOptions(ctx, o); err != nil {
		return nil, err
	}
	if err := checkRange(md, o); err != nil {
		return nil, err
	}
	if err := canObserve(md.Module, o); err != nil {
		return nil, err
	}
	if err := checkText(md.Module, o); err != nil {
		return nil, err
	}
	if slices.Contains(o.Passes.Deny, o.Targets.Last().Name) {
		if err := denyLast(ctx, md.Module, o); err != nil {
			return nil, err
		}
	}
	md.targets = o.Targets
	if o.Run == nil && md.Module.Props&ir.PropAssigned == 0 {
		convertFormats(md.Module, o.Targets)
	}
	distrust(md.Module)
	came := md.Module.Props
	pins := &pinWatch{pins: o.Passes.Pins}
	stats, err := passes.Run(ctx, md.Module, passes.RunOptions{Targets: o.Targets, Options: o.Passes,
		To: o.To, Before: o.Before, Passes: o.Run, Each: pins.after, After: o.After, ReproDir: o.Repro})
	if err != nil {
		return stats, refuted(overridden(err, o), came)
	}
	if err := pins.unused(); err != nil {
		return stats, err
	}
	if err := observesAny(md.Module, o); err != nil {
		return stats, err
	}
	if o.Pinned != nil && len(pins.matches) > 0 {
		o.Pinned(pins.matches)
	}
	if o.Done == nil {
		return stats, nil
	}
	return stats, o.Done(stats)
}

// overridden makes an error about nodes that no target runs one about the options --shard, if there are any: a node
// that targets run whole may need kernels that they do not have once it is divided. It names the first node.
func overridden(err error, o CompileOptions) error {
	var none *pass.NoTargetError
	if len(o.Passes.Shard) == 0 || !errors.As(err, &none) {
		return err
	}
	var given []string
	for _, r := range o.Passes.Shard {
		given = append(given, "--shard "+r.String())
	}
	return optionf("%s: no backend has kernels for what this needs: choose another state, or leave it out: %w", strings.Join(given, ", "),
		pass.WithRefusals(none, none.Refusals))
}

// checkOptions reports what the options name and there is not. A run of no passes looks at
// them all.
func checkOptions(ctx context.Context, o CompileOptions) error {
	_, err := passes.Run(ctx, &ir.Module{}, passes.RunOptions{Targets: o.Targets, Options: o.Passes, Passes: []string{}})
	if err = errors.Join(err, checkBudgets(o)); err != nil {
		return &OptionError{err}
	}
	return nil
}

// checkBudgets refuses limits of backends and spaces that there are not: they would never
// fail a build.
func checkBudgets(o CompileOptions) error {
	var errs []error
	for name := range o.Passes.MaxMemory {
		known := func(d *target.Descriptor) bool { return d.Name == name || slices.Contains(d.Spaces, name) }
		if !slices.ContainsFunc(o.Targets.All(), known) {
			errs = append(errs, fmt.Errorf("max-memory %s: no backend and no memory space has this name: there are %s", name, spaceNames(o.Targets)))
		}
	}
	return errors.Join(errs...)
}

// spaceNames returns the names that a limit may have.
func spaceNames(l *target.List) string {
	names := []string{}
	for _, d := range l.All() {
		names = append(names, d.Name)
		names = append(names, d.Spaces...)
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ", ")
}

// checkRange refuses to stop at a pass that has run on the module already.
func checkRange(md *Model, o CompileOptions) error {
	if o.Run != nil {
		return nil
	}
	index := func(name string) int {
		return slices.IndexFunc(passes.Passes(), func(p pass.Pass) bool { return p.Name == name })
	}
	last := index(md.Module.Last)
	if i := index(o.To); i >= 0 && i < last || o.Before != "" && index(o.Before) <= last {
		return optionf("pass %s%s has run on it already: the last was %s; start from an earlier dump", o.To, o.Before, md.Module.Last)
	}
	return nil
}

// DeniedError reports that a denied backend is needed.
type DeniedError struct {
	Backend string
	Nodes   []string // nodes that no other backend runs, each with the reasons
}

// maxDenied is how many nodes the text of a DeniedError names.
const maxDenied = 20

// Error names nodes and reasons.
func (e *DeniedError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "deny %s: %d nodes need it: choose other targets, or allow it", e.Backend, len(e.Nodes))
	for i, n := range e.Nodes {
		if i == maxDenied {
			fmt.Fprintf(&b, "\n  and %d more", len(e.Nodes)-i)
			break
		}
		b.WriteString("\n  " + n)
	}
	return b.String()
}

// Budget reports that a limit of the user's is not met.
func (e *DeniedError) Budget() bool { return true }

// denyLast assigns backends to a copy of the module and fails if the last target, which
// runs what no other does, has something to run. In a module whose nodes have backends, what
// passes have added since is not counted: hand-outs of observed values, and copies for them.
func denyLast(ctx context.Context, m *ir.Module, o CompileOptions) error {
	trial := m.Clone()
	assigned := m.Props&ir.PropAssigned != 0
	if !assigned {
		_, err := passes.Run(ctx, trial, passes.RunOptions{Targets: o.Targets, Options: o.Passes, To: "unfuse"})
		if err != nil {
			return overridden(err, o)
		}
	}
	last := o.Targets.Last().Name
	e := &DeniedError{Backend: last}
	for _, f := range trial.AllFuncs() {
		for _, n := range f.Nodes {
			added := assigned && (n.Op == ir.OpObserve || n.Op == ir.OpCopy)
			if n.Backend == last && !added && n.Traits()&(ir.HasBody|ir.Leaf|ir.View) == 0 {
				e.Nodes = append(e.Nodes, fmt.Sprintf("@%s %v = %v%s: %s", f.Name, n, n.Op, at(n), refusals(o, n)))
			}
		}
	}
	if len(e.Nodes) > 0 {
		return e
	}
	return nil
}

// at returns the text for where in the model file n comes from.
func at(n *ir.Node) string {
	if n.Pos == "" {
		return ""
	}
	return " of " + n.Pos
}

// refusals returns the reasons why no other backend runs n.
func refusals(o CompileOptions, n *ir.Node) string {
	var why []string
	for _, t := range o.Targets.All() {
		if t == o.Targets.Last() {
			continue
		}
		if slices.Contains(o.Passes.Deny, t.Name) {
			why = append(why, t.Name+" is denied")
		} else if ok, reason := t.Supports(n); !ok {
			why = append(why, reason)
		} else {
			why = append(why, t.Name+" was not chosen")
		}
	}
	if len(why) == 0 {
		return "there is no other backend"
	}
	return strings.Join(why, "; ")
}
