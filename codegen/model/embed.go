package model

import (
	"context"

	"github.com/ggmlc/ggmlc/runtime"
)

//api:if embeddings

// Pooling is how the states of a text's tokens become one embedding.
type Pooling string

// The kinds of pooling.
const (
	PoolDefault Pooling = ""     // the model's own, or the mean if it has none
	PoolNone    Pooling = "none" // each token has an embedding of its own
	PoolMean    Pooling = "mean" // the mean of all tokens
	PoolCLS     Pooling = "cls"  // the first token
	PoolLast    Pooling = "last" // the last token
)

// EmbeddingWidth returns the number of elements of an embedding.
func (m *Model) EmbeddingWidth() int { return program.EmbeddingWidth() }

//api:if tokenizer

// Embed returns the embedding of a text by the model's own pooling, of Euclidean length 1. The session forgets its sequence.
func (s *Session) Embed(ctx context.Context, text string) ([]float32, error) {
	return s.s.EmbedText(ctx, text)
}

//api:end

// EmbedTokens returns the embedding of a text of token ids, not normalized; with PoolNone, those of all tokens one after the
// other. The session forgets its sequence.
func (s *Session) EmbedTokens(ctx context.Context, tokens []int32, p Pooling) ([]float32, error) {
	return s.s.Embed(ctx, tokens, runtime.Pooling(p))
}

//api:end
