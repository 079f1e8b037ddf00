package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

func genCommand() *cobra.Command {
	var f compileFlags
	var out, pkg, weights string
	var check bool
	cmd := &cobra.Command{
		Use:   "gen [flags] model -o dir --package name",
		Short: "compile a model into a typed Go package",
		Long: `gen writes a Go package that computes the model: Open, sessions, and a typed method for
each function. With the code comes model.ggir, from which --check recompiles without
the weights.`,
		Example: `  //go:generate go tool ggmlc gen model.gguf -o story --package story
  ggmlc gen -o story --check`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			if check && len(args) == 0 {
				args = []string{filepath.Join(out, driver.ModelText)} // the package contains its model
			}
			model, err := modelArg(cmd, args)
			if err != nil {
				return err
			}
			if out == "" {
				return usagef("gen writes a folder: name it with -o")
			}
			if err := errors.Join(isFile("-o", out), isFile("--weights", weights)); err != nil {
				return err
			}
			if pkg == "" && !check { // a package that is checked has a name already
				pkg = defaultPackage(out)
			}
			if pkg != "" || !check {
				if err := codegen.CheckPackageName(pkg); err != nil {
					return usagef("--package %w", err)
				}
			}
			if check && weights != "" {
				return usagef("--weights %s: the package records where its weights are: leave it out with --check", weights)
			}
			o := driver.OutputOptions{Compiler: "ggmlc " + version(), Out: out, Package: pkg, WeightsFile: weights}
			if file, err := f.grammarFile(); err != nil || file != "" && check {
				return cmp.Or(err, usagef("--check: the package has its grammar: leave --grammar and --json-schema out"))
			}
			if check {
				return f.check(cmd.Context(), cmd, model, o)
			}
			return f.gen(cmd.Context(), cmd, model, o)
		},
	}
	f.register(cmd)
	f.registerGrammar(cmd)
	fs := cmd.Flags()
	fs.StringVarP(&out, "output", "o", "", "folder of the package")
	fs.StringVar(&pkg, "package", "", "name of the package (default: the folder's)")
	fs.StringVar(&weights, "weights", "", "write the weights to this file instead of embedding them (always above 64 MiB)")
	fs.BoolVar(&check, "check", false, "recompile from DIR/model.ggir and fail with a diff if the package is stale")
	return cmd
}

func (f *compileFlags) gen(ctx context.Context, cmd *cobra.Command, model string, o driver.OutputOptions) error {
	p := newProgress(cmd.ErrOrStderr(), f.form())
	defer p.done()
	o.Progress = p.bytes
	md, co, err := f.openFor(ctx, cmd, model, outputs(namedPath{"-o", filepath.Join(o.Out, driver.ModelText)},
		namedPath{"-o", filepath.Join(o.Out, driver.WeightsBlob)}, namedPath{"--weights", o.WeightsFile},
		namedPath{"--tune", f.tunedFile(filepath.Join(o.Out, "cpu"))}))
	if err != nil {
		return err
	}
	defer md.Close()
	if err := f.follow(cmd.ErrOrStderr(), f.form(), md); err != nil {
		return err
	}
	co.After, o.CPU, o.Profile = p.after, f.cpu, f.profile
	if err := f.blame(model, driver.Gen(ctx, md, co, o)); err != nil {
		return err
	}
	noteSimulated(cmd.ErrOrStderr(), f.form(), md.Module, co.Targets)
	if err := errors.Join(noteExpanded(cmd.ErrOrStderr(), f.form(), md), noteModel(cmd.ErrOrStderr(), f.form(), model, md)); err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	return f.writeTuned(cmd, f.tunedFile(filepath.Join(o.Out, "cpu")))
}

// check recompiles a package from its own model.ggir. If the command line names a model, that file only has to exist,
// so that a wrong name is reported.
func (f *compileFlags) check(ctx context.Context, cmd *cobra.Command, model string, o driver.OutputOptions) error {
	p := newProgress(cmd.ErrOrStderr(), f.form())
	defer p.done()
	o.Progress = p.bytes
	if _, err := os.Stat(model); err != nil {
		return &codegen.FileError{File: model, Err: errors.Unwrap(err)}
	}
	f.plansOnly = true
	md, co, err := f.open(ctx, cmd, filepath.Join(o.Out, driver.ModelText))
	if err != nil {
		return err
	}
	defer md.Close()
	co.Pinned = nil // matches of pins were reported when the package was written
	o.CPU, o.Profile = f.cpu, f.profile
	diff, err := driver.Check(ctx, md, co, o)
	if err != nil {
		return err
	}
	if diff == "" {
		return nil
	}
	diff = strings.ReplaceAll(diff, "\u00a0", " ") // go-cmp sometimes indents with these
	fmt.Fprint(cmd.OutOrStdout(), printable.Text(diff))
	return &staleError{o.Out}
}

// staleError means that a generated package differs from what its model.ggir gives.
type staleError struct{ dir string }

func (e *staleError) Error() string {
	return e.dir + ": the package is stale: run go generate again"
}

func defaultPackage(dir string) string { return defaultOut(dir) }
