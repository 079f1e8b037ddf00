package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/passes/diff"
	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/view"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

type diffFlags struct {
	compileFlags
	out  string
	with []string
}

func diffCommand() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff [flags] A [B]",
		Short: "print what differs between two plans: figures and decisions",
		Long: `diff compiles two models, or one under two sets of flags, and prints which
figures and decisions differ. Flags are for both; those of --with are for the
second alone, in place of the same flags for both. Without B the second is A
again. With -o it writes an HTML page, with both texts.`,
		Example: `  ggmlc diff model.gguf --with rules=ggml-2026 --targets vulkan,cpu
  ggmlc diff model.gguf --with 'pin=blk\.0\.=fake' --targets fake,cpu
  ggmlc diff old.ggir new.ggir`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			switch {
			case len(args) < 1 || len(args) > 2:
				return usagef("diff needs a model, or two: see ggmlc diff --help")
			case len(args) == 1 && len(f.with) == 0:
				return usagef("diff %s: name a second model, or flags for the second plan with --with", value(args[0]))
			}
			return f.diff(cmd.Context(), cmd, args[0], args[len(args)-1])
		},
	}
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringArrayVar(&f.with, "with", nil, "`FLAG=VALUE` for the second plan, such as rules=ggml-2026")
	fs.StringVarP(&f.out, "output", "o", "", "write an HTML page to this file")
	fs.Lookup("json").Usage = "one JSON document; diagnostics as one object a line"
	return cmd
}

// side is one of the plans that diff compares.
type side struct {
	plan diff.Plan
	err  error // why it is refused; nil if it is not
}

func (f *diffFlags) diff(ctx context.Context, cmd *cobra.Command, a, b string) error {
	if err := isFile("-o", f.out); err != nil {
		return err
	}
	second, err := f.second(cmd)
	if err != nil {
		return err
	}
	out := outputs(namedPath{"-o", f.out})
	first, err := f.side(ctx, cmd, a, out)
	if err != nil {
		return err
	}
	other, err := second.flags.side(ctx, second.cmd, b, out)
	if err != nil {
		return err
	}
	d := diff.Compare(first.plan, other.plan)
	if err := f.write(cmd.OutOrStdout(), d, first.plan, other.plan); err != nil {
		return err
	}
	return errors.Join(first.err, other.err)
}

// secondFlags are the flags of the second plan. They belong to a command of their own.
type secondFlags struct {
	flags compileFlags
	cmd   *cobra.Command
}

// second returns the flags of the second plan: those of the first one, with those of --with in their place.
func (f *diffFlags) second(cmd *cobra.Command) (*secondFlags, error) {
	s := &secondFlags{cmd: &cobra.Command{Use: cmd.Use}}
	s.flags.register(s.cmd)
	s.cmd.SetOut(cmd.OutOrStdout())
	s.cmd.SetErr(cmd.ErrOrStderr())
	replaced, err := f.replaced(s.cmd)
	if err != nil {
		return nil, err
	}
	var errs []error
	set := func(name, value string) {
		if err := s.cmd.Flags().Set(name, value); err != nil {
			errs = append(errs, usagef("--with: %v", err))
		}
	}
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		if s.cmd.Flags().Lookup(flag.Name) == nil || replaced[flag.Name] != nil {
			return
		}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			for _, v := range list.GetSlice() {
				set(flag.Name, v)
			}
			return
		}
		set(flag.Name, flag.Value.String())
	})
	for name, values := range replaced {
		for _, v := range values {
			set(name, v)
		}
	}
	if err := s.cmd.PreRunE(s.cmd, nil); err != nil {
		errs = append(errs, err)
	}
	return s, errors.Join(errs...)
}

// replaced returns the values of --with by their flags, which second must have.
func (f *diffFlags) replaced(second *cobra.Command) (map[string][]string, error) {
	values := make(map[string][]string)
	for _, text := range f.with {
		name, value, ok := strings.Cut(strings.TrimPrefix(text, "--"), "=")
		if !ok {
			value = "true"
		}
		if second.Flags().Lookup(name) == nil || name == "json" {
			return nil, usagef("--with %s: there is no flag for compiling of this name: write FLAG=VALUE", printable.Line(text))
		}
		values[name] = append(values[name], value)
	}
	return values, nil
}

// side compiles one of the models.
func (f *compileFlags) side(ctx context.Context, cmd *cobra.Command, model string, out []namedPath) (*side, error) {
	f.plansOnly = true
	md, co, err := f.openFor(ctx, cmd, model, out)
	if err != nil {
		return nil, err
	}
	defer md.Close()
	_, planErr := driver.Compile(ctx, md, co)
	notes := refusal(md.Module, planErr)
	if planErr != nil {
		planErr = fmt.Errorf("%s: %w", model, planErr)
		if notes == nil {
			return nil, planErr
		}
	}
	return &side{diff.Plan{Name: model, Module: md.Module, Notes: notes, Explain: explain.Options{
		Targets: co.Targets, Rules: co.Passes.Rules, Deny: co.Passes.Deny, MaxMemory: co.Passes.MaxMemory,
	}}, planErr}, nil
}

// write prints the difference, and writes the page of -o.
func (f *diffFlags) write(w io.Writer, d *diff.Difference, a, b diff.Plan) error {
	var text bytes.Buffer
	write, escape := d.WriteText, func(text []byte) []byte { return []byte(wrap(printable.Text(string(text)), columns, "")) }
	if f.json {
		write, escape = d.WriteJSON, printable.JSON
	}
	if err := write(&text); err != nil {
		return err
	}
	if _, err := w.Write(escape(text.Bytes())); err != nil || f.out == "" {
		return err
	}
	var page bytes.Buffer
	if err := view.WriteDiff(&page, d, a, b); err != nil {
		return err
	}
	return codegen.WriteFile(f.out, page.Bytes())
}
