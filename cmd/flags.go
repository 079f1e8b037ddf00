package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ggmlc/ggmlc/passes/assign"
	"github.com/ggmlc/ggmlc/passes/pass"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/kernels/gpu"
	"github.com/ggmlc/ggmlc/passes"
	"github.com/ggmlc/ggmlc/passes/target"
)

// compileFlags holds the flags of all commands that compile.
type compileFlags struct {
	grammarFlags
	targets, targetFile, rules string
	pins, deny, disable, debug []string
	maxMemory, sources         []string
	pipeline, context, batch   int
	sequences                  int
	planTime                   time.Duration
	kv, quantize, stats        string
	cpu                        []string
	allowBF16, tune, profile   bool
	allLogits, embeddings      bool
	wholeCache                 bool
	deviceTopK                 int    // -1: not given
	observe                    string // expression; empty for none
	group                      string // empty for none
	shard                      []string
	targetText                 string // contents of targetFile, read once as it may be a pipe
	tuned                      string // measurements of --tune, as a target file
	json                       bool
	quiet                      bool // only errors are printed; the flag of progressFlags

	plansOnly bool // sources may be missing, as their bytes are not used

	head *target.List // the backends of a dump that is compiled; nil otherwise
}

// register adds the flags of commands that take a model.
func (f *compileFlags) register(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.IntVar(&f.context, "ctx", 0, "positions of a sequence (default: as trained, at most 4096)")
	fs.IntVar(&f.batch, "batch", 0, "tokens of a prompt that one step takes (default 512)")
	fs.IntVar(&f.sequences, "sequences", 0, "sequences that a program can run together, each with a KV cache of its own (default 1); of an encoder, texts of a step (default 16)")
	fs.StringVar(&f.kv, "kv", "f16", "dtype of the KV cache: f16, f32, q8_0 or q4_0")
	fs.StringVar(&f.quantize, "quantize", "", "convert float weights to `TYPE`: "+strings.Join(quantizeNames(), ", "))
	fs.BoolVar(&f.allLogits, "all-logits", false, "prompts give the logits after each token, for the program's perplexity and logits --all (prompts take longer)")
	fs.BoolVar(&f.embeddings, "embeddings", false, "prompts give the state of each token after the last norm, for the program's embed")
	fs.BoolVar(&f.wholeCache, "whole-cache", false, "layers with a sliding window keep all positions, so that sequences can go back to any of them (more memory)")
	fs.IntVar(&f.deviceTopK, "device-top-k", -1, "a step may return only the `K` most probable tokens, which is enough for greedy sampling, and for --top-k of at most K: a GPU need not copy all logits (default 1 with a GPU, else 0: no)")
	fs.StringArrayVar(&f.sources, "source", nil, "`NAME=PATH`: read a source of a dump from another file")
	f.registerPasses(cmd)
}

// registerPasses adds the flags that control passes, without those for reading a model.
func (f *compileFlags) registerPasses(cmd *cobra.Command) {
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("targets") && cmd.Flags().Changed("target-file") {
			return errTwoLists
		}
		return nil
	}
	fs := cmd.Flags()
	f.registerTargets(fs)
	fs.StringVar(&f.rules, "rules", "cost", "how backends are chosen: cost, ggml-2024 or ggml-2026")
	fs.StringArrayVar(&f.pins, "pin", nil, "`REGEX=backend`: put nodes on a backend whose name, position or weight matches")
	fs.StringArrayVar(&f.shard, "shard", nil, "`REGEX=STATE`: how the group has weights whose name matches: axis0, axis1, …, mirrored, or cost for what is predicted to be faster")
	fs.StringArrayVar(&f.deny, "deny", nil, "`backend` that must not be used: fail with the reasons if it is needed")
	fs.StringArrayVar(&f.maxMemory, "max-memory", nil, "`BACKEND=SIZE`: fail if a backend or space needs more, such as gpu=7.5GiB")
	fs.IntVar(&f.pipeline, "pipeline", 1, "steps that may be in flight at once, each with buffers of its own for the inputs of splits")
	fs.DurationVar(&f.planTime, "plan-time", 0, "cut the memory planner's search by the clock (plans are then not reproducible)")
	fs.StringSliceVar(&f.cpu, "cpu", nil, "limit the program to these implementations: generic, avx2, avxvnni, avx512, avx512vnni, avx512bf16, amx")
	fs.BoolVar(&f.allowBF16, "allow-bf16", false, "round f16 weights to bf16 if products are faster: on avx512bf16 and amx, which --cpu must not exclude (each weight loses 3 bits)")
	fs.BoolVar(&f.tune, "tune", false, "measure rates, tiles and layouts on this machine instead of predicting them; build and gen keep them in OUTPUT.target, dump in the text")
	fs.BoolVar(&f.profile, "profile", false, "build hooks for the program's --profile")
	fs.StringVar(&f.observe, "observe", "", "values that the program's --observe-to writes: those whose name or position matches `REGEX`")
	fs.StringArrayVar(&f.disable, "disable", nil, "`PASS_OR_RULE` that is switched off")
	fs.StringArrayVar(&f.debug, "debug", nil, "`PASS/FLAG=VALUE`, or help for a list")
	fs.StringVar(&f.stats, "stats", "", "print what passes counted: table, tsv or json")
	fs.BoolVar(&f.json, "json", false, "diagnostics as one JSON object a line")
	f.completions(cmd)
}

