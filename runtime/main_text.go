package runtime

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// textSource is the text that a command reads: an argument, a file, or token ids.
type textSource struct {
	*cli
	file, tokens   string
	special, noBOS bool
}

// textForm is how the commands that read a text show it in the help.
const textForm = "TEXT | --file FILE"

// What flags want, for errors of empty ones.
const (
	fileName  = "the name of a file, or - for standard input"
	tokenList = "whole numbers with commas between them"
)

// textFlags adds the flags of a text.
func (t *textSource) textFlags() {
	f := &t.flags
	f.given(&t.file, "file", "FILE", "the text is in this file; - is standard input", fileName)
	f.on(&t.special, "special", "read names of special tokens in the text as these tokens")
	f.on(&t.noBOS, "no-bos", "add no tokens before and after the text")
}

// tokensFlag adds the flag of ids in place of a text.
func (t *textSource) tokensFlag() {
	t.flags.given(&t.tokens, "tokens", "1,2,3", "token ids in place of a text, taken as they are", tokenList)
}

// check reports a text that is missing, or given twice.
func (t *textSource) check() error {
	given := len(t.rest)
	for _, s := range []string{t.file, t.tokens} {
		if s != "" {
			given++
		}
	}
	switch {
	case len(t.rest) > 1:
		return usagef("%d texts: give one, in quotes if it has spaces", len(t.rest))
	case given == 0:
		return usagef("no text: give TEXT or --file FILE")
	case given > 1:
		return usagef("several texts: give one of TEXT and the flags that name one")
	case t.tokens == "" && t.program.Tokenizer == "":
		return usagef("%s has no tokenizer: there are no tokens of a text", t.program.Name)
	}
	return nil
}

// text returns the text.
func (t *textSource) text(ctx context.Context) (string, error) {
	if len(t.rest) > 0 {
		return t.rest[0], nil
	}
	return t.readText(ctx, t.file)
}

// ids returns the tokens of the text.
func (t *textSource) ids(ctx context.Context, v *token.Vocab) ([]int32, error) {
	if t.tokens != "" {
		return parseTokens(t.tokens)
	}
	text, err := t.text(ctx)
	if err != nil {
		return nil, err
	}
	return t.encode(v, text), nil
}

// encode returns the tokens of one text.
func (t *textSource) encode(v *token.Vocab, text string) []int32 {
	return v.Encode(nil, text, token.Options{Specials: !t.noBOS, ParseSpecials: t.special})
}

// readText reads a file, or standard input as "-". It returns early if ctx ends while a terminal or a pipe gives
// nothing.
func (c *cli) readText(ctx context.Context, file string) (string, error) {
	in := c.in
	if file != stdin {
		f, err := os.Open(file)
		if err != nil {
			return "", fileError(file, err)
		}
		defer f.Close()
		in = f
	}
	var text []byte
	done := make(chan error, 1)
	go func() {
		var err error
		text, err = io.ReadAll(in)
		done <- err
	}()
	select {
	case err := <-done:
		return string(text), fileError(file, err)
	case <-ctx.Done():
		return "", cancelled(ctx)
	}
}

// fileError names the file once.
func fileError(file string, err error) error {
	if err == nil {
		return nil
	}
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	return &namedError{file, err}
}

// namedError is an error about a file.
type namedError struct {
	file string
	err  error
}

func (e *namedError) Error() string { return e.file + ": " + e.err.Error() }
func (e *namedError) Unwrap() error { return e.err }
