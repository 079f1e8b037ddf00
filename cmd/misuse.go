package cmd

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/ir/spell"
	"github.com/ggmlc/ggmlc/passes"
)

// misusedFlag describes what is wrong with a flag and what to do. It replaces cobra's texts, which name functions of
// Go.
func misusedFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		name := unknown.GetSpecifiedName()
		return usagef("unknown flag: --%s:%s see %s --help", name, flagHint(cmd, name), cmd.CommandPath())
	case errors.As(err, &invalid):
		return usagef("--%s %s: %s", invalid.GetFlag().Name, value(invalid.GetValue()), wanted(invalid))
	}
	return usagef("%w: see %s --help", err, cmd.CommandPath())
}

// flagHint returns " did you mean --NAME?" with the flag of the nearest name; see [spell.Hint].
func flagHint(cmd *cobra.Command, name string) string {
	var names []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	if near := spell.Near(name, names); near != "" {
		return " did you mean --" + near + "?"
	}
	return ""
}

// wanted describes valid values of a flag.
func wanted(err *pflag.InvalidValueError) string {
	switch err.GetFlag().Value.Type() {
	case "int":
		return "write a whole number"
	case "bool":
		return "write true or false"
	case "duration":
		return "write a time with its unit, such as 500ms or 10s"
	}
	return err.Unwrap().Error()
}

// value returns the value of a flag for messages: in quotes if it is empty.
func value(text string) string { return cmp.Or(text, `""`) }

// unknownCommand returns the error for an unknown command.
func unknownCommand(root *cobra.Command, name string) error {
	var names []string
	for _, c := range root.Commands() {
		names = append(names, c.Name())
	}
	return usagef("there is no command %q:%s see ggmlc --help", name, spell.Hint(name, names))
}

// helpCommand is cobra's help, except that it fails for unknown commands.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [command]",
		Short: "describe a command and its flags",
		RunE: func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(root, args[len(args)-max(len(rest), 1)])
			}
			cmd.InitDefaultHelpFlag()
			return cmd.Help()
		},
	}
}

// checkPass refuses an unknown pass.
func checkPass(name string) error {
	if passes.Find(name) == nil {
		return usageError{passes.UnknownPass(name)}
	}
	return nil
}

// positive refuses a size that is given and not positive: 0 does not mean the default.
func positive(cmd *cobra.Command, name string, value int) error {
	if cmd.Flags().Changed(name) && value < 1 {
		return fmt.Errorf("--%s %d: it must be at least 1: leave the flag out for the default", name, value)
	}
	return nil
}
