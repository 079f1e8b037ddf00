package runtime

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ggmlc/ggmlc/runtime/token"
)

// tokenizeCommand prints the tokens of a text.
type tokenizeCommand struct {
	textSource
	onlyIDs, count bool
}

func (c *cli) tokenize() func(context.Context) error {
	t := &tokenizeCommand{textSource: textSource{cli: c}}
	t.textFlags()
	c.flags.on(&t.onlyIDs, "ids", "only the ids, on one line")
	c.flags.on(&t.count, "count", "only the number of tokens")
	c.flags.on(&c.json, "json", "one JSON object a line: id and text")
	return t.run
}

func (t *tokenizeCommand) run(ctx context.Context) error {
	if err := t.check(); err != nil {
		return err
	}
	v, err := t.vocab()
	if err != nil {
		return err
	}
	ids, err := t.ids(ctx, v)
	if err != nil {
		return err
	}
	_, err = t.out.Write(t.format(v, ids))
	return err
}

// check reports flags that contradict each other.
func (t *tokenizeCommand) check() error {
	forms := 0
	for _, on := range []bool{t.onlyIDs, t.count, t.json} {
		if on {
			forms++
		}
	}
	if forms > 1 {
		return usagef("--ids, --count and --json: give one of them")
	}
	return t.textSource.check()
}

// vocab loads the tokenizer without the weights.
func (c *cli) vocab() (*token.Vocab, error) {
	if c.program.Tokenizer == "" {
		return nil, usagef("%s has no tokenizer", c.program.Name)
	}
	v, err := token.Load(c.program.Tokenizer)
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %w", err)
	}
	return v, nil
}

func (t *tokenizeCommand) format(v *token.Vocab, ids []int32) (b []byte) {
	switch {
	case t.count:
		return append(strconv.AppendInt(b, int64(len(ids)), 10), '\n')
	case t.onlyIDs:
		for i, id := range ids {
			if i > 0 {
				b = append(b, ' ')
			}
			b = strconv.AppendInt(b, int64(id), 10)
		}
		return append(b, '\n')
	}
	for _, id := range ids {
		if t.json {
			b = append(appendTokenJSON(append(b, '{'), v, id), '}', '\n')
		} else {
			b = fmt.Appendf(b, "%6d  %q\n", id, shownPiece(v, id))
		}
	}
	return b
}

// shownPiece returns the bytes that a token adds to a text, or the name of a token that adds none.
func shownPiece(v *token.Vocab, id int32) string {
	if b := v.AppendPiece(nil, id); len(b) > 0 {
		return string(b)
	}
	return v.Text(id)
}

// appendTokenJSON appends the members of a token: "id", "text", and "bytes" if the text is no UTF-8 by itself. A
// program without tokenizer has only ids.
func appendTokenJSON(b []byte, v *token.Vocab, id int32) []byte {
	b = strconv.AppendInt(append(b, `"id":`...), int64(id), 10)
	if v == nil {
		return b
	}
	text := shownPiece(v, id)
	b = appendJSONString(append(b, `,"text":`...), text)
	if utf8.ValidString(text) {
		return b
	}
	b = append(b, `,"bytes":`...)
	for i := range len(text) {
		b = strconv.AppendInt(append(b, "[,"[min(i, 1)]), int64(text[i]), 10)
	}
	return append(b, ']')
}

// detokenize prints the text of tokens.
func (c *cli) detokenize() func(context.Context) error {
	special, file := false, ""
	c.flags.text(&file, "file", "FILE", "the ids are in this file; - is standard input")
	c.flags.on(&special, "special", "print the names of special tokens, which add nothing to a text")
	return func(ctx context.Context) error {
		v, err := c.vocab()
		if err != nil {
			return err
		}
		ids, err := c.idArguments(ctx, v, file)
		if err != nil {
			return err
		}
		text := v.Decode(ids)
		if special {
			text = decodeSpecial(v, ids)
		}
		if terminal(c.out) {
			text += "\n"
		}
		_, err = c.out.Write([]byte(text))
		return err
	}
}

// idArguments returns the ids in the arguments, or in a file, separated by spaces, commas or newlines.
func (c *cli) idArguments(ctx context.Context, v *token.Vocab, file string) ([]int32, error) {
	list := strings.Join(c.rest, " ")
	switch {
	case file != "" && list != "":
		return nil, usagef("ids and --file: give one of them")
	case file == "" && list == "":
		return nil, usagef("no ids: give them as 1,2,3 or with --file")
	case file != "":
		var err error
		if list, err = c.readText(ctx, file); err != nil {
			return nil, err
		}
	}
	var ids []int32
	for word := range strings.FieldsFuncSeq(list, func(r rune) bool { return strings.ContainsRune(" ,\n\r\t", r) }) {
		id, err := strconv.ParseInt(word, 10, 32)
		if err != nil || !v.Valid(int32(id)) {
			return nil, usagef("%q is no token id: give numbers from 0 to %d", word, v.Size()-1)
		}
		ids = append(ids, int32(id))
	}
	return ids, nil
}

// decodeSpecial is Decode with the names of special tokens. As Encode treats the texts between them as texts of their
// own, so is their text here.
func decodeSpecial(v *token.Vocab, ids []int32) string {
	var b strings.Builder
	named := func(id int32) bool {
		return v.TypeOf(id) == token.Control || v.TypeOf(id) == token.Unknown || id == v.BOS()
	}
	for len(ids) > 0 {
		n := slices.IndexFunc(ids, named)
		if n < 0 {
			n = len(ids)
		}
		b.WriteString(v.Decode(ids[:n]))
		if n < len(ids) {
			b.WriteString(v.Text(ids[n]))
			n++
		}
		ids = ids[n:]
	}
	return b.String()
}
