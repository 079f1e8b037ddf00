package cmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/compare"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/passes/pass"
)

// compareFlags holds the flags of compare.
type compareFlags struct {
	compileFlags
	with           string
	prompt, tokens string
	n              int
	tolerance      float64
}

// withDefinition is the --with that names no program.
const withDefinition = "eval"

func compareCommand() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare [flags] model --with TARGETS|FLAGS|eval [call FUNC name=x.npy …]",
		Short: "compare the values of two plans, or of a plan and its definition",
		Long: `compare compiles a model, runs it, and compares the values of all nodes with
those of another run on the same inputs:

  --with cpu             another list of targets, without the pins
  --with "--kv f32"      other flags of the compiler, in addition to those given
  --with eval            the file's graph in float64, without --quantize

The inputs are a prompt, or those of a function. The result is a table of
distances. The status is 1 if a value differs by more than its tolerance; the
first one is named, with the element that differs most.`,
		Example: `  ggmlc compare model.gguf --with eval --prompt "One day"
  ggmlc compare model.gguf --targets vulkan,cpu --with cpu --tokens 1,2,3
  ggmlc compare model.gguf --with "--quantize q8_0" --tokens 1 --tolerance 1e-3
  ggmlc compare mlp.ggir --with eval call forward x=x.npy`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.debugHelp(cmd.OutOrStdout()) {
				return nil
			}
			program, err := f.programArgs(cmd, args)
			if err != nil {
				return err
			}
			return f.compare(cmd.Context(), cmd, args[0], program)
		},
	}
	f.register(cmd)
	fs := cmd.Flags()
	fs.StringVar(&f.with, "with", "", "what to compare with: `TARGETS`, flags of the compiler in one argument, or eval")
	fs.StringVar(&f.prompt, "prompt", "", "the `TEXT` that both sides get")
	fs.StringVar(&f.tokens, "tokens", "", "the token `IDS` that both sides get, such as 1,2,3")
	fs.IntVarP(&f.n, "n", "n", 1, "tokens to generate: each one but the first is a step")
	fs.Float64Var(&f.tolerance, "tolerance", -1, "allow this `NMSE` for all values (default: what follows from the ops)")
	fs.Lookup("observe").Usage = "compare only values whose name or position matches `REGEX`"
	fs.Lookup("tolerance").DefValue = "0"
	return cmd
}

// programArgs returns the arguments of the programs that are compared.
func (f *compareFlags) programArgs(cmd *cobra.Command, args []string) ([]string, error) {
	call := len(args) > 1
	prompt, tokens := cmd.Flags().Changed("prompt"), cmd.Flags().Changed("tokens")
	switch {
	case len(args) == 0:
		return nil, usagef("compare needs one model, a GGUF file or a .ggir text: see ggmlc compare --help")
	case f.with == "":
		return nil, usagef("--with is missing: name other targets, other flags in one argument, or eval")
	case call && (args[1] != "call" || len(args) < 3):
		return nil, usagef("unexpected argument %q: after the model, write call FUNC name=x.npy …, or nothing", args[1])
	case call && (prompt || tokens):
		return nil, usagef("--prompt and --tokens are no inputs of call: leave them out")
	case call:
		return args[1:], nil
	case prompt == tokens:
		return nil, usagef("the inputs: give either --prompt TEXT or --tokens IDS, or call FUNC name=x.npy … after the model")
	case f.n < 1:
		return nil, usagef("-n %d: at least one token", f.n)
	case !(f.tolerance >= 0) && cmd.Flags().Changed("tolerance"):
		return nil, usagef("--tolerance %v: it must be a number that is not negative", f.tolerance)
	case tokens:
		return []string{"--tokens", f.tokens, "-n", strconv.Itoa(f.n), "--temp", "0", "--ignore-eos"}, nil
	}
	return []string{"--prompt", f.prompt, "-n", strconv.Itoa(f.n), "--temp", "0", "--ignore-eos"}, nil
}

