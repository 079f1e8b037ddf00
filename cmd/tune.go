package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/tune"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes/target"
)

// checkTune refuses --tune if nothing could be measured.
func (f *compileFlags) checkTune(l *target.List) error {
	if !f.tune {
		return nil
	}
	for variable, here := range map[string]string{"GOOS": goruntime.GOOS, "GOARCH": goruntime.GOARCH} {
		if asked := os.Getenv(variable); asked != "" && asked != here {
			return usagef("--tune measures this machine, and %s=%s asks for another: tune there, and give the file it writes to --target-file", variable, asked)
		}
	}
	if !slices.ContainsFunc(l.All(), isProcessor) {
		return usagef("--tune measures this machine's processor, and none of the backends %s is it: leave --tune out", l.Names())
	}
	return nil
}

func isProcessor(d *target.Descriptor) bool { return d.Kind == "cpu" }

// tuneTargets returns the backends with figures of the CPU that are measured for a model. They are also recorded in
// the dump's head, and in the file that writeTuned writes.
func (f *compileFlags) tuneTargets(ctx context.Context, cmd *cobra.Command, m *ir.Module, l *target.List) (*target.List, error) {
	p := newProgress(cmd.ErrOrStderr(), f.form(), progressFlags{})
	defer p.done()
	r, err := tune.Measure(ctx, m, f.cpu, p.line)
	if errors.Is(err, tune.ErrKernels) {
		return nil, usagef("--cpu %s: %v", strings.Join(f.cpu, ","), err)
	}
	if err != nil {
		return nil, err
	}
	var tuned []*target.Descriptor
	for _, d := range l.All() {
		d := *d
		if isProcessor(&d) {
			r.Apply(&d)
		}
		tuned = append(tuned, &d)
	}
	if l, err = target.NewList(tuned...); err != nil {
		return nil, err
	}
	f.tuned = "# written by ggmlc --tune: the backends of later builds on this machine, with --target-file\n" + r.Comments()
	for _, d := range l.All() {
		f.tuned += fmt.Sprintf("target %v\n", d)
	}
	return l, nil
}

// noteMeasured reports figures of a target file that were measured on another machine than the program's, or for
// other shapes than the model's. They are used nevertheless: the file may be right for the machine on which the
// program will run, and figures that are not measured are predicted.
func (f *compileFlags) noteMeasured(cmd *cobra.Command, m *ir.Module, l *target.List) {
	if f.targetFile == "" || f.tune {
		return
	}
	note := func(format string, args ...any) {
		notice(cmd.ErrOrStderr(), f.form(), "measured", "--target-file %s: %s", f.targetFile, fmt.Sprintf(format, args...))
	}
	for _, d := range l.All() {
		if why := f.otherMachine(d); why != "" {
			note("%s was measured on %s, and %s: its choices may be slow there", d.Name, d.Measured, why)
		}
		if missing := tune.Unmeasured(d, m); len(missing) > 0 {
			note("%s has no measurements of %s: their layouts are predicted; --tune measures this model", d.Name, listUses(missing))
		}
	}
}

// otherMachine describes how the machine of the program differs from the one on which a target's figures were
// measured. It returns "" if no difference is known.
func (f *compileFlags) otherMachine(d *target.Descriptor) string {
	if d.Measured == "" {
		return ""
	}
	goos, goarch := cmp.Or(os.Getenv("GOOS"), goruntime.GOOS), cmp.Or(os.Getenv("GOARCH"), goruntime.GOARCH)
	if here := goos + "/" + goarch; !strings.HasPrefix(d.Measured, here+"/") {
		return "the program is for " + here
	}
	kernels := tune.Kernels(f.cpu)
	if goos != goruntime.GOOS || goarch != goruntime.GOARCH || kernels == "" || d.Measured == tune.Machine(kernels) {
		return ""
	}
	return "here the program runs the kernels " + kernels
}

// mostUses is the most uses that a message names.
const mostUses = 3

func listUses(uses []target.LayoutUse) string {
	var names []string
	for _, u := range uses[:min(len(uses), mostUses)] {
		names = append(names, u.String())
	}
	if more := len(uses) - mostUses; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// tunedFile returns the file that keeps the measurements for an output, or "" without --tune.
func (f *compileFlags) tunedFile(out string) string {
	if !f.tune {
		return ""
	}
	return out + ".target"
}

// writeTuned writes the measurements.
func (f *compileFlags) writeTuned(cmd *cobra.Command, path string) error {
	if f.tuned == "" {
		return nil
	}
	if err := codegen.WriteFile(path, []byte(f.tuned)); err != nil {
		return fmt.Errorf("--tune: %w", err)
	}
	notice(cmd.ErrOrStderr(), f.form(), "tune", "the measurements are in %s: later builds use them with --target-file", path)
	return nil
}
