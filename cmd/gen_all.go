package cmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
)

// all writes or checks the packages of a configuration. It continues after one that fails, so that all errors are seen.
func (f *genFlags) all(cmd *cobra.Command, args []string) error {
	path := f.config
	if path == "" {
		path = configName
		if !exists(path) {
			return usagef("gen needs a model, a GGUF file or a .ggir text, or a %s in this folder: see ggmlc gen --help", configName)
		}
	}
	if err := f.onlyReports(cmd, path, args); err != nil {
		return err
	}
	c, err := readPackages(path)
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range c.entries {
		errs = append(errs, f.each(cmd, c, e))
		if cmd.Context().Err() != nil {
			break // interrupted, which is among the errors
		}
	}
	return errors.Join(errs...)
}

// onlyReports refuses arguments beside a configuration that it has itself.
func (f *genFlags) onlyReports(cmd *cobra.Command, path string, args []string) error {
	if len(args) > 0 {
		return usagef("%s lists the models: leave %s or --config out", path, args[0])
	}
	var err error
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if !slices.Contains(perCommand, flag.Name) && err == nil {
			err = usagef("--%s: %s has the flags of packages: write it there, or name a model", flag.Name, path)
		}
	})
	return err
}

// each writes or checks one package.
func (f *genFlags) each(cmd *cobra.Command, c *config, e *entry) error {
	g := e.flags
	g.json, g.quiet, g.stats, g.progressFlags, g.isCheck = f.json, f.quiet, f.stats, f.progressFlags, f.isCheck
	e.cmd.SetContext(cmd.Context())
	e.cmd.SetOut(cmd.OutOrStdout())
	e.cmd.SetErr(cmd.ErrOrStderr())
	if f.isCheck {
		return f.checkEntry(cmd, c, e)
	}
	return c.blame(e, g.one(e.cmd, []string{e.model}))
}

// blame adds the place of a package to an error about its flags.
func (c *config) blame(e *entry, err error) error {
	if isA[usageError](err) {
		return c.errorf(e.at, "%w", err)
	}
	if !isA[*driver.OptionError](err) {
		return err
	}
	var errs []error // of their type only the text is kept: reports leave out what is before it
	for line := range strings.SplitSeq(err.Error(), "\n") {
		errs = append(errs, c.errorf(e.at, "%s", line))
	}
	return errors.Join(errs...)
}

// checkEntry compares a package with its entry, and with what the compiler makes of its model.ggir.
func (f *genFlags) checkEntry(cmd *cobra.Command, c *config, e *entry) error {
	text := filepath.Join(e.flags.out, driver.ModelText)
	if !exists(text) {
		return &staleError{e.flags.out, "there is no " + text + ": run ggmlc gen"}
	}
	head, err := c.headDiff(e, text)
	if err != nil {
		return err
	}
	if head != "" {
		fmt.Fprint(cmd.OutOrStdout(), head)
		return &staleError{e.flags.out, c.jsonReader.path + " asks for other options: run ggmlc gen again"}
	}
	sub, g := newGen()
	g.json, g.quiet, g.stats, g.progressFlags, g.isCheck = f.json, f.quiet, f.stats, f.progressFlags, true
	g.out, g.pkg = e.flags.out, e.flags.pkg
	sub.SetContext(cmd.Context())
	sub.SetOut(cmd.OutOrStdout())
	sub.SetErr(cmd.ErrOrStderr())
	var stale *staleError
	if err = g.one(sub, nil); errors.As(err, &stale) {
		stale.advice = "run ggmlc gen again"
	}
	return err
}

// headDiff returns how the recorded options of a package differ from those of its entry, as a unified diff. The text of
// a module may have options of its own, so that only packages of model files are compared.
func (c *config) headDiff(e *entry, path string) (string, error) {
	if filepath.Ext(e.model) == ".ggir" {
		return "", nil
	}
	m, err := driver.ReadText(path)
	if err != nil {
		return "", err
	}
	var want, have []string
	e.flags.eachRecorded(e.cmd, func(flag *pflag.Flag) {
		for _, value := range flagValues(flag) {
			want = append(want, flag.Name+" = "+value)
		}
	})
	for _, option := range m.GetHeaders("option") {
		name, value, _ := strings.Cut(option, "=")
		have = append(have, name+" = "+value)
	}
	if e.flags.tune { // its measurements differ each time
		return driver.UnifiedDiff(path, c.jsonReader.path, lines(have), lines(want)), nil
	}
	list, err := e.flags.targetList()
	if err != nil {
		return "", c.errorf(e.at, "%w", usageError{err})
	}
	for _, d := range list.All() {
		want = append(want, "target "+strings.TrimPrefix(d.String(), "target "))
	}
	for _, t := range m.GetHeaders("target") {
		have = append(have, "target "+t)
	}
	want, have = append(want, modelLine(e.model)), append(have, sourceLine(path, m))
	return driver.UnifiedDiff(path, c.jsonReader.path, lines(have), lines(want)), nil
}

// modelLine names the model of an entry by its absolute path.
func modelLine(path string) string { return "model = " + resolved(path) }

// sourceLine names the model that a package was made from.
func sourceLine(text string, m *ir.Module) string {
	var paths []string
	for _, s := range m.Sources {
		path := filepath.FromSlash(s.Path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(text), path)
		}
		paths = append(paths, resolved(path))
	}
	return "model = " + strings.Join(paths, ", ")
}

// lines joins lines to a text.
func lines(list []string) []byte { return []byte(strings.Join(list, "\n") + "\n") }
