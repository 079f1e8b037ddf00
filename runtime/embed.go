package runtime

import (
	"context"
	"fmt"
	"iter"
	"math"
)

// Pooling is how the states of a text's tokens become one embedding. A state is what the model computes for a token
// after its last norm, from which the logits follow.
type Pooling string

// The kinds of pooling.
const (
	PoolNone Pooling = "none" // each token has an embedding of its own
	PoolMean Pooling = "mean" // the mean of all tokens
	PoolCLS  Pooling = "cls"  // the first token
	PoolLast Pooling = "last" // the last token
	PoolRank Pooling = "rank" // scores by the classification head of an encoder that has one, in place of an embedding
)

// poolings are the kinds of pooling in the order of messages.
var poolings = []Pooling{PoolMean, PoolLast, PoolCLS, PoolNone, PoolRank}

// checkHidden panics unless the output with the states is as Pooling declares it.
func (p *Program) checkHidden(lm *LanguageModel) {
	if lm.Pooling == "" {
		return
	}
	f := &p.Funcs[lm.Prefill.Func]
	p.checkStates(f, lm.Hidden, f.Inputs[lm.Prefill.Tokens].Dims[0])
}

// Embeds reports whether the program gives embeddings: whether it is an encoder, or was compiled with --embeddings.
func (p *Program) Embeds() bool { return p.Encoder != nil || p.LM != nil && p.LM.Pooling != "" }

// Labels returns the number of scores that a text gets from a model that ranks texts; 0 for other models.
func (p *Program) Labels() int {
	if p.Encoder == nil || p.Encoder.Pooling != PoolRank {
		return 0
	}
	return p.Funcs[p.Encoder.Func].Outputs[p.Encoder.Scores].Dims[1].Const
}

// EmbeddingWidth returns the number of elements of an embedding; 0 for a program without.
func (p *Program) EmbeddingWidth() int {
	if !p.Embeds() {
		return 0
	}
	if e := p.Encoder; e != nil {
		return p.Funcs[e.Func].Outputs[e.Hidden].Dims[1].Const
	}
	return p.Funcs[p.LM.Prefill.Func].Outputs[p.LM.Hidden].Dims[1].Const
}

// Embed forgets the sequence, runs tokens as a new one, and returns their embedding. With PoolNone, the embeddings of
// all tokens follow each other; with PoolRank, there are Labels scores in its place. "" is the model's own pooling, or
// the mean if it has none. Sessions of Sessions give none.
func (s *Session) Embed(ctx context.Context, tokens []int32, pooling Pooling) ([]float32, error) {
	if !s.model.program.Embeds() {
		return nil, inputError("%s gives no embeddings: compile it with --embeddings", s.model.program.Name)
	}
	if s.seat != nil {
		return nil, inputError("sessions of Sessions give no embeddings: use a session of Model.NewSession")
	}
	if s.model.program.Encoder != nil {
		return s.embedText(ctx, tokens, pooling)
	}
	pool, err := s.model.program.pooler(pooling, len(tokens))
	if err != nil {
		return nil, err
	}
	s.Reset()
	if err := s.checkScore(tokens, 0); err != nil {
		return nil, err
	}
	batch := s.model.program.LM.Batch
	hidden := &s.model.program.Funcs[s.model.prefill.fn].Outputs[s.model.program.LM.Hidden]
	for begin := 0; begin < len(tokens); begin += batch {
		if _, err := s.Prefill(ctx, tokens[begin:min(begin+batch, len(tokens))]); err != nil {
			s.Reset()
			return nil, err
		}
		pool.add(s.Floats(hidden))
	}
	return pool.result()
}