var errTwoLists = usagef("--targets and --target-file exclude each other: leave one out")

// registerTargets defines the flags that name backends.
func (f *compileFlags) registerTargets(fs *pflag.FlagSet) {
	fs.StringVar(&f.targets, "targets", "cpu", "backends in order of priority, separated by commas (see ggmlc targets); the last runs everything")
	fs.StringVar(&f.targetFile, "target-file", "", "read the backends from a file in text form")
	fs.Var((*groupText)(&f.group), "group", "`NAME=A*3,B*1`: these backends compute each node together, with these shares of the work (default: by memory and speed)")
}

// completions registers completions of flags and arguments for the shell.
func (f *compileFlags) completions(cmd *cobra.Command) {
	cmd.ValidArgsFunction = completeModel
	for flag, words := range map[string][]string{
		"deny": targetNames(), "rules": assign.RuleSets(), "kv": {"f16", "f32", "q8_0", "q4_0"}, "quantize": quantizeNames(),
		"stats": pass.StatsFormats, "disable": passNames(),
	} {
		if cmd.Flags().Lookup(flag) != nil {
			complete(cmd, flag, words...)
		}
	}
	completeList(cmd, "targets", targetNames()...)
	completeList(cmd, "cpu", cpuNames...)
}

func targetNames() []string {
	var names []string
	for _, d := range target.Builtins() {
		names = append(names, d.Name)
	}
	return names
}

func passNames() []string {
	var names []string
	for _, p := range passes.Passes() {
		names = append(names, p.Name)
	}
	return names
}

// checkValues refuses unknown values of flags.
func (f *compileFlags) checkValues() error {
	switch {
	case f.planTime < 0:
		return usagef("--plan-time %v: the time must not be negative", f.planTime)
	case f.pipeline < 1:
		return usagef("--pipeline %d: at least one step is in flight", f.pipeline)
	case f.pipeline > ir.MaxPipeline:
		return usagef("--pipeline %d: at most %d steps may be in flight, each with buffers of its own", f.pipeline, ir.MaxPipeline)
	case !slices.Contains(assign.RuleSets(), f.rules):
		return usagef("--rules %s: choose one of %s", value(f.rules), strings.Join(assign.RuleSets(), ", "))
	case f.stats != "" && !slices.Contains(pass.StatsFormats, f.stats):
		return usagef("--stats %s: choose one of %s", value(f.stats), strings.Join(pass.StatsFormats, ", "))
	}
	return nil
}

// cpuNames are the implementations of kernels that --cpu accepts.
var cpuNames = []string{"generic", "avx2", "avxvnni", "avx512", "avx512vnni", "avx512bf16", "amx"}

func (f *compileFlags) checkCPU() error {
	for _, name := range f.cpu {
		if !slices.Contains(cpuNames, name) {
			return usagef("--cpu %s: there are %s", name, strings.Join(cpuNames, ", "))
		}
	}
	return nil
}

