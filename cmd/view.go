package cmd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/view"
)

type viewFlags struct {
	compileFlags
	after, out, trace string
}

func viewCommand() *cobra.Command {
	var f viewFlags
	cmd := &cobra.Command{
		Use:   "view [flags] model",
		Short: "write one HTML page: what every pass did, the plan, and why",
		Long: `view compiles a model and writes one HTML page: a summary, the text after every
pass with what it changed, and for each node everything that explain reports.
The page is one file that needs no network; a browser opens it. Its address can
name a node: plan.html#decode.v25`,
		Example: `  ggmlc view model.gguf -o plan.html
  ggmlc view dumps/12-assign.ggir -o plan.html
  ggmlc view model.gguf -o plan.html --trace trace.json   # what --profile wrote`,
		RunE: f.withModel(f.view),
	}
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.after, "after", "", "show the passes up to this one (default: the last)")
	fs.StringVarP(&f.out, "output", "o", "", "file (default: the model's name with .html; -: standard output)")
	fs.StringVar(&f.trace, "trace", "", "show also what was measured: the `FILE` of --profile or --timeline of a program with the same plan")
	complete(cmd, "after", passNames()...)
	return cmd
}

// view compiles the model and writes its page. Like explain it also shows plans that are refused.
func (f *viewFlags) view(ctx context.Context, cmd *cobra.Command, model string) error {
	if err := checkAfter(f.after); err != nil {
		return err
	}
	if f.out == "" {
		f.out = defaultOut(model) + ".html"
	}
	f.out = orStdout(f.out)
	if err := noClash([]namedPath{{"the trace", f.trace}}, outputs(namedPath{"-o", f.out})); err != nil {
		return err
	}
	trace, err := readTrace(f.trace)
	if err != nil {
		return err
	}
	f.plansOnly = true
	md, co, err := f.openFor(ctx, cmd, model, outputs(namedPath{"-o", f.out}))
	if err != nil {
		return err
	}
	defer md.Close()
	r := view.NewRecorder(md.Module)
	co.To, co.After = f.after, r.After
	_, planErr := driver.Compile(ctx, md, co)
	notes := refusal(md.Module, planErr)
	if planErr != nil && notes == nil {
		return fmt.Errorf("%s: %w", model, planErr)
	}
	var b bytes.Buffer
	err = view.Write(&b, md.Module, r, view.Options{Notes: notes, Trace: trace, Explain: explain.Options{
		Targets: co.Targets, Rules: co.Passes.Rules, Deny: co.Passes.Deny, MaxMemory: co.Passes.MaxMemory,
	}})
	if err != nil {
		return fmt.Errorf("%s: %w", f.trace, err)
	}
	if err := f.write(cmd.OutOrStdout(), b.Bytes()); err != nil || planErr == nil {
		return err
	}
	return fmt.Errorf("%s: %w", model, planErr)
}

// readTrace reads a trace; nil for no path.
func readTrace(path string) (*view.Trace, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	t, err := view.ReadTrace(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// write writes the page to the file of -o or to standard output.
func (f *viewFlags) write(w io.Writer, page []byte) error {
	if f.out != "" {
		return codegen.WriteFile(f.out, page)
	}
	_, err := w.Write(page)
	return err
}