// embedText is Embed of an encoder.
func (s *Session) embedText(ctx context.Context, tokens []int32, pooling Pooling) ([]float32, error) {
	if _, err := s.model.program.pooler(pooling, len(tokens)); err != nil {
		return nil, err
	}
	if err := s.checkText(tokens); err != nil {
		return nil, err
	}
	all, err := s.embedStep(ctx, [][]int32{tokens}, pooling)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// EmbedAll returns the embedding of each text, as Embed does. An encoder runs as many texts in one step as it was
// compiled for and have room in its tokens, which takes less time for short ones; the embeddings are the same bits.
// After an error, which is that of the text in its place, there are no more.
func (s *Session) EmbedAll(ctx context.Context, texts [][]int32, pooling Pooling) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		for len(texts) > 0 {
			all, err := s.embedSome(ctx, texts, pooling)
			for _, v := range all {
				if !yield(v, nil) {
					return
				}
			}
			if err != nil {
				yield(nil, err)
				return
			}
			texts = texts[len(all):]
		}
	}
}

// embedSome returns the embeddings of as many texts as one step takes: after an error those before it.
func (s *Session) embedSome(ctx context.Context, texts [][]int32, pooling Pooling) ([][]float32, error) {
	if s.model.program.Encoder != nil && s.seat == nil {
		n, err := s.oneStep(texts)
		if err == nil && n > 1 {
			return s.embedStep(ctx, texts[:n], pooling)
		}
	}
	v, err := s.Embed(ctx, texts[0], pooling)
	if err != nil {
		return nil, err
	}
	return [][]float32{v}, nil
}

// pooler collects the states of tokens.
type pooler struct {
	pooling   Pooling
	width     int
	tokens, n int       // of the text, and added so far
	sum       []float64 // for the mean
	rows      []float32 // for the others
}

// pooler returns the pooler of a text.
func (p *Program) pooler(pooling Pooling, tokens int) (*pooler, error) {
	if pooling == "" {
		pooling = p.defaultPooling()
	}
	k := &pooler{pooling: pooling, width: p.EmbeddingWidth(), tokens: tokens}
	switch pooling {
	case PoolMean:
		k.sum = make([]float64, k.width)
	case PoolNone, PoolCLS, PoolLast:
	case PoolRank:
		if k.width = p.Labels(); k.width == 0 {
			return nil, inputError("pooling %q: %s has no classification head: choose one of %v", string(pooling), p.Name, poolings[:len(poolings)-1])
		}
	default:
		return nil, inputError("pooling %q: choose one of %v", string(pooling), poolings)
	}
	return k, nil
}

// defaultPooling returns the model's own pooling, or the mean.
func (p *Program) defaultPooling() Pooling {
	own := PoolNone
	if p.Encoder != nil {
		own = p.Encoder.Pooling
	} else if p.LM != nil {
		own = p.LM.Pooling
	}
	if own == PoolNone {
		return PoolMean
	}
	return own
}

// add adds the rows of the next tokens.
func (k *pooler) add(rows []float32) {
	for ; len(rows) > 0; rows = rows[k.width:] {
		row := rows[:k.width]
		switch {
		case k.pooling == PoolMean:
			for i, x := range row {
				k.sum[i] += float64(x)
			}
		case k.pooling == PoolNone, k.pooling == PoolRank, k.pooling == PoolCLS && k.n == 0, k.pooling == PoolLast && k.n == k.tokens-1:
			k.rows = append(k.rows, row...)
		}
		k.n++
	}
}

// result returns the embedding. The error is ErrNumerics if it holds NaN.
func (k *pooler) result() ([]float32, error) {
	for _, x := range k.sum {
		k.rows = append(k.rows, float32(x/float64(k.n)))
	}
	for i, x := range k.rows {
		if x != x {
			return nil, fmt.Errorf("element %d of the embedding: %w", i, ErrNumerics)
		}
	}
	return k.rows, nil
}

// Normalize divides a vector by its Euclidean length. A vector of zeros stays as it is.
func Normalize(v []float32) {
	sum := 0.0
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return
	}
	for i, x := range v {
		v[i] = float32(float64(x) / math.Sqrt(sum))
	}
}
