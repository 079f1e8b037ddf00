package cmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ggmlc/ggmlc/passes/explain"
	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/runtime/printable"
)

type explainFlags struct {
	compileFlags
	after string
}

func explainCommand() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain [flags] model [node]",
		Short: "explain where a node runs and why, or what decides the plan",
		Long: `explain compiles a model and describes in words what was decided, why, and what
it costs.

With a node it says where the node runs, what was tried and refused, which
copies it causes, and who has its bytes before and after. A node is named by its
value (v25, or decode.v25), by a tensor (blk.3.ffn_up.weight), a state, or a
position in the model file (blk.3.ffn); * matches any text (blk.*.ffn). A
split is named as errors and timelines name it. Of many nodes there is a list.

Without one it states how long a call is predicted to take and how good the
assignment is, and sums up splits, copies, memory, barriers and the most
expensive decisions.`,
		Example: `  ggmlc explain model.gguf
  ggmlc explain model.gguf blk.3.ffn_up.weight
  ggmlc explain model.gguf '@prefill split 3[l=2]'
  ggmlc explain plan.ggir v25 --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			if len(args) < 1 || len(args) > 2 {
				return usagef("explain needs a model, and optionally the name of a node: see ggmlc explain --help")
			}
			return f.explain(cmd.Context(), cmd, args[0], append(args, "")[1])
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.after, "after", "", "explain what is decided after this pass (default: the last)")
	cmd.Flags().Lookup("json").Usage = "one JSON document; diagnostics as one object a line"
	complete(cmd, "after", passNames()...)
	cmd.ValidArgsFunction = completeNode
	return cmd
}

func (f *explainFlags) explain(ctx context.Context, cmd *cobra.Command, model, node string) error {
	if err := checkAfter(f.after); err != nil {
		return err
	}
	f.plansOnly = true
	md, co, err := f.open(ctx, cmd, model)
	if err != nil {
		return err
	}
	defer md.Close()
	co.To = f.after
	_, planErr := driver.Compile(ctx, md, co)
	notes := refusal(md.Module, planErr)
	if planErr != nil && notes == nil {
		return fmt.Errorf("%s: %w", model, planErr)
	}
	doc, err := explain.Explain(md.Module, explain.Options{Targets: co.Targets, Rules: co.Passes.Rules, Deny: co.Passes.Deny, MaxMemory: co.Passes.MaxMemory, Node: node})
	if err != nil {
		return usageError{err}
	}
	doc.Notes = append(doc.Notes, notes...)
	if err := f.write(cmd.OutOrStdout(), doc); err != nil || planErr == nil {
		return err
	}
	return fmt.Errorf("%s: %w", model, planErr)
}

// checkAfter refuses an --after that names no pass.
func checkAfter(pass string) error {
	switch pass {
	case "":
		return nil
	case imported:
		return usagef("--after %s: nothing is decided before the first pass: name a pass, such as assign; ggmlc passes lists them", imported)
	}
	return checkPass(pass)
}

// write prints an explanation. Its names are those of the model and need not be printable.
func (f *explainFlags) write(w io.Writer, doc *explain.Explanations) error {
	var b bytes.Buffer
	write, escape := doc.WriteText, func(text []byte) []byte { return []byte(wrap(printable.Text(string(text)), columns, "")) }
	if f.json {
		write, escape = doc.WriteJSON, printable.JSON
	}
	if err := write(&b); err != nil {
		return err
	}
	_, err := w.Write(escape(b.Bytes()))
	return err
}

// refusal returns notes about why a plan is refused that can still be explained: one that ggml's rules decide
// wrongly, or one that needs too much memory. The command fails nevertheless, as every other one does with such a
// plan. refusal returns nil if there is no error, or if nothing can be explained.
func refusal(m *ir.Module, err error) []string {
	var rules *pass.RulesError
	var budget *pass.BudgetError
	switch {
	case errors.As(err, &rules):
		return []string{"this plan must not run: " + err.Error()}
	case errors.As(err, &budget) && m.Plan != nil:
		return []string{"this plan is refused: " + err.Error()}
	}
	return nil
}