// load returns the options of driver.Load.
func (f *compileFlags) load(cmd *cobra.Command) (driver.LoadOptions, error) {
	o := driver.LoadOptions{Context: f.context, Batch: f.batch, Sequences: f.sequences, AllLogits: f.allLogits, Embeddings: f.embeddings, WholeCache: f.wholeCache, Top: f.top()}
	if cmd.Flags().Changed("device-top-k") && f.deviceTopK < 0 {
		return o, usagef("--device-top-k %d: it must be 0 (all logits) or more", f.deviceTopK)
	}
	err := errors.Join(positive(cmd, "ctx", f.context), positive(cmd, "batch", f.batch), positive(cmd, "sequences", f.sequences))
	if err != nil {
		return o, usageError{err}
	}
	kv, err := parseChoice("--kv", f.kv, dtype.F16, dtype.F32, dtype.Q8_0, dtype.Q4_0)
	if err != nil {
		return o, err
	}
	if cmd.Flags().Changed("kv") { // encoders have none
		o.KV = kv
	}
	if f.quantize != "" {
		if o.Quantize, err = parseChoice("--quantize", f.quantize, quantizeTypes()...); err != nil {
			return o, err
		}
	}
	o.Sources, err = parsePairs("--source", f.sources)
	return o, err
}

// top returns how many tokens a step may return in place of all logits. A GPU with memory of its own finds the most
// probable one itself, unless the flags say otherwise: what is observed are the values of all steps in one function, and
// a group has its logits on several devices.
func (f *compileFlags) top() int {
	if f.deviceTopK >= 0 || f.observe != "" || f.group != "" {
		return max(f.deviceTopK, 0)
	}
	l, err := f.targetList()
	if err != nil {
		return 0 // reported by compile
	}
	host := l.All()[len(l.All())-1].Home()
	for _, d := range l.All() {
		if _, isGPU := gpu.Of(d.Kind); isGPU && !d.Addresses(host) {
			return 1
		}
	}
	return 0
}

func parseChoice(flag, text string, allowed ...dtype.DType) (dtype.DType, error) {
	var names []string
	for _, d := range allowed {
		if strings.EqualFold(text, d.String()) {
			return d, nil
		}
		names = append(names, d.String())
	}
	return dtype.Invalid, usagef("%s %s: choose one of %s", flag, value(text), strings.Join(names, ", "))
}

// quantizeTypes returns what float weights can be converted to.
func quantizeTypes() []dtype.DType {
	types := []dtype.DType{dtype.Q8_0, dtype.Q4_0}
	for d := range dtype.NumDTypes {
		if d.Scheme() != nil && !d.IsExpansion() {
			types = append(types, d)
		}
	}
	return types
}

// quantizeNames returns the names of quantizeTypes as files have them.
func quantizeNames() (names []string) {
	for _, d := range quantizeTypes() {
		names = append(names, strings.ToUpper(d.String()))
	}
	return names
}

func parsePairs(flag string, texts []string) (map[string]string, error) {
	pairs := make(map[string]string)
	for _, t := range texts {
		name, value, ok := strings.Cut(t, "=")
		if !ok || name == "" || value == "" {
			return nil, usagef("%s %s: write NAME=VALUE", flag, t)
		}
		if _, twice := pairs[name]; twice {
			return nil, usagef("%s %s: %s is given twice", flag, t, name)
		}
		pairs[name] = value
	}
	return pairs, nil
}

// compile returns the options of driver.Compile.
func (f *compileFlags) compile() (driver.CompileOptions, error) {
	o := driver.CompileOptions{Repro: os.TempDir()}
	if err := errors.Join(f.checkValues(), f.checkCPU()); err != nil {
		return o, err
	}
	var err error
	if o.Targets = f.head; o.Targets == nil {
		if o.Targets, err = f.targetList(); err != nil {
			return o, usageError{err}
		}
	}
	if err := f.checkTune(o.Targets); err != nil {
		return o, err
	}
	o.Passes, err = f.passOptions()
	return o, err
}

