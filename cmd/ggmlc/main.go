// Command ggmlc compiles models into static executables and Go packages.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/passes"
)

// Exit statuses; see DESIGN.md, "Command line".
const (
	exitModel  = 1 // the model, the source or the surroundings are wrong, or --check differs
	exitUsage  = 2 // flags, pins, target files
	exitBudget = 3 // a budget is not met
	exitBug    = 4 // a bug of ours
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is main with everything that it touches as parameters; it returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	var status *programStatus
	if errors.As(err, &status) {
		return status.code // the program that was run has said what is wrong
	}
	fmt.Fprintf(stderr, "ggmlc: %v\n", err)
	return exitStatus(err)
}

// newRoot returns the command with all its subcommands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "ggmlc",
		Short: "compile models into static executables and Go packages",
		Long: `ggmlc compiles a model into one static executable, or into a typed Go package.
Everything about the execution is planned before it runs, and every plan can be read.`,
		Example: `  ggmlc run -- --prompt "One day"      the demo model
  ggmlc build model.gguf -o story      one static executable
  ggmlc gen model.gguf -o story --package story
  ggmlc dump model.gguf --after plan   what was decided`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q: see ggmlc --help", args[0])
			}
			return cmd.Help()
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	for _, c := range []func() *cobra.Command{
		runCommand, buildCommand, genCommand, dumpCommand, optCommand, inspectCommand,
		passesCommand, targetsCommand, opsCommand, versionCommand,
	} {
		root.AddCommand(c())
	}
	return root
}

// noArgs is cobra.NoArgs with this command's exit status.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usagef("%s takes no arguments: see ggmlc %s --help", cmd.Name(), cmd.Name())
	}
	return nil
}

// usageError marks an error as wrong usage.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// budgetError is what errors of budgets that are not met implement.
type budgetError interface{ Budget() bool }

// exitStatus maps an error to the exit status of the process.
func exitStatus(err error) int {
	var usage usageError
	var internal *passes.InternalError
	var budget budgetError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &internal):
		return exitBug
	case errors.As(err, &budget):
		return exitBudget
	}
	return exitModel
}
