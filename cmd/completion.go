package cmd

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/ir"
)

// Limits of completions, which a user waits for.
const (
	maxCompletedText = 16 << 20 // bytes of a text that is read for its names
	completionTime   = time.Second
)

// complete offers words for a flag.
func complete(cmd *cobra.Command, flag string, words ...string) {
	completeBy(cmd, flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// completeList offers words for a flag whose value is a list, separated by commas.
func completeList(cmd *cobra.Command, flag string, words ...string) {
	completeBy(cmd, flag, func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		given := strings.Split(before, ",")
		var list []string
		for _, word := range words {
			if !slices.Contains(given, word) {
				list = append(list, before+word)
			}
		}
		return beginning(list, typed), cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	})
}

func completeBy(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err) // no such flag
	}
}

// completeModel offers models as the only argument.
func completeModel(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return []string{"gguf", "ggir"}, cobra.ShellCompDirectiveFilterFileExt
}

// completeFunctions offers the functions of the model that was given.
func completeFunctions(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if m := completedModule(cmd.Context(), args); m != nil {
		for _, f := range m.Funcs {
			names = append(names, f.Name)
		}
	}
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// completeNode offers models as the first argument, and names of its nodes as the second.
func completeNode(cmd *cobra.Command, args []string, typed string) ([]string, cobra.ShellCompDirective) {
	if len(args) != 1 {
		return completeModel(cmd, args, typed)
	}
	var names []string
	if m := completedModule(cmd.Context(), args); m != nil {
		names = nodeNames(m)
	}
	return beginning(names, typed), cobra.ShellCompDirectiveNoFileComp
}

// completedModule returns the module of a text, or of a model file as it is imported; nil if there is none, or if
// reading it would take long. Nothing is compiled.
func completedModule(ctx context.Context, args []string) *ir.Module {
	if len(args) == 0 {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, stop := context.WithTimeout(ctx, completionTime)
	defer stop()
	info, err := os.Stat(args[0])
	isText := filepath.Ext(args[0]) != ".gguf"
	if err != nil || isText && info.Size() > maxCompletedText {
		return nil
	}
	md, err := driver.Load(ctx, args[0], driver.LoadOptions{WithoutWeights: true})
	if err != nil {
		return nil
	}
	defer md.Close()
	return md.Module
}

// nodeNames returns what explain accepts for the nodes of a module. The values of a module on which no pass has run are
// left out, as passes replace them.
func nodeNames(m *ir.Module) []string {
	var names []string
	for _, w := range m.Weights {
		names = append(names, w.Name)
	}
	for _, s := range m.States {
		names = append(names, s.Name)
	}
	for _, f := range m.AllFuncs() {
		for _, n := range f.Nodes {
			if n.Pos != "" {
				names = append(names, n.Pos)
			}
			if m.Last == imported {
				continue
			}
			for _, v := range n.Results {
				names = append(names, f.Name+"."+v.Name())
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// beginning returns the names that begin with what was typed.
func beginning(names []string, typed string) []string {
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, typed) })
}
