package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen/driver"
)

// buildFlags holds the flags of build, including those of compiling.
type buildFlags struct {
	compileFlags
	progressFlags
	out, metafile, weights string
	goos, goarch           string // empty: this machine's
	tags                   []string
	race                   bool
	fallback               string // target
	forRun                 bool   // the executable goes into the user's cache, for run
}

func buildCommand() *cobra.Command {
	var f buildFlags
	cmd := &cobra.Command{
		Use:   "build [flags] model",
		Short: "compile a model into one static executable",
		Example: `  ggmlc build model.gguf -o story
  ggmlc build model.gguf -o story --quantize Q8_0 --ctx 2048
  GOOS=windows GOARCH=amd64 ggmlc build model.gguf -o story.exe`,
		RunE: f.withModel(func(ctx context.Context, cmd *cobra.Command, model string) error {
			if err := errors.Join(isFile("-o", f.out), isFile("--metafile", f.metafile), isFile("--weights", f.weights)); err != nil {
				return err
			}
			f.goos, f.goarch = os.Getenv("GOOS"), os.Getenv("GOARCH")
			if err := f.checkKernels(); err != nil {
				return err
			}
			return f.build(ctx, cmd, model)
		}),
	}
	f.register(cmd)
	f.registerFallback(cmd)
	f.registerGrammar(cmd)
	f.registerProgress(cmd, &f.quiet)
	fs := cmd.Flags()
	fs.StringVarP(&f.out, "output", "o", "", "path of the executable (default: the model's name)")
	fs.StringVar(&f.metafile, "metafile", "", "write sizes, splits, kernels and hashes to this JSON file")
	fs.StringVar(&f.weights, "weights", "", "keep the weights in this file beside the executable")
	fs.StringSliceVar(&f.tags, "tags", nil, "Go build tags, such as purego")
	fs.BoolVar(&f.race, "race", false, "build with Go's race detector (needs cgo)")
	return cmd
}

// checkKernels refuses --cpu if the program has none of these kernels.
func (f *buildFlags) checkKernels() error {
	arch := cmp.Or(f.goarch, runtime.GOARCH)
	pure := slices.Contains(f.tags, "purego")
	if len(f.cpu) == 0 || slices.Contains(f.cpu, "generic") || arch == "amd64" && !pure {
		return nil
	}
	kind := "for " + arch
	if pure {
		kind = "with the build tag purego"
	}
	return usagef("--cpu %s: programs %s have only the kernels generic: add that, or leave --cpu out", strings.Join(f.cpu, ","), kind)
}

// registerFallback adds the flag of commands that make a whole program.
func (f *buildFlags) registerFallback(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.fallback, "fallback", "", "plan also for this `BACKEND` alone, the last one: the program runs that where it cannot open the others")
}

// build compiles the model and writes the executable.
func (f *buildFlags) build(ctx context.Context, cmd *cobra.Command, model string) error {
	if f.out == "" {
		f.out = defaultOut(model)
		if cmp.Or(f.goos, runtime.GOOS) == "windows" {
			f.out += ".exe"
		}
	}
	begun := time.Now()
	p, err := f.newProgress(cmd)
	if err != nil {
		return err
	}
	defer p.done()
	out := outputs(namedPath{"-o", f.out}, namedPath{"--metafile", f.metafile}, namedPath{"--weights", f.weights}, namedPath{"--tune", f.tunedFile(f.out)})
	md, co, err := f.openFor(ctx, cmd, model, out)
	if err != nil {
		return err
	}
	defer md.Close()
	if err := f.follow(cmd.ErrOrStderr(), f.form(), md); err != nil {
		return err
	}
	co.After = p.after
	second, err := f.compileFallback(ctx, md, co)
	if err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if _, err := driver.Compile(ctx, md, co); err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	var result driver.Result
	err = f.blame(model, driver.Build(ctx, md, driver.OutputOptions{
		Compiler: "ggmlc " + exactVersion(), Out: f.out, Metafile: f.metafile, WeightsFile: f.weights, CPU: f.cpu, Profile: f.profile,
		GOOS: cmp.Or(f.goos, runtime.GOOS), GOARCH: cmp.Or(f.goarch, runtime.GOARCH), Tags: f.tags, Race: f.race,
		Progress: p.bytes, Fallback: second, Building: p.building, Done: func(r driver.Result) { result = r },
	}))
	if err != nil {
		return err
	}
	noteTargets(cmd.ErrOrStderr(), f.form(), md.Module, co.Targets)
	if err := errors.Join(noteExpanded(cmd.ErrOrStderr(), f.form(), md), noteModel(cmd.ErrOrStderr(), f.form(), model, md)); err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if err := f.writeTuned(cmd, f.tunedFile(f.out)); err != nil {
		return err
	}
	if f.forRun { // the output is that of the program
		p.finishCached(result, time.Since(begun))
		return nil
	}
	return p.finish(cmd.OutOrStdout(), f.form(), result, time.Since(begun))
}

// newProgress returns the progress that the flags ask for.
func (f *buildFlags) newProgress(cmd *cobra.Command) (*progress, error) {
	form := f.form()
	if err := f.checkProgress(form); err != nil {
		return nil, err
	}
	return newProgress(cmd.ErrOrStderr(), form, f.progressFlags), nil
}

// compileFallback compiles a copy of the model for the fallback; nil if none is wanted.
func (f *buildFlags) compileFallback(ctx context.Context, md *driver.Model, co driver.CompileOptions) (*driver.Model, error) {
	if f.fallback == "" {
		return nil, nil
	}
	second, o, err := md.Fallback(f.fallback, co)
	if err != nil {
		return nil, err
	}
	_, err = driver.Compile(ctx, second, o)
	return second, err
}
