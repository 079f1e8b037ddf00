package cmd

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ggmlc/ggmlc/ir/spell"
)

// programCommands are the commands of programs that run makes.
var programCommands = []string{"bench", "call", "detokenize", "embed", "help", "logits", "perplexity", "plan", "tokenize", "verify", "version"}

// programFlags are the flags of programs, of all their commands, and whether they take a value. A test compares them
// with what programs print.
var programFlags = map[string]bool{
	"all": false, "any-text": false, "chat": false, "chat-template": true, "chat-template-kwargs": true, "chunk": true,
	"chunks": true, "context-shift": true, "count": false, "d": true, "dry-allowed-length": true, "dry-base": true,
	"dry-multiplier": true, "dry-penalty-last-n": true, "dry-sequence-breaker": true, "dynatemp-exp": true,
	"dynatemp-range": true, "file": true, "frequency-penalty": true, "grammar": true, "help": false, "ids": false,
	"ignore-eos": false, "json": false, "json-schema": true, "lines": false, "load": true, "logit-bias": true,
	"logits": false, "min-p": true, "mirostat": true, "mirostat-ent": true, "mirostat-lr": true, "n": true,
	"no-bos": false, "normalize": false, "o": true, "observe-to": true, "p": true, "parallel": true, "pooling": true,
	"presence-penalty": true, "profile": true, "prompt": true, "prompts": true, "r": true, "raw": false,
	"repeat-last-n": true, "repeat-penalty": true, "save": true, "seed": true, "sequences": true, "special": false,
	"stop": true, "stride": true, "system": true, "temp": true, "threads": true, "timeline": true, "tokens": true,
	"top": true, "top-k": true, "top-nsigma": true, "top-p": true, "typical": true, "verify": false, "weights": true,
	"xtc-probability": true, "xtc-threshold": true,
}

// splitRunArgs returns the model and the program's arguments. The model is empty if the demo is to run.
func splitRunArgs(cmd *cobra.Command, args []string) (model string, rest []string, err error) {
	if len(args) == 0 || cmd.ArgsLenAtDash() == 0 {
		if len(args) > 0 && isModelName(args[0]) {
			return "", nil, usagef("%s: what follows -- goes to the program, which is then that of the demo model: "+
				"write the model before --, as in ggmlc run %[1]s --prompt TEXT", args[0])
		}
		return "", args, misplacedFlag(cmd, args, "--")
	}
	if err := nameGiven(args[0]); err != nil {
		return "", nil, err
	}
	model, rest = args[0], args[1:]
	if len(rest) > 0 && rest[0] == "--" {
		rest = rest[1:]
	}
	return model, rest, misplacedFlag(cmd, rest, "the model")
}

// isModelName reports whether an argument is a model rather than one of a program.
func isModelName(arg string) bool {
	if slices.Contains(programCommands, arg) || strings.HasPrefix(arg, "-") {
		return false
	}
	ext := filepath.Ext(arg)
	info, err := os.Stat(arg)
	return ext == ".gguf" || ext == ".ggir" || err == nil && info.Mode().IsRegular()
}

// misplacedFlag returns an error if the program's arguments have a flag of the compiler, which belongs before the
// argument that is named.
func misplacedFlag(cmd *cobra.Command, rest []string, before string) error {
	for i := 0; i < len(rest) && rest[i] != "--"; i++ {
		text, ok := strings.CutPrefix(rest[i], "-")
		if !ok || text == "" {
			continue
		}
		name, _, hasValue := strings.Cut(strings.TrimPrefix(text, "-"), "=")
		switch takesValue, known := programFlags[name]; {
		case known && takesValue && !hasValue:
			i++
		case known:
		case cmd.Flags().Lookup(name) != nil:
			return usagef("--%s is a flag of the compiler: write it before %s", name, before)
		case len(name) == 1 && cmd.Flags().ShorthandLookup(name) != nil:
			return usagef("-%s is a flag of the compiler: write it before %s", name, before)
		}
	}
	return nil
}

// misusedRunFlag is misusedFlag for run. A flag that it does not know may be one of the program.
func misusedRunFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return misusedFlag(cmd, err)
	}
	name, flag := unknown.GetSpecifiedName(), "-"+unknown.GetSpecifiedName()
	if unknown.GetSpecifiedShortnames() == "" {
		flag = "--" + name
	}
	if _, known := programFlags[name]; known {
		return usagef("%s is a flag of the program: write it after the model, "+
			"or after -- to run the demo model, as in ggmlc run -- %[1]s", flag)
	}
	return usagef("unknown flag: %s:%s see ggmlc run --help for flags of the compiler, "+
		"and ggmlc run MODEL --help for those of the program", flag, runFlagHint(cmd, name))
}

// runFlagHint is flagHint among the flags of the compiler and the program.
func runFlagHint(cmd *cobra.Command, name string) string {
	if hint := flagHint(cmd, name); hint != "" || len(name) == 1 {
		return hint
	}
	var names []string
	for name := range programFlags {
		if len(name) > 1 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if near := spell.Near(name, names); near != "" {
		return " did you mean --" + near + ", a flag of the program?"
	}
	return ""
}
