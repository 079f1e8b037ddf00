package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// recorded lists the flags that affect passes. The head of a dump records the flags of this list that were set, and the
// backends, so that compiling continues in the same way.
var recorded = []string{
	"rules", "pin", "deny", "max-memory", "pipeline", "plan-time", "ctx", "batch", "sequences", "kv", "quantize", "all-logits", "embeddings", "whole-cache", "device-top-k", "cpu", "allow-bf16", "disable", "profile", "observe", "group", "shard", "debug",
}

// open loads a model and returns it with the options for compiling it. They come from the flags, or from the head of
// a dump, which the flags must not contradict.
func (f *compileFlags) open(ctx context.Context, cmd *cobra.Command, path string) (*driver.Model, driver.CompileOptions, error) {
	if err := nameGiven(path); err != nil {
		return nil, driver.CompileOptions{}, err
	}
	lo, err := f.load(cmd)
	if err != nil {
		return nil, driver.CompileOptions{}, err
	}
	// Wrong flags are reported before the file is read.
	if _, err := f.compile(); err != nil {
		return nil, driver.CompileOptions{}, err
	}
	lo.WithoutWeights = f.plansOnly
	md, err := driver.Load(ctx, path, lo)
	if err != nil {
		return nil, driver.CompileOptions{}, err
	}
	if err := ineffective(cmd, path, md, lo.Sources); err != nil {
		md.Close()
		return nil, driver.CompileOptions{}, err
	}
	co, err := f.withHead(ctx, cmd, path, md.Module)
	if err != nil {
		md.Close()
		return nil, co, err
	}
	return md, co, nil
}

// ineffective refuses flags about a property of the model that its file has fixed.
func ineffective(cmd *cobra.Command, path string, md *driver.Model, sources map[string]string) error {
	text := !md.FromGGUF()
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		if !text || !slices.ContainsFunc(md.Module.Sources, func(s *ir.Source) bool { return s.Name == name }) {
			return usagef("--source %s: %s has no source of this name that could be replaced", name, path)
		}
	}
	for _, name := range []string{"ctx", "batch", "sequences", "kv", "quantize", "all-logits", "embeddings", "whole-cache", "device-top-k"} {
		recorded := slices.ContainsFunc(md.Module.GetHeaders("option"), func(o string) bool { return strings.HasPrefix(o, name+"=") })
		if text && cmd.Flags().Changed(name) && !recorded {
			return usagef("--%s: decided when the model file was imported, before %s was written: leave it out, or start from the model file", name, path)
		}
	}
	return nil
}

// openFor is open for a command that writes files. No output may be an input.
func (f *compileFlags) openFor(ctx context.Context, cmd *cobra.Command, path string, out []namedPath) (*driver.Model, driver.CompileOptions, error) {
	if err := noClash(f.inputs(path), out); err != nil {
		return nil, driver.CompileOptions{}, err
	}
	md, co, err := f.open(ctx, cmd, path)
	if err != nil {
		return nil, co, err
	}
	if err := noClash(sourceInputs(md), out); err != nil {
		md.Close()
		return nil, co, err
	}
	return md, co, nil
}

// withHead combines the flags with the module's head, and writes the head of a module that was just imported.
func (f *compileFlags) withHead(ctx context.Context, cmd *cobra.Command, path string, m *ir.Module) (driver.CompileOptions, error) {
	written := len(m.Headers) > 0
	if written && f.tune {
		return driver.CompileOptions{}, usagef("--tune: the backends are in the head of %s: leave it out, or start from the model file", path)
	}
	if written {
		if err := f.readHead(cmd, path, m); err != nil {
			return driver.CompileOptions{}, err
		}
	}
	co, err := f.compile()
	if err != nil && written {
		return co, headError(path, err) // the values of flags were checked before
	}
	co.Pinned = func(matches []driver.PinMatch) { notePins(cmd.ErrOrStderr(), f.form(), matches) }
	if f.stats != "" {
		co.Done = func(s *pass.Stats) error { return s.Write(cmd.ErrOrStderr(), f.stats) }
	}
	if err != nil || written {
		return co, err
	}
	if f.tune {
		if co.Targets, err = f.tuneTargets(ctx, cmd, m, co.Targets); err != nil {
			return co, err
		}
	}
	f.noteMeasured(cmd, m, co.Targets)
	for _, d := range co.Targets.All() {
		m.Headers = append(m.Headers, ir.Header{Key: "target", Text: strings.TrimPrefix(d.String(), "target ")})
	}
	f.eachRecorded(cmd, func(flag *pflag.Flag) {
		for _, value := range flagValues(flag) {
			m.Headers = append(m.Headers, ir.Header{Key: "option", Text: flag.Name + "=" + value})
		}
	})
	return co, nil
}