func (f *compileFlags) passOptions() (pass.Options, error) {
	o := pass.Options{AllowBF16: f.allowBF16, CPU: f.cpu, Rules: f.rules, Deny: f.deny, Pipeline: f.pipeline, PlanTime: f.planTime, Disable: f.disable}
	var err error
	if o.Pins, err = f.parsePins(); err != nil {
		return o, err
	}
	if err := f.parseGroup(&o); err != nil {
		return o, usageError{err}
	}
	for _, d := range f.debug {
		settings, err := passes.ParseDebug(d)
		if err != nil {
			return o, usageError{err}
		}
		for _, s := range settings {
			if s.Pass == "all" && s.Flag == "check" && s.Value != "all" {
				return o, usagef("--debug check=%s: choose all", s.Value)
			}
		}
		o.Debug = append(o.Debug, settings...)
	}
	if f.observe != "" {
		if o.Observe, err = regexp.Compile(f.observe); err != nil {
			return o, usagef("--observe %s: %w", f.observe, err)
		}
	}
	limits, err := parsePairs("--max-memory", f.maxMemory)
	if err != nil {
		return o, err
	}
	for name, text := range limits {
		n, err := target.ParseSize(text)
		if err != nil {
			return o, usagef("--max-memory %s=%s: %v", name, text, err)
		}
		if o.MaxMemory == nil {
			o.MaxMemory = make(map[string]int64)
		}
		o.MaxMemory[name] = n
	}
	return o, nil
}

// parseGroup parses the group and the states of its weights.
func (f *compileFlags) parseGroup(o *pass.Options) (err error) {
	if f.group != "" {
		if o.Group, err = pass.ParseGroup(f.group); err != nil {
			return err
		}
	}
	for _, text := range f.shard {
		r, err := pass.ParseShardRule(text)
		if err != nil {
			return err
		}
		o.Shard = append(o.Shard, r)
	}
	return nil
}

// parsePins parses the pins. A pin that no node could follow is an error.
func (f *compileFlags) parsePins() ([]pass.Pin, error) {
	var pins []pass.Pin
	backends := make(map[string]string)
	for _, text := range f.pins {
		pin, err := pass.ParsePin(text)
		if err != nil {
			return nil, usageError{err}
		}
		match := pin.Match.String()
		switch {
		case backends[match] == pin.Backend:
			return nil, usagef("--pin %v is given twice: leave one out", pin)
		case backends[match] != "":
			return nil, usagef("--pin %s=%s and --pin %v contradict each other: leave one out", match, backends[match], pin)
		case slices.Contains(f.deny, pin.Backend):
			return nil, usagef("--pin %v and --deny %s contradict each other: leave one out", pin, pin.Backend)
		}
		backends[match] = pin.Backend
		pins = append(pins, pin)
	}
	return pins, nil
}

// debugHelp prints the help of --debug if the flag is "help", and reports whether it is.
func (f *compileFlags) debugHelp(w io.Writer) bool {
	for _, d := range f.debug {
		if d == "help" {
			fmt.Fprint(w, passes.DebugHelp())
			return true
		}
	}
	return false
}

// withModel returns the RunE of a command that does something with one model: run, unless --debug asks for help.
func (f *compileFlags) withModel(run func(ctx context.Context, cmd *cobra.Command, model string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if f.debugHelp(cmd.OutOrStdout()) {
			return nil
		}
		model, err := modelArg(cmd, args)
		if err != nil {
			return err
		}
		return run(cmd.Context(), cmd, model)
	}
}

// modelArg returns the only argument, the model.
func modelArg(cmd *cobra.Command, args []string) (string, error) {
	if len(args) != 1 {
		return "", usagef("%s needs one model, a GGUF file or a .ggir text: see ggmlc %s --help", cmd.Name(), cmd.Name())
	}
	return args[0], nil
}

// nameGiven refuses an empty file name, such as an unset variable of a script.
func nameGiven(path string) error {
	if path == "" {
		return usagef("the name of the input is empty: give a file")
	}
	return nil
}

// orStdout returns the path of -o, or "" (standard output) for a dash.
func orStdout(path string) string {
	if path == "-" {
		return ""
	}
	return path
}

// isFile refuses a dash as an output that cannot go to standard output.
func isFile(flag, path string) error {
	if path == "-" {
		return usagef("%s -: this cannot be written to standard output: name a file, or write ./- for a file with this name", flag)
	}
	return nil
}

// defaultOut returns the model's file name without its extension.
func defaultOut(model string) string {
	base := filepath.Base(model)
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// groupText is the value of --group, which can be given once.
type groupText string

// Set implements pflag.Value.
func (g *groupText) Set(text string) error {
	if *g != "" && string(*g) != text {
		return fmt.Errorf("there can be one group, and --group %s is given too: leave one out", *g)
	}
	*g = groupText(text)
	return nil
}

// String implements pflag.Value.
func (g *groupText) String() string { return string(*g) }

// Type implements pflag.Value.
func (g *groupText) Type() string { return "string" }
