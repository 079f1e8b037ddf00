// Package cmd is the command ggmlc: its subcommands and flags, what they print, such as dumps with the legend of their
// rules, exit statuses, and the cache of builds. Command cmd/ggmlc calls Main. Another module that brings backends has a command of its own, which imports them and calls Main too.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/ggmlc/ggmlc/codegen/backend"
)

// Main runs ggmlc with the arguments of the process, and ends the process.
func Main() {
	collectLess()
	signals := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signals = append(signals, syscall.SIGHUP)
	}
	ctx, stop := signal.NotifyContext(context.Background(), signals...)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// collectLess lets the heap grow to three times what is live before it is collected, unless GOGC says otherwise. The
// live heap of a compile is small, and most of what a pass allocates is garbage when it ends.
func collectLess() {
	const percent = 200
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// run is Main with its environment as parameters. It returns the exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(helpWidth(stdout))
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	if err := backend.Err(); err != nil {
		report(stderr, err, formOf(root, args))
		return exitStatus(err)
	}
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	var status *programStatus
	if errors.As(err, &status) {
		return status.code // the program has reported its error
	}
	report(stderr, err, formOf(cmd, args))
	return exitStatus(err)
}

// formOf returns the form of errors that --json selects for the command that ran. Where a flag before it is wrong, it
// was not parsed.
func formOf(cmd *cobra.Command, args []string) outputForm {
	f := cmd.Flags().Lookup("json")
	if f == nil {
		return asText
	}
	written := slices.Contains(beforeDashes(args), "--json") && !f.Changed
	return formFor(written || f.Value.String() == "true")
}

// beforeDashes returns the arguments before "--".
func beforeDashes(args []string) []string {
	if i := slices.Index(args, "--"); i >= 0 {
		return args[:i]
	}
	return args
}

// newRoot returns the command with all its subcommands. Help is wrapped to so many columns; 0: it is not.
func newRoot(width int) *cobra.Command {
	root := &cobra.Command{
		Use:   "ggmlc",
		Short: "compile models into static executables and Go packages",
		Long: `ggmlc compiles a model into one static executable, or into a typed Go package.
Everything about the execution is planned before it runs, and every plan can be
read.`,
		Example: `  ggmlc run -- --prompt "One day"      the demo model
  ggmlc build model.gguf -o story      one static executable
  ggmlc gen model.gguf -o story        a Go package
  ggmlc inspect model.gguf             what is in the file
  ggmlc explain model.gguf             what was decided, and why
  ggmlc targets > machine.targets      backends as text, to be changed for
  ggmlc view model.gguf --target-file machine.targets -o plan.html`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetFlagErrorFunc(misusedFlag)
	root.SetHelpCommand(helpCommand(root))
	cobra.EnableCommandSorting = false
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", fmt.Sprint(".FlagUsagesWrapped ", width)))
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, c := range g.commands {
			cmd := c()
			cmd.GroupID = g.title
			root.AddCommand(cmd)
		}
	}
	return root
}

// groups are the commands in the order of their help: what most users need first.
var groups = []struct {
	title    string
	commands []func() *cobra.Command
}{
	{"Make programs", []func() *cobra.Command{runCommand, buildCommand, genCommand, cacheCommand}},
	{"See what was decided, and why", []func() *cobra.Command{inspectCommand, explainCommand, viewCommand, dumpCommand, diffCommand, compareCommand, tokenizeCommand}},
	{"Work with passes", []func() *cobra.Command{optCommand, packCommand}},
	{"List what there is", []func() *cobra.Command{targetsCommand, devicesCommand, passesCommand, opsCommand, versionCommand}},
}

// helpWidth returns the columns to which help is wrapped: those of a terminal; 0, no wrapping, elsewhere.
func helpWidth(w io.Writer) int {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return 0
	}
	columns, _, err := term.GetSize(int(file.Fd()))
	if err != nil {
		return 0
	}
	return columns
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