// compare compiles, runs and compares.
func (f *compareFlags) compare(ctx context.Context, cmd *cobra.Command, model string, args []string) error {
	f.observe = cmp.Or(f.observe, ".")
	second, err := f.second(cmd)
	if err != nil {
		return err
	}
	dir, err := codegen.TempFolder("ggmlc-compare-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	imported, err := f.imported(ctx, cmd, model)
	if err != nil {
		return err
	}
	defer imported.Close()
	a, co, err := f.side(ctx, cmd, model, filepath.Join(dir, "a"), args)
	if err != nil {
		return err
	}
	o := compare.Options{Nodes: imported.Module, Tolerance: f.tolerance, Wanted: func(n *ir.Node) bool { return pass.Observes(co.Passes.Observe, n) }}
	var rows []compare.Row
	other := "the definition"
	if second == nil {
		rows, err = compare.WithDefinition(ctx, a, compare.Definition{Module: imported.Module, Sources: imported}, o)
	} else {
		var b *compare.Program
		if b, _, err = second.flags.side(ctx, second.cmd, model, filepath.Join(dir, "b"), args); err != nil {
			return err
		}
		a.Name, b.Name, other = "first", "second", "the second"
		rows, err = compare.With(a, b, o)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", model, err)
	}
	if err := compare.Print(cmd.OutOrStdout(), rows); err != nil {
		return err
	}
	if r := compare.First(rows); r != nil {
		return &differError{model, other, r}
	}
	if !slices.ContainsFunc(rows, func(r compare.Row) bool { return r.Missing == "" }) {
		return fmt.Errorf("%s: nothing was compared: no value is there on both sides under one name; the table says why", model)
	}
	return nil
}

// imported loads the graph that defines what the model computes: that of its file, with the weights as they are there.
func (f *compareFlags) imported(ctx context.Context, cmd *cobra.Command, model string) (*driver.Model, error) {
	if err := nameGiven(model); err != nil {
		return nil, err
	}
	lo, err := f.load(cmd)
	if err != nil {
		return nil, err
	}
	lo.Quantize = dtype.Invalid
	return driver.Load(ctx, model, lo)
}

// side compiles and runs one side. dir is a new folder for its files.
func (f *compareFlags) side(ctx context.Context, cmd *cobra.Command, model, dir string, args []string) (*compare.Program, driver.CompileOptions, error) {
	md, co, err := f.open(ctx, cmd, model)
	if err != nil {
		return nil, co, err
	}
	defer md.Close()
	co.Passes.Disable = append(slices.Clone(co.Passes.Disable), "roll") // each layer has nodes of its own, which name its values
	if _, err := driver.Compile(ctx, md, co); err != nil {
		return nil, co, fmt.Errorf("%s: %w", model, err)
	}
	if rolled(md.Module) {
		return nil, co, usagef("%s: pass roll has run on this module already, and nodes are compared layer by layer: start from an earlier dump", model)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, co, err
	}
	exe := filepath.Join(dir, strings.TrimLeft(defaultOut(model), "-."))
	if runtime.GOOS == "windows" {
		exe += ".exe"
	}
	err = f.blame(model, driver.Build(ctx, md, driver.OutputOptions{
		Compiler: "ggmlc " + exactVersion(), Out: exe, CPU: f.cpu, GOOS: runtime.GOOS, GOARCH: runtime.GOARCH}))
	if err != nil {
		return nil, co, err
	}
	steps := filepath.Join(dir, "steps")
	if err := runObserved(cmd, exe, steps, args); err != nil {
		return nil, co, err
	}
	p := &compare.Program{Name: "the program", Module: md.Module}
	if g := co.Passes.Group; g != nil {
		p.Devices = g.Members
	}
	p.Steps, err = compare.ReadSteps(steps)
	return p, co, err
}

// runObserved runs a program, without its text and its summary.
func runObserved(cmd *cobra.Command, exe, steps string, args []string) error {
	args = append(slices.Clone(args), "--observe-to", steps)
	if args[0] == "call" {
		args = append(args, "-o", steps+"-out")
	}
	var errs strings.Builder
	quiet := &cobra.Command{}
	quiet.SetContext(cmd.Context())
	quiet.SetIn(strings.NewReader(""))
	quiet.SetErr(&errs)
	err := runProgram(quiet, nil, exe, args)
	if err != nil {
		fmt.Fprint(cmd.ErrOrStderr(), errs.String())
	}
	return err
}

// otherSide is the flags of the second program.
type otherSide struct {
	flags *compareFlags
	cmd   *cobra.Command
}

// second returns the flags of the second program: those of the first, changed by --with. It is nil for the definition.
func (f *compareFlags) second(cmd *cobra.Command) (*otherSide, error) {
	if f.with == withDefinition {
		return nil, nil
	}
	s := &otherSide{flags: &compareFlags{}, cmd: &cobra.Command{Use: "compare"}}
	s.flags.register(s.cmd)
	s.cmd.SetContext(cmd.Context())
	s.cmd.SetOut(cmd.OutOrStdout())
	s.cmd.SetErr(cmd.ErrOrStderr())
	words := []string{"--targets", f.with}
	if strings.HasPrefix(f.with, "-") {
		words = strings.Fields(f.with)
	}
	if err := s.cmd.Flags().Parse(words); err != nil {
		return nil, usagef("--with %s: %w", f.with, err)
	}
	if s.cmd.Flags().NArg() > 0 {
		return nil, usagef("--with %s: %s is no flag: write flags of the compiler in one argument, such as --with \"--kv f32\"", f.with, s.cmd.Flags().Arg(0))
	}
	var errs []error
	given := s.cmd.Flags().Changed
	cmd.Flags().Visit(func(flag *pflag.Flag) {
		to := s.cmd.Flags().Lookup(flag.Name)
		if to == nil || given(flag.Name) || slices.Contains(aboutBackends, flag.Name) && (given("targets") || given("target-file")) {
			return
		}
		for _, v := range flagTexts(flag) {
			errs = append(errs, s.cmd.Flags().Set(flag.Name, v))
		}
	})
	s.flags.observe = f.observe
	return s, errors.Join(errs...)
}

// aboutBackends are flags that the second program does not take over if it has other backends.
var aboutBackends = []string{"targets", "target-file", "pin", "deny", "max-memory", "group", "shard"}

// flagTexts returns the texts that set a flag to its value.
func flagTexts(flag *pflag.Flag) []string {
	if list, ok := flag.Value.(pflag.SliceValue); ok {
		return list.GetSlice()
	}
	return []string{flag.Value.String()}
}

// rolled reports whether nodes of a module hand out the values of several layers.
func rolled(m *ir.Module) bool {
	return slices.ContainsFunc(m.AllFuncs(), func(f *ir.Func) bool {
		return f.Owner != nil && slices.ContainsFunc(f.Nodes, func(n *ir.Node) bool { return n.Op == ir.OpObserve })
	})
}

// differError reports the first value that differs.
type differError struct {
	model, other string
	row          *compare.Row
}

func (e *differError) Error() string {
	r := e.row
	return fmt.Sprintf("%s: @%s %v = %v%s differs in step %d: element %v is %v%s, and in %s %v%s: %s",
		e.model, r.Func, r.Node, r.Node.Op, compare.From(r.Node), r.Step, r.Index, r.A, compare.Where(r.OnA), e.other, r.B, compare.Where(r.OnB), r.Distance())
}
