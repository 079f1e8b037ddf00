package model

import (
	"context"
	"iter"

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

//api:if rank

// PoolRank gives the scores of a text, by the model's classification head, in place of an embedding. It is the model's
// own.
const PoolRank Pooling = "rank"

//api:end

// EmbeddingWidth returns the number of elements of an embedding.
func (m *Model) EmbeddingWidth() int { return program.EmbeddingWidth() }

//api:if rank

// Labels returns the number of scores of a text.
func (m *Model) Labels() int { return program.Labels() }

//api:end

//api:if tokenizer

// Embed returns the embedding of a text by the model's own pooling, of Euclidean length 1. The session forgets its
// sequence.
func (s *Session) Embed(ctx context.Context, text string) ([]float32, error) {
	return s.s.EmbedText(ctx, text)
}

// EmbedAll returns the embedding of each text, the same bits as Embed. An encoder runs several short texts in one step,
// which takes less time. After an error, which is that of the text in its place, there are no more.
func (s *Session) EmbedAll(ctx context.Context, texts []string) iter.Seq2[[]float32, error] {
	return s.s.EmbedTexts(ctx, texts)
}

//api:if rank

// RankAll returns the scores of each document. Several short ones share a step, as in EmbedAll.
func (s *Session) RankAll(ctx context.Context, query string, documents []string) iter.Seq2[[]float32, error] {
	return s.s.RankAll(ctx, query, documents)
}

// Rank returns the scores of a document for a query: most models give one, which is higher for documents that answer it
// better. Embed returns those of a text alone. The session forgets its sequence.
func (s *Session) Rank(ctx context.Context, query, document string) ([]float32, error) {
	return s.s.Rank(ctx, query, document)
}

//api:end

//api:end

// EmbedTokens returns the embedding of a text of token ids, not normalized; with PoolNone, those of all tokens one
// after the other. The session forgets its sequence.
func (s *Session) EmbedTokens(ctx context.Context, tokens []int32, p Pooling) ([]float32, error) {
	return s.s.Embed(ctx, tokens, runtime.Pooling(p))
}

//api:end