func (f *compileFlags) eachRecorded(cmd *cobra.Command, visit func(*pflag.Flag)) {
	for _, name := range recorded {
		if flag := cmd.Flags().Lookup(name); flag != nil && flag.Changed {
			visit(flag)
		}
	}
}

// flagValues returns the value of a flag, or several if it may be repeated. Of --debug it returns the settings that
// may change a plan.
func flagValues(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		if flag.Name == "debug" {
			return planSettings(list.GetSlice())
		}
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// planSettings returns the settings of --debug one by one. Settings that only observe are left out.
func planSettings(texts []string) []string {
	var plan []string
	for _, text := range texts {
		settings, _ := passes.ParseDebug(text) // compile reports errors in them
		for _, s := range settings {
			if s.Pass != "all" || s.Flag != "check" && s.Flag != "stats" {
				plan = append(plan, s.Pass+"/"+s.Flag+"="+s.Value)
			}
		}
	}
	return plan
}

// readHead sets the flags to the values in the dump's head.
func (f *compileFlags) readHead(cmd *cobra.Command, path string, m *ir.Module) error {
	options := make(map[string][]string)
	for _, text := range m.GetHeaders("option") {
		name, value, _ := strings.Cut(text, "=")
		if !slices.Contains(recorded, name) {
			return fmt.Errorf("%s: the head names the option %q, which does not exist: dump the model again", path, name)
		}
		options[name] = append(options[name], value)
	}
	if err := f.contradictions(cmd, path, options); err != nil {
		return err
	}
	for name, values := range options {
		flag := cmd.Flags().Lookup(name)
		if flag == nil { // a flag for reading models, which this command does not have
			continue
		}
		if flag.Changed && (name != "debug" || len(flagValues(flag)) > 0) {
			continue
		}
		for _, v := range values {
			if err := cmd.Flags().Set(name, v); err != nil {
				return fmt.Errorf("%s: the head's option %s=%s: %w", path, name, v, err)
			}
		}
	}
	return f.headTargets(cmd, path, m)
}

// contradictions reports flags whose values differ from those in the head.
func (f *compileFlags) contradictions(cmd *cobra.Command, path string, options map[string][]string) error {
	var err error
	f.eachRecorded(cmd, func(flag *pflag.Flag) {
		if flag.Name == "debug" && len(flagValues(flag)) == 0 {
			return // these only observe
		}
		if !slices.Equal(flagValues(flag), options[flag.Name]) && err == nil {
			err = usagef("--%s %v contradicts the head of %s, which has %v: leave the flag out, or start from the model file",
				flag.Name, flagValues(flag), path, options[flag.Name])
		}
	})
	return err
}

// headTargets uses the backends of the head.
func (f *compileFlags) headTargets(cmd *cobra.Command, path string, m *ir.Module) error {
	lines := m.GetHeaders("target")
	if len(lines) == 0 {
		return nil
	}
	list, err := parseTargets(lines)
	if err != nil {
		return headError(path, err)
	}
	if cmd.Flags().Changed("targets") || cmd.Flags().Changed("target-file") {
		asked, err := f.targetList()
		if err != nil {
			return usageError{err}
		}
		if targetText(asked) != targetText(list) {
			return usagef("the selected backends are not those in the head of %s: leave --targets and --target-file out, or start from the model file", path)
		}
	}
	f.head = list
	return nil
}

func parseTargets(lines []string) (*target.List, error) {
	var ds []*target.Descriptor
	var errs []error
	for _, line := range lines {
		d, err := target.ParseDescriptor(line)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		ds = append(ds, d)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return target.NewList(ds...)
}

// headError returns the error for a wrong head of a text. It does not wrap err: an error that is wrong usage on the
// command line is none in a file.
func headError(path string, err error) error {
	lines := strings.Split(err.Error(), "\n")
	errs := make([]error, len(lines))
	for i, line := range lines {
		errs[i] = fmt.Errorf("%s: the head: %s", path, line)
	}
	return &driver.TextError{File: path, Err: errors.Join(errs...)}
}

// blame converts an error about the backends to one about the text if they are defined in its head.
func (f *compileFlags) blame(path string, err error) error {
	var unfit *codegen.TargetError
	if f.head != nil && errors.As(err, &unfit) {
		return headError(path, unfit)
	}
	return err
}

func targetText(l *target.List) string {
	var b strings.Builder
	for _, d := range l.All() {
		fmt.Fprintln(&b, d)
	}
	return b.String()
}

// targetList returns the backends that the flags select.
func (f *compileFlags) targetList() (*target.List, error) {
	if f.targetFile == "" {
		names, err := f.expandGroup(f.targets)
		if err != nil {
			return nil, err
		}
		return target.Select(names)
	}
	if err := f.readTargets(); err != nil {
		return nil, fmt.Errorf("--target-file %s: %w", f.targetFile, err)
	}
	l, err := target.Parse(f.targetFile, f.targetText)
	if err != nil || f.group == "" {
		return l, err
	}
	g, err := pass.ParseGroup(f.group)
	if err == nil && l.Get(g.Name) != nil {
		err = errGroupName(f.group, g.Name)
	}
	return l, err
}

// errGroupName is the error for a group with the name of a target.
func errGroupName(group, name string) error {
	return fmt.Errorf("--group %s: there is a target %s already: choose another name", group, name)
}

// expandGroup replaces the name of the group in a list of targets by its members.
func (f *compileFlags) expandGroup(targets string) (string, error) {
	if f.group == "" {
		return targets, nil
	}
	g, err := pass.ParseGroup(f.group)
	if err != nil {
		return "", err
	}
	if _, err := target.New(g.Name); err == nil {
		return "", errGroupName(f.group, g.Name)
	}
	names := strings.Split(targets, ",")
	for i := range names {
		names[i] = strings.TrimSpace(names[i])
	}
	at := slices.Index(names, g.Name)
	if at < 0 {
		return targets, nil
	}
	for _, name := range slices.Concat(names[:at], names[at+1:]) {
		switch {
		case name == g.Name:
			return "", fmt.Errorf("--targets %s: the group %s is listed twice: name it once", targets, g.Name)
		case slices.Contains(g.Members, name):
			return "", fmt.Errorf("--targets %s: %s is in the group %s: name either the group or its members", targets, name, g.Name)
		}
	}
	return strings.Join(slices.Concat(names[:at], g.Members, names[at+1:]), ","), nil
}

// readTargets reads the target file, once.
func (f *compileFlags) readTargets() (err error) {
	if f.targetFile != "" && f.targetText == "" {
		f.targetText, err = readTargetFile(f.targetFile)
	}
	return err
}

// maxTargetFile is the largest size of target files in bytes. Thousands of targets fit; a model or an endless device
// named by mistake does not.
const maxTargetFile = 1 << 20

func readTargetFile(path string) (string, error) {
	r, err := os.Open(path)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxTargetFile+1))
	switch {
	case err != nil:
		return "", errors.Unwrap(err)
	case len(text) > maxTargetFile || slices.Contains(text, 0):
		return "", errors.New("this is no target file: ggmlc targets prints one")
	}
	return string(text), nil
}
