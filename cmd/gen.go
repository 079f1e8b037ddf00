package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

// genFlags holds the flags of gen, including those of compiling.
type genFlags struct {
	compileFlags
	progressFlags
	out, pkg, weights string
	isCheck           bool
	config            string // the file of several models; empty: configName, if there is neither model nor folder
}

func genCommand() *cobra.Command {
	cmd, _ := newGen()
	return cmd
}

// newGen returns the command and its flags.
func newGen() (*cobra.Command, *genFlags) {
	f := &genFlags{}
	cmd := &cobra.Command{
		Use:   "gen [flags] model -o dir --package name",
		Short: "compile a model into a typed Go package",
		Long: `gen writes a Go package that computes the model: Open, sessions, and a typed
method for each function. With the code comes model.ggir, from which --check
recompiles without the weights. Without a model it reads ggmlc.json, which lists
several models with their flags, and writes or checks all of their packages
(docs/howto/packages.md).`,
		Example: `  //go:generate go tool ggmlc gen model.gguf -o story --package story
  ggmlc gen -o story --check
  ggmlc gen                            # all packages of ./ggmlc.json
  ggmlc gen --check --config models/ggmlc.json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			if f.config != "" || len(args) == 0 && f.out == "" {
				return f.all(cmd, args)
			}
			return f.one(cmd, args)
		},
	}
	f.register(cmd)
	f.registerGrammar(cmd)
	f.registerProgress(cmd, &f.quiet)
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "output", "o", "", "folder of the package")
	fs.StringVar(&f.pkg, "package", "", "name of the package (default: the folder's)")
	fs.StringVar(&f.weights, "weights", "", "write the weights to this file instead of embedding them (always above 64 MiB)")
	fs.BoolVar(&f.isCheck, "check", false, "recompile from DIR/model.ggir and fail with a diff if the package is stale")
	fs.StringVar(&f.config, "config", "", "write or check the packages that this `FILE` lists (default: ./ggmlc.json, if there is neither model nor -o)")
	return cmd, f
}

// one writes or checks one package.
func (f *genFlags) one(cmd *cobra.Command, args []string) error {
	if f.isCheck && len(args) == 0 {
		args = []string{filepath.Join(f.out, driver.ModelText)} // the package contains its model
	}
	model, err := modelArg(cmd, args)
	if err != nil {
		return err
	}
	o, err := f.output()
	if err != nil {
		return err
	}
	if file, err := f.grammarFile(); err != nil || file != "" && f.isCheck {
		return cmp.Or(err, usagef("--check: the package has its grammar: leave --grammar and --json-schema out"))
	}
	if f.isCheck {
		return f.check(cmd.Context(), cmd, model, o)
	}
	return f.gen(cmd.Context(), cmd, model, o)
}

// output checks the flags that select what is written.
func (f *genFlags) output() (driver.OutputOptions, error) {
	var o driver.OutputOptions
	if f.out == "" {
		return o, usagef("gen writes a folder: name it with -o")
	}
	if err := errors.Join(isFile("-o", f.out), isFile("--weights", f.weights)); err != nil {
		return o, err
	}
	if f.pkg == "" && !f.isCheck { // a package that is checked has a name already
		f.pkg = defaultPackage(f.out)
	}
	if f.pkg != "" || !f.isCheck {
		if err := codegen.CheckPackageName(f.pkg); err != nil {
			return o, usagef("--package %w", err)
		}
	}
	if f.isCheck && f.weights != "" {
		return o, usagef("--weights %s: the package records where its weights are: leave it out with --check", f.weights)
	}
	return driver.OutputOptions{Compiler: "ggmlc " + version(), Out: f.out, Package: f.pkg, WeightsFile: f.weights}, nil
}

// newProgress returns the progress that the flags ask for.
func (f *genFlags) newProgress(cmd *cobra.Command) (*progress, error) {
	if err := f.checkProgress(f.form()); err != nil {
		return nil, err
	}
	return newProgress(cmd.ErrOrStderr(), f.form(), f.progressFlags), nil
}

func (f *genFlags) gen(ctx context.Context, cmd *cobra.Command, model string, o driver.OutputOptions) error {
	begun := time.Now()
	p, err := f.newProgress(cmd)
	if err != nil {
		return err
	}
	defer p.done()
	var result driver.Result
	o.Progress, o.Done = p.bytes, func(r driver.Result) { result = r }
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
	p.done()
	noteTargets(cmd.ErrOrStderr(), f.form(), md.Module, co.Targets)
	if err := errors.Join(noteExpanded(cmd.ErrOrStderr(), f.form(), md), noteModel(cmd.ErrOrStderr(), f.form(), model, md)); err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if f.weights == "" && result.WeightsFile != "" {
		notice(cmd.ErrOrStderr(), f.form(), "weights-file", "%s: %s of weights, too many for Go code, which embeds up to 64 MiB: "+
			"ship this file beside the program, or name it in Options.Weights",
			result.WeightsFile, ir.BytesText(result.WeightsBytes))
	}
	if err := f.writeTuned(cmd, f.tunedFile(filepath.Join(o.Out, "cpu"))); err != nil {
		return err
	}
	return p.finish(cmd.OutOrStdout(), f.form(), result, time.Since(begun))
}

// check recompiles a package from its own model.ggir. If the command line names a model, that file only has to exist,
// so that a wrong name is reported.
func (f *genFlags) check(ctx context.Context, cmd *cobra.Command, model string, o driver.OutputOptions) error {
	p, err := f.newProgress(cmd)
	if err != nil {
		return err
	}
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
	if err != nil || diff == "" {
		return err
	}
	fmt.Fprint(cmd.OutOrStdout(), printable.Text(diff))
	return &staleError{o.Out, "run go generate again"}
}

// staleError means that a generated package differs from what its model.ggir gives, or from its configuration.
type staleError struct{ dir, advice string }

func (e *staleError) Error() string { return e.dir + ": the package is stale: " + e.advice }

func defaultPackage(dir string) string { return defaultOut(dir) }
