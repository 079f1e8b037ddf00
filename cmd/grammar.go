package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/runtime/grammar"
)

// grammarFlags holds the flags of the grammar that a program's text follows.
type grammarFlags struct {
	grammar, schema string // files
}

// registerGrammar adds the flags of commands that write programs.
func (f *grammarFlags) registerGrammar(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.grammar, "grammar", "", "generated text follows the grammar in GBNF in this `FILE`")
	cmd.Flags().StringVar(&f.schema, "json-schema", "", "generated text is JSON of the schema in this `FILE`")
}

// grammarFile returns the file of the flag that is set.
func (f *grammarFlags) grammarFile() (string, error) {
	if f.grammar != "" && f.schema != "" {
		return "", usagef("--grammar and --json-schema: give one of them")
	}
	return f.grammar + f.schema, nil
}

// follow sets the grammar of a loaded model, if one is wanted, and reports its form.
func (f *grammarFlags) follow(w io.Writer, form outputForm, md *driver.Model) error {
	file, err := f.grammarFile()
	if err != nil || file == "" {
		return err
	}
	text, notes, err := f.gbnf(file)
	if err != nil {
		return usageError{named(file, err)}
	}
	for _, note := range notes {
		notice(w, form, "grammar", "%s: %s", file, note)
	}
	got, err := md.Follow(text)
	var syntax *grammar.SyntaxError
	if errors.As(err, &syntax) || errors.Is(err, grammar.ErrTooComplex) {
		return usageError{named(file, err)}
	}
	if err != nil {
		return named(file, err)
	}
	notice(w, form, "grammar", "%s", grammarText(file, got))
	return nil
}

// gbnf returns the grammar of a file, and notes about parts of a schema that it does not follow.
func (f *grammarFlags) gbnf(file string) (text string, notes []string, err error) {
	if text, err = readGrammar(file); err == nil && f.schema != "" {
		return driver.SchemaGrammar(text)
	}
	return text, nil, err
}

// named adds the name of a file to an error that lacks it.
func named(file string, err error) error {
	var has *codegen.FileError
	if errors.As(err, &has) {
		return err
	}
	return &codegen.FileError{File: file, Err: err}
}

// readGrammar reads a file, but not more of it than makes it too large.
func readGrammar(file string) (string, error) {
	in, err := os.Open(file)
	if err != nil {
		return "", &codegen.FileError{File: file, Err: errors.Unwrap(err)}
	}
	defer in.Close()
	data, err := io.ReadAll(io.LimitReader(in, grammar.MaxText+1))
	return string(data), err
}

// grammarText states how the program has its grammar.
func grammarText(file string, g driver.GrammarForm) string {
	if g.TooLarge != nil {
		return fmt.Sprintf("%s: %v: the program computes states as it reaches them", file, g.TooLarge)
	}
	return fmt.Sprintf("%s: a table of %d states and %d sets of tokens, %d bytes", file, g.States, g.Sets, g.Bytes)
}
