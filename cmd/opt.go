package cmd

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen/driver"
)

func optCommand() *cobra.Command {
	var f dumpFlags
	var names string
	cmd := &cobra.Command{
		Use:   "opt [flags] --passes a,b x.ggir",
		Short: "run exactly these passes on a .ggir text and print the result",
		Long: `opt reads a .ggir text, such as ggmlc dump writes, runs exactly the passes of
--passes on it, in their order there, and prints the result. Without passes it
checks the text and prints it. A pass whose turn it is not, as it needs what
passes before it decide or would undo what passes after it have decided, is
refused.`,
		Example: `  ggmlc dump model.gguf --before split -o x.ggir
  ggmlc opt --passes split,copy x.ggir`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			if len(args) != 1 {
				return usagef("opt needs one .ggir text: see ggmlc opt --help")
			}
			return f.opt(cmd.Context(), cmd, args[0], names)
		},
	}
	f.registerPasses(cmd)
	fs := cmd.Flags()
	fs.StringVar(&names, "passes", "", "passes to run, in this order, separated by commas")
	f.registerPrint(cmd, "file (default, or -: standard output)")
	completeList(cmd, "passes", passNames()...)
	return cmd
}

func (f *dumpFlags) opt(ctx context.Context, cmd *cobra.Command, path, names string) error {
	f.out = orStdout(f.out)
	if err := nameGiven(path); err != nil {
		return err
	}
	if err := f.check(); err != nil {
		return err
	}
	todo, err := passList(names)
	if err != nil {
		return err
	}
	if err := noClash(f.inputs(path), f.outputs()); err != nil {
		return err
	}
	if _, err := f.compile(); err != nil {
		return err
	}
	m, err := driver.ReadText(path)
	if err != nil {
		return err
	}
	co, err := f.withHead(ctx, cmd, path, m)
	if err != nil {
		return err
	}
	co.Run = todo
	if _, err := driver.Compile(ctx, &driver.Model{Path: path, Module: m}, co); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.write(cmd.OutOrStdout(), m)
}

// passList returns the passes of a comma-separated list, which may be empty.
func passList(names string) ([]string, error) {
	list := []string{}
	if names == "" {
		return list, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		if name == "" {
			return nil, usagef("--passes %s: there is a comma without a pass", names)
		}
		if err := checkPass(name); err != nil {
			return nil, err
		}
		list = append(list, name)
	}
	return list, nil
}
