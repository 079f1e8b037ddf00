package runtime

import (
	"context"
	"math"
)

// PerplexityOptions specify which tokens of a text are predicted, and from how many before them. The definition is that
// of llama.cpp (tools/perplexity/perplexity.cpp), so that values compare.
//
// Without Stride, the text is cut into chunks of Chunk tokens; what is left at its end is not used. Each chunk is a
// sequence of its own. Its tokens from Chunk/2+1 on are predicted, each from all before it in the chunk, so that each
// has at least Chunk/2 tokens of context. In place of the chunk's first token is the beginning-of-text token, if the
// vocabulary adds one to texts.
//
// With Stride, windows of Chunk tokens begin Stride tokens after each other, and the last Stride tokens of each are
// predicted. No token is replaced. (llama.cpp adds half the stride to its context, and the command of programs to its
// chunks: -c 512 --ppl-stride 256 are chunks of 640.)
type PerplexityOptions struct {
	Chunk  int
	Stride int // 0: no overlap
	Chunks int // at most so many; 0: all
}

// Perplexity is a sum over predicted tokens. Of each the negated logarithm of its probability counts.
type Perplexity struct {
	Tokens int     // predicted
	Sum    float64 // of -log p
	Square float64 // of (log p)²
}

// Value returns e to the mean of -log p: a model that guesses among n equally probable tokens has n.
func (p *Perplexity) Value() float64 { return math.Exp(p.Sum / float64(p.Tokens)) }

// StandardError returns the standard error of Value, to first order: that of the mean of -log p, times Value. It is 0
// for fewer than two tokens. It takes the tokens as independent of each other.
func (p *Perplexity) StandardError() float64 {
	n := float64(p.Tokens)
	mean := p.Sum / n
	variance := p.Square/n - mean*mean
	if p.Tokens < 2 || variance <= 0 {
		return 0
	}
	return math.Sqrt(variance/(n-1)) * p.Value()
}

// add counts a token with the logits from which it is predicted.
func (p *Perplexity) add(logits []float32, id int32) error {
	total, err := logSum(logits)
	if err != nil {
		return err
	}
	nll := total - float64(logits[id])
	p.Tokens++
	p.Sum += nll
	p.Square += nll * nll
	return nil
}

// window is a chunk or window of a text.
type window struct{ begin, end int }

// spans returns the parts of a text of n tokens that are run. The first one that a prediction is made after is returned
// as an index within each.
func (o PerplexityOptions) spans(n int) (list []window, first int) {
	step, count := o.Chunk, n/o.Chunk
	first = o.Chunk / 2
	if o.Stride > 0 {
		step, count = o.Stride, (n-o.Chunk+o.Stride-1)/o.Stride
		first = o.Chunk - o.Stride - 1
	}
	if o.Chunks > 0 {
		count = min(count, o.Chunks)
	}
	for i := range count {
		list = append(list, window{i * step, i*step + o.Chunk})
	}
	return list, first
}

// check reports options that do not fit the model, or a text that is too short.
func (o PerplexityOptions) check(lm *LanguageModel, n int) error {
	switch {
	case o.Chunk < 3:
		return inputError("chunks of %d tokens: at least 3 are needed to predict one from two", o.Chunk)
	case o.Chunk > lm.Context:
		return inputError("chunks of %d tokens: the program was compiled for %d positions: use shorter ones, or compile with a larger --ctx", o.Chunk, lm.Context)
	case o.Stride < 0 || o.Stride >= o.Chunk:
		return inputError("a stride of %d in chunks of %d: it must be shorter than a chunk", o.Stride, o.Chunk)
	case o.Chunks < 0:
		return inputError("%d chunks: it must be 0 (all) or more", o.Chunks)
	case n < 2*o.Chunk:
		return &TextLengthError{Tokens: n, Wanted: 2 * o.Chunk, Chunk: o.Chunk}
	}
	return nil
}

// Perplexity forgets the sequence and measures how well the model predicts a text, which is given as its tokens,
// including the ones that the vocabulary adds. visit is called after each chunk with the sum so far.
func (s *Session) Perplexity(ctx context.Context, tokens []int32, o PerplexityOptions, visit func(Perplexity) error) (Perplexity, error) {
	var sum Perplexity
	if s.model.program.LM == nil {
		return sum, inputError("%s is no language model", s.model.program.Name)
	}
	if err := o.check(s.model.program.LM, len(tokens)); err != nil {
		return sum, err
	}
	list, first := o.spans(len(tokens))
	chunk := make([]int32, o.Chunk)
	for _, at := range list {
		copy(chunk, tokens[at.begin:at.end])
		if v := s.model.vocab; o.Stride == 0 && v != nil && v.AddsBOS() {
			chunk[0] = v.BOS()
		}
		s.Reset()
		// The last token is only predicted.
		err := s.Score(ctx, chunk[:o.Chunk-1], first, func(i int, logits []float32) error { return sum.add(logits, chunk[i+1]) })
		if err != nil {
			return sum, err
		}
		if err := visit(sum); err != nil {
			return sum, err
		}
	}
	return sum, nil
}
