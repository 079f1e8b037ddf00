package cmd

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ggmlc/ggmlc/codegen"
	"github.com/ggmlc/ggmlc/codegen/driver"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// tokenizeFlags holds the flags of tokenize.
type tokenizeFlags struct {
	file, split string
	special     bool
	json        bool
}

func tokenizeCommand() *cobra.Command {
	var f tokenizeFlags
	cmd := &cobra.Command{
		Use:   "tokenize model [TEXT]",
		Short: "print the token ids of a text",
		Long: `tokenize prints the ids of a text's tokens with the vocabulary of a GGUF file,
separated by spaces. Nothing is added before or after the text. The file may be
a vocabulary without a model.

With --split, --file holds several texts, each followed by that string, and
there is a line for each. What follows the last one is no text.`,
		Example: `  ggmlc tokenize model.gguf "Once upon a time"
  ggmlc tokenize vocab.gguf --file texts --split "
__ggml_vocab_test__
"`,
		RunE: func(cmd *cobra.Command, args []string) error {
			texts, err := f.texts(cmd, args)
			if err != nil {
				return err
			}
			v, err := driver.Vocabulary(args[0])
			if err != nil {
				return err
			}
			return f.print(cmd.OutOrStdout(), v, texts)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.file, "file", "", "the text is in this file; - is standard input")
	fs.StringVar(&f.split, "split", "", "with --file: this `STRING` follows each of several texts")
	fs.BoolVar(&f.special, "special", false, "read names of special tokens in the text as these tokens")
	fs.BoolVar(&f.json, "json", false, "diagnostics as one JSON object a line")
	cmd.ValidArgsFunction = completeModel
	return cmd
}

// texts returns the texts to encode.
func (f *tokenizeFlags) texts(cmd *cobra.Command, args []string) ([]string, error) {
	fromFile := cmd.Flags().Changed("file")
	switch {
	case len(args) == 0:
		return nil, usagef("no model: ggmlc tokenize model TEXT")
	case len(args) > 2:
		return nil, usagef("%d texts: give one, in quotes if it has spaces", len(args)-1)
	case fromFile == (len(args) == 2):
		return nil, usagef("give either a TEXT or --file")
	case f.split != "" && !fromFile:
		return nil, usagef("--split: give --file with it")
	}
	if err := nameGiven(args[0]); err != nil {
		return nil, err
	}
	if !fromFile {
		return args[1:], nil
	}
	text, err := readTextFile(cmd, f.file)
	if err != nil || f.split == "" {
		return []string{text}, err
	}
	texts := strings.Split(text, f.split)
	if len(texts) == 1 {
		return nil, usagef("--split: %s does not have this string, which follows each text", f.file)
	}
	return texts[:len(texts)-1], nil
}

// readTextFile reads a file, or standard input as "-".
func readTextFile(cmd *cobra.Command, path string) (string, error) {
	if path == "-" {
		data, err := io.ReadAll(cmd.InOrStdin())
		return string(data), err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", &codegen.FileError{File: path, Err: errors.Unwrap(err)}
	}
	return string(data), nil
}

// print prints a line of ids for each text.
func (f *tokenizeFlags) print(w io.Writer, v *token.Vocab, texts []string) error {
	out := bufio.NewWriter(w)
	var ids []int32
	for _, text := range texts {
		ids = v.Encode(ids[:0], text, token.Options{ParseSpecials: f.special})
		for i, id := range ids {
			if i > 0 {
				fmt.Fprint(out, " ")
			}
			fmt.Fprint(out, strconv.Itoa(int(id)))
		}
		fmt.Fprintln(out)
	}
	return out.Flush()
}
