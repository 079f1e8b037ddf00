package runtime

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// embedCommand prints the embeddings of a text, or of each line of a text. Those of encoders are divided by their
// Euclidean length, as llama-embedding does. Models that rank texts give scores instead.
type embedCommand struct {
	textSource
	pooling        Pooling
	normalize, raw bool
	lines          bool
	query          string // that texts are ranked for; empty for none
	queried        bool
	matrix         string // file; empty for none

	printed *bufio.Writer
	rows    []float32 // for the matrix
}

func (c *cli) embed() func(context.Context) error {
	e := &embedCommand{textSource: textSource{cli: c}}
	e.textFlags()
	e.tokensFlag()
	c.flags.on(&e.lines, "lines", "each line is a text of its own")
	kinds := "mean, last, cls (the first) or none (each is printed; default: the model's own, or mean)"
	if c.program.Labels() > 0 {
		kinds = "mean, last, cls (the first) or none (each is printed); rank, the default, prints the scores of the text instead"
		c.flags.add("query", "TEXT", "print the scores of each text for this query", func(s string) error {
			e.query, e.queried = s, true
			return nil
		})
	}
	c.flags.add("pooling", "KIND", "of the tokens' states: "+kinds, e.setPooling)
	if c.program.Encoder == nil {
		c.flags.on(&e.normalize, "normalize", "divide by the Euclidean length")
	} else {
		c.flags.on(&e.normalize, "normalize", "divide by the Euclidean length (the default of embeddings)")
		c.flags.on(&e.raw, "raw", "do not divide by the Euclidean length")
	}
	c.flags.text(&e.matrix, "o", "FILE.npy", "write the embeddings as an array instead: f32, a row for each")
	c.flags.on(&c.json, "json", "one JSON object a line")
	c.modelFlags()
	return func(ctx context.Context) error { return e.withSession(ctx, e.check, e.embedAll) }
}

func (e *embedCommand) setPooling(name string) error {
	known := poolings
	if e.program.Labels() == 0 {
		known = poolings[:len(poolings)-1]
	}
	if !slices.Contains(known, Pooling(name)) {
		return fmt.Errorf("choose one of %v", known)
	}
	e.pooling = Pooling(name)
	return nil
}

// check reports a wrong command line.
func (e *embedCommand) check() error {
	switch {
	case e.program.LM == nil && e.program.Encoder == nil:
		return usagef("%s has no vocabulary beside the embedding: its functions take tokens: see %s call", e.program.Name, e.name)
	case !e.program.Embeds():
		return usagef("%s gives no embeddings: compile it with ggmlc build --embeddings", e.program.Name)
	case e.normalize && e.raw:
		return usagef("--normalize and --raw: give one of them")
	case e.normalize && e.ranks():
		return usagef("--normalize: scores have no length: leave it out, or choose another --pooling")
	case e.queried && !e.ranks():
		return usagef("--query and --pooling %s: only rank gives scores: leave one of them out", e.pooling)
	case e.queried && (e.tokens != "" || e.special || e.noBOS):
		return usagef("--query with --tokens, --special or --no-bos: a query and a text are tokenized as the model wants: leave the others out")
	case e.lines && e.tokens != "":
		return usagef("--lines and --tokens: give one of them")
	case e.matrix == "-":
		return usagef("-o -: the array is a file of its own: name it, or write ./- for a file with this name")
	case e.matrix != "" && e.json:
		return usagef("-o and --json: give one of them")
	}
	return e.textSource.check()
}

// ranks reports whether the command prints scores in place of embeddings.
func (e *embedCommand) ranks() bool {
	return e.program.Labels() > 0 && (e.pooling == "" || e.pooling == PoolRank)
}

// embedAll prints the embeddings of all texts.
func (e *embedCommand) embedAll(ctx context.Context, s *Session) error {
	texts, err := e.texts(ctx, s.model.vocab)
	if err != nil {
		return err
	}
	e.printed = bufio.NewWriter(e.out)
	i := 0
	for v, err := range s.EmbedAll(ctx, texts, e.pooling) {
		if err != nil && e.lines {
			err = fmt.Errorf("line %d: %w", i+1, err)
		}
		if err != nil {
			return errors.Join(err, e.printed.Flush())
		}
		if err := e.print(i, len(texts[i]), v); err != nil {
			return err
		}
		i++
	}
	return errors.Join(e.printed.Flush(), e.writeMatrix())
}

// texts returns the tokens of each text.
func (e *embedCommand) texts(ctx context.Context, v *token.Vocab) ([][]int32, error) {
	if e.tokens != "" {
		ids, err := parseTokens(e.tokens)
		return [][]int32{ids}, err
	}
	text, err := e.text(ctx)
	if err != nil {
		return nil, err
	}
	if !e.lines {
		return [][]int32{e.textTokens(v, text)}, nil
	}
	var all [][]int32
	for line := range strings.Lines(text) {
		all = append(all, e.textTokens(v, strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")))
	}
	return all, nil
}

// textTokens returns the tokens of a text, after those of the query if there is one.
func (e *embedCommand) textTokens(v *token.Vocab, text string) []int32 {
	if e.queried {
		return v.EncodePair(nil, e.query, text)
	}
	return e.encode(v, text)
}

// width returns the number of elements of a line.
func (e *embedCommand) width() int {
	if e.ranks() {
		return e.program.Labels()
	}
	return e.program.EmbeddingWidth()
}

// print prints the embeddings of a text, or keeps them for the matrix.
func (e *embedCommand) print(index, tokens int, v []float32) error {
	for row := range slices.Chunk(v, e.width()) {
		if e.normalize || e.program.Encoder != nil && !e.raw && !e.ranks() {
			Normalize(row)
		}
		if e.matrix != "" {
			e.rows = append(e.rows, row...)
			continue
		}
		if _, err := e.printed.Write(e.format(index, tokens, row)); err != nil {
			return err
		}
	}
	return nil
}

// format returns the line of an embedding.
func (e *embedCommand) format(index, tokens int, row []float32) (b []byte) {
	sep := byte(' ')
	if e.json {
		what := "embedding"
		if e.ranks() {
			what = "scores"
		}
		b, sep = fmt.Appendf(b, `{"index":%d,"tokens":%d,"%s":[`, index, tokens, what), ','
	}
	for i, x := range row {
		if i > 0 {
			b = append(b, sep)
		}
		b = appendJSONFloat(b, float64(x), 32)
	}
	if e.json {
		b = append(b, ']', '}')
	}
	return append(b, '\n')
}

// writeMatrix writes the array, if one is wanted.
func (e *embedCommand) writeMatrix() error {
	if e.matrix == "" {
		return nil
	}
	var data []byte
	for _, x := range e.rows {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(x))
	}
	width := e.width()
	a := Array{Type: dtype.F32, Shape: []int{len(e.rows) / width, width}, Data: data}
	return writeWhole(e.matrix, func(w io.Writer) error { return WriteNPY(w, a) })
}
