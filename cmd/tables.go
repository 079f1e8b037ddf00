package cmd

import (
	"bufio"
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

func passesCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "passes",
		Short: "list the passes, their rules, and the reasons for their order",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 8, 2, ' ', 0)
			for i, p := range passes.Passes() {
				kind := "optional"
				if p.Required {
					kind = "required"
				}
				fmt.Fprintf(w, "%02d\t%s\t%s\t%s\n", i+1, p.Name, kind, p.Doc)
				for _, r := range p.Rules {
					fmt.Fprintf(w, "\t  %s\t\t%s\n", r.Name, r.Doc)
				}
			}
			fmt.Fprintln(w, "\norder:")
			for _, c := range passes.Constraints() {
				fmt.Fprintf(w, "%s\tbefore %s\t\t%s\n", c.Before, c.After, c.Why)
			}
			return w.Flush()
		},
	}
}

func targetsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "targets",
		Short: "list the built-in backends as the text that --target-file reads",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := bufio.NewWriter(cmd.OutOrStdout()) // keeps the first error
			for _, d := range target.Builtins() {
				fmt.Fprintf(w, "# %s\ntarget %s\n", d.Doc, d)
			}
			fmt.Fprintln(w, "\n# fields:")
			for _, f := range target.Fields() {
				fmt.Fprintf(w, "#   %-14s %s\n", f.Name, f.Doc)
			}
			return w.Flush()
		},
	}
}

func opsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "ops",
		Short: "list the ops: operands and meaning",
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			w := bufio.NewWriter(cmd.OutOrStdout())
			for op := range ir.Ops {
				info := op.Info()
				fmt.Fprintf(w, "%s(%s)\n    %s\n", info.Name, argNames(info), info.Doc)
			}
			return w.Flush()
		},
	}
}

func argNames(info *ir.OpInfo) string {
	s := ""
	for i, a := range info.Args {
		if i > 0 {
			s += ", "
		}
		s += a.Name
		switch {
		case a.Variadic:
			s += "..."
		case a.Optional:
			s += "?"
		}
	}
	return s
}
