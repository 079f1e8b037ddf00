package runtime

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"
)

// perplexityCommand measures how well the model predicts a text.
type perplexityCommand struct {
	textSource
	o      PerplexityOptions
	chunks int // finished
}

// defaultChunk is the length of a chunk in tokens where the context has room for it, as in llama.cpp.
const defaultChunk = 512

func (c *cli) perplexity() func(context.Context) error {
	p := &perplexityCommand{textSource: textSource{cli: c}}
	p.textFlags()
	p.tokensFlag()
	c.flags.number(&p.o.Chunk, "chunk", "N", "tokens of a chunk; those of its second half are predicted (default: 512, or the context)", 3)
	c.flags.number(&p.o.Stride, "stride", "N", "chunks begin N tokens after each other, have N/2 more, and the last N of each are predicted (default: 0, chunks do not overlap)", 0)
	c.flags.number(&p.o.Chunks, "chunks", "N", "only the first N chunks (default: all)", 1)
	c.flags.on(&c.json, "json", "one JSON object a line: chunks, then a summary")
	c.modelFlags()
	return func(ctx context.Context) error { return p.withSession(ctx, p.check, p.measure) }
}

// check reports a wrong command line.
func (p *perplexityCommand) check() error {
	lm := p.program.LM
	if lm == nil {
		return usagef("%s is no language model: it predicts no text", p.program.Name)
	}
	more := p.o.Stride / 2 // as llama.cpp adds to its context
	p.o.Chunk = cmp.Or(p.o.Chunk, min(defaultChunk, lm.Context-more)) + more
	return p.textSource.check()
}

func (p *perplexityCommand) measure(ctx context.Context, s *Session) error {
	ids, err := p.ids(ctx, s.model.vocab)
	if err != nil {
		return err
	}
	if !s.model.prefill.eachToken() && terminal(p.err) {
		fmt.Fprintf(p.err, "%s: a step for each token: a program made with ggmlc's --all-logits takes many at once\n", p.name)
	}
	begin := time.Now()
	sum, err := s.Perplexity(ctx, ids, p.o, p.chunk)
	if err != nil {
		return err
	}
	return p.summary(sum, time.Since(begin))
}

// chunk prints the value after a chunk.
func (p *perplexityCommand) chunk(sum Perplexity) error {
	p.chunks++
	var b []byte
	if p.json {
		b = strconv.AppendInt(append(b, `{"chunk":`...), int64(p.chunks), 10)
		b = appendJSONFloat(append(b, `,"perplexity":`...), sum.Value(), 64)
		b = append(b, '}', '\n')
	} else {
		b = fmt.Appendf(b, "%6d %12.4f\n", p.chunks, sum.Value())
	}
	_, err := p.out.Write(b)
	return err
}

func (p *perplexityCommand) summary(sum Perplexity, took time.Duration) error {
	if !p.json {
		_, err := fmt.Fprintf(p.out, "perplexity %.4f +/- %.5f\n", sum.Value(), sum.StandardError())
		fmt.Fprintf(p.err, "%s: %d chunks of %d tokens, %d tokens predicted in %.1f s\n", p.name, p.chunks, p.o.Chunk, sum.Tokens, took.Seconds())
		return err
	}
	b := appendJSONFloat([]byte(`{"summary":{"perplexity":`), sum.Value(), 64)
	b = appendJSONFloat(append(b, `,"standard_error":`...), sum.StandardError(), 64)
	b = appendJSONFloat(append(b, `,"mean_nll":`...), sum.Sum/float64(sum.Tokens), 64)
	for _, n := range []struct {
		name  string
		value int
	}{{"chunks", p.chunks}, {"chunk", p.o.Chunk}, {"stride", p.o.Stride}, {"predicted", sum.Tokens}} {
		b = append(append(append(b, ',', '"'), n.name...), '"', ':')
		b = strconv.AppendInt(b, int64(n.value), 10)
	}
	b = appendFields(b, field{"seconds", took.Seconds()})
	_, err := p.out.Write(append(b, '}', '}', '\n'))
	return err
}
