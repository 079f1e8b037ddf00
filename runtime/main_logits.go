package runtime

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// logitsCommand prints what the model expects after a text, or after each token of it.
type logitsCommand struct {
	textSource
	top    int
	all    bool
	matrix string // file of the logits; empty for none

	printed *bufio.Writer
	rows    *bufio.Writer // of the matrix; nil for none
	line    []byte        // reused
}

func (c *cli) logits() func(context.Context) error {
	l := &logitsCommand{textSource: textSource{cli: c}, top: 10}
	l.textFlags()
	l.tokensFlag()
	c.flags.number(&l.top, "top", "N", "the N most probable tokens (default: 10)", 0)
	c.flags.on(&l.all, "all", "after each token (default: after the last one)")
	c.flags.text(&l.matrix, "o", "FILE.npy", "write the logits: f32, a row for each position")
	c.flags.on(&c.json, "json", "one JSON object a line")
	c.modelFlags()
	return func(ctx context.Context) error { return l.withSession(ctx, l.check, l.print) }
}

// check reports a wrong command line.
func (l *logitsCommand) check() error {
	switch {
	case l.program.LM == nil:
		return usagef("%s is no language model: it has no logits; %s call runs its functions", l.program.Name, l.name)
	case l.matrix == "-":
		return usagef("-o -: the matrix is a file of its own: name it, or write ./- for a file with this name")
	}
	return l.textSource.check()
}

func (l *logitsCommand) print(ctx context.Context, s *Session) error {
	ids, err := l.ids(ctx, s.model.vocab)
	if err != nil {
		return err
	}
	first := len(ids) - 1
	if l.all {
		first = 0
	}
	if l.printed = bufio.NewWriter(l.out); l.matrix == "" {
		return errors.Join(l.score(ctx, s, ids, first), l.printed.Flush())
	}
	err = writeWhole(l.matrix, func(w io.Writer) error {
		l.rows = bufio.NewWriterSize(w, 1<<16)
		shape := []int{len(ids) - first, s.model.program.LM.Vocab}
		return errors.Join(WriteNPY(l.rows, Array{Type: dtype.F32, Shape: shape}), l.score(ctx, s, ids, first), l.rows.Flush())
	})
	return errors.Join(err, l.printed.Flush())
}

// score runs the tokens and prints the positions from first on.
func (l *logitsCommand) score(ctx context.Context, s *Session, ids []int32, first int) error {
	return s.Score(ctx, ids, max(first, 0), func(i int, logits []float32) error {
		if err := l.writeRow(logits); err != nil {
			return err
		}
		return l.position(s.model.vocab, i, ids[i], logits)
	})
}

// writeRow appends the logits to the matrix.
func (l *logitsCommand) writeRow(logits []float32) error {
	if l.rows == nil {
		return nil
	}
	b := l.line[:0]
	for _, x := range logits {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	l.line = b
	_, err := l.rows.Write(b)
	return err
}

// position prints the most probable tokens after a token.
func (l *logitsCommand) position(v *token.Vocab, at int, id int32, logits []float32) error {
	total, err := logSum(logits)
	if err != nil {
		return fmt.Errorf("after token %d: %w", at, err)
	}
	top := topIDs(logits, l.top)
	b := l.line[:0]
	if l.json {
		b = appendPositionJSON(b, v, at, id, logits, top, total)
	} else {
		b = appendPosition(b, v, at, id, logits, top, total)
	}
	l.line = b
	_, err = l.printed.Write(b)
	return err
}

// appendPosition appends a line for the token and one for each of the most probable next tokens.
func appendPosition(b []byte, v *token.Vocab, at int, id int32, logits []float32, top []int32, total float64) []byte {
	b = fmt.Appendf(b, "position %d, token %d%s\n", at, id, quotedPiece(v, id))
	for _, next := range top {
		x := logits[next]
		b = fmt.Appendf(b, "%8d %12.6g %9.6f%s\n", next, x, math.Exp(float64(x)-total), quotedPiece(v, next))
	}
	return b
}

// quotedPiece returns the text of a token after a space, or nothing without a tokenizer.
func quotedPiece(v *token.Vocab, id int32) string {
	if v == nil {
		return ""
	}
	return " " + strconv.Quote(shownPiece(v, id))
}

func appendPositionJSON(b []byte, v *token.Vocab, at int, id int32, logits []float32, top []int32, total float64) []byte {
	b = strconv.AppendInt(append(b, `{"position":`...), int64(at), 10)
	b = append(appendTokenJSON(append(b, `,"token":{`...), v, id), `},"top":[`...)
	for i, next := range top {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendTokenJSON(append(b, '{'), v, next)
		b = appendJSONFloat(append(b, `,"logit":`...), float64(logits[next]), 32)
		b = appendJSONFloat(append(b, `,"probability":`...), math.Exp(float64(logits[next])-total), 64)
		b = append(b, '}')
	}
	return append(b, ']', '}', '\n')
}
