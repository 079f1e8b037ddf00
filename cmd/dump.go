package cmd

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
)

// imported is the value of --after for a module on which no pass has run.
const imported = "import"

type dumpFlags struct {
	compileFlags
	function, after, before, show, format, out string
	all, kernels                               bool
	kernelForms                                []string
}

func dumpCommand() *cobra.Command {
	var f dumpFlags
	cmd := &cobra.Command{
		Use:   "dump [flags] model",
		Short: "print what passes have decided; every whole dump is an input",
		Example: `  ggmlc dump model.gguf --after assign
  ggmlc dump model.gguf --func decode --show type,partition
  ggmlc dump model.gguf --func '@decode split 3' --show backend,why
  ggmlc dump model.gguf --all -o dumps
  ggmlc dump model.gguf --kernels --targets vulkan,cpu --rules ggml-2026
  ggmlc build dumps/12-assign.ggir -o story`,
		RunE: f.withModel(f.dump),
	}
	f.register(cmd)
	fs := cmd.Flags()
	f.registerPrint(cmd, "file, or folder with --all or --kernels (default, or -: standard output)")
	fs.StringVar(&f.after, "after", "", "stop after this pass (default: the last)")
	fs.StringVar(&f.before, "before", "", "stop before this pass")
	fs.BoolVar(&f.all, "all", false, "a file for every pass, and index.tsv, into the folder of -o")
	fs.BoolVar(&f.kernels, "kernels", false, "print each kernel for GPUs, with the nodes that it computes; with -o into a folder")
	fs.StringSliceVar(&f.kernelForms, "kernel-form", nil, "with --kernels: "+strings.Join(kernelFormNames(), ", ")+" (default: all)")
	complete(cmd, "after", append([]string{imported}, passNames()...)...)
	complete(cmd, "before", passNames()...)
	completeList(cmd, "kernel-form", kernelFormNames()...)
	return cmd
}

// registerPrint adds the flags of commands that print modules.
func (f *dumpFlags) registerPrint(cmd *cobra.Command, output string) {
	fs := cmd.Flags()
	fs.StringVar(&f.function, "func", "", "print only this function, or of it the split that a label of an error or timeline names: '@decode split 3'")
	fs.StringVar(&f.show, "show", "", showUsage())
	fs.StringVar(&f.format, "format", "text", "text, json or dot")
	fs.StringVarP(&f.out, "output", "o", "", output)
	completeBy(cmd, "func", completeFunctions)
	completeList(cmd, "show", append(strings.Split(ir.ShowNames, ","), "all")...)
	complete(cmd, "format", formats...)
}

func (f *dumpFlags) dump(ctx context.Context, cmd *cobra.Command, model string) error {
	f.out = orStdout(f.out)
	if err := f.check(); err != nil {
		return err
	}
	f.plansOnly = true
	md, co, err := f.openFor(ctx, cmd, model, f.outputs())
	if err != nil {
		return err
	}
	defer md.Close()
	switch {
	case f.all:
		return f.dumpAll(ctx, md, co)
	case f.kernels:
		return f.dumpKernels(ctx, cmd.OutOrStdout(), md, co)
	}
	co.To, co.Before = f.after, f.before
	if f.after == imported {
		if last := md.Module.Last; last != imported && last != "" { // "": written by hand
			return usagef("%s: passes have run on it already: the last was %s", model, md.Module.Last)
		}
		co.To, co.Run = "", []string{}
	}
	if _, err := driver.Compile(ctx, md, co); err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if f.out != "" {
		if err := driver.RelativeSources(md, filepath.Dir(f.out)); err != nil {
			return err
		}
	}
	return f.write(cmd.OutOrStdout(), md.Module)
}

// check refuses flags that contradict each other.
func (f *dumpFlags) check() error {
	for _, pass := range []string{f.after, f.before} {
		if pass == "" || pass == imported {
			continue
		}
		if err := checkPass(pass); err != nil {
			return err
		}
	}
	if _, err := printOptions(f.show); err != nil {
		return err
	}
	if err := f.checkKernels(); err != nil {
		return err
	}
	switch {
	case !slices.Contains(formats, f.format):
		return usagef("--format %s: choose one of %s", value(f.format), strings.Join(formats, ", "))
	case f.show != "" && f.format != "text":
		return usagef("--show chooses columns of the text: leave it out with --format %s", f.format)
	case f.before == imported:
		return usagef("--before %s: nothing comes before it", imported)
	case f.all && f.format != "text":
		return usagef("--all writes texts, which are inputs: leave out --format")
	case f.after != "" && f.before != "":
		return usagef("--after and --before exclude each other")
	case f.all && (f.after != "" || f.before != "" || f.function != "" || f.show != ""):
		return usagef("--all dumps every pass whole: leave out --after, --before, --func and --show")
	case f.all && f.out == "":
		return usagef("--all writes a folder: name it with -o")
	}
	return nil
}

// outputs returns the files that dump or opt would replace. For --all these are the dumps in the folder. The names of
// those of --kernels are not known yet, and they are no models.
func (f *dumpFlags) outputs() []namedPath {
	if f.kernels {
		return nil
	}
	if !f.all {
		return outputs(namedPath{"-o", f.out})
	}
	old, err := filepath.Glob(filepath.Join(f.out, "[0-9][0-9]-*.ggir"))
	if err != nil { // the folder's name is not a valid pattern
		return nil
	}
	var out []namedPath
	for _, path := range old {
		out = append(out, namedPath{"--all", path})
	}
	return out
}

func (f *dumpFlags) dumpAll(ctx context.Context, md *driver.Model, co driver.CompileOptions) error {
	d, err := passes.NewDumper(f.out, codegen.WriteFile)
	if err != nil {
		return err
	}
	if err := driver.RelativeSources(md, f.out); err != nil {
		return err
	}
	if err := d.Import(md.Module); err != nil {
		return err
	}
	co.After = d.After
	if _, err := driver.Compile(ctx, md, co); err != nil {
		return fmt.Errorf("%s: %w", md.Path, err)
	}
	return d.Close()
}

// write prints the module in the chosen format to the file of -o or to standard output.
func (f *dumpFlags) write(w io.Writer, m *ir.Module) error {
	var b bytes.Buffer
	if err := render(&b, m, f.format, f.function, f.show); err != nil {
		return err
	}
	if f.out != "" {
		return codegen.WriteFile(f.out, b.Bytes())
	}
	_, err := w.Write(b.Bytes())
	return err
}
