package model

import (
	"context"
	"iter"
	"time"

	"github.com/ggmlc/ggmlc/runtime"
)

//api:if language

// GenerateOptions configure how tokens are chosen and when generation stops. The zero options take the most probable
// token until the model ends the text.
type GenerateOptions struct {
	// Sampling is how tokens are chosen.
	Sampling Sampling

	// MaxTokens is how many tokens are generated at most; 0 is up to the end of the context, which is ErrContextFull.
	MaxTokens int

	//api:if tokenizer
	// Stop are texts at which generation ends. They are not part of the text: text that may begin one comes with a
	// later token.
	Stop []string

	// Grammar, if not nil, is what the generated text follows; nil is the grammar that the model was compiled with, if
	// any.
	Grammar *Grammar

	// AnyText makes the text follow no grammar, even if the model was compiled with one.
	AnyText bool

	//api:end
	// IgnoreEOG continues after a token that ends the text.
	IgnoreEOG bool

	// Whole means that the prompt is the whole sequence, and not what follows the sequence so far. What both have in
	// common is not run again.
	Whole bool

	// NoLogits means that Token.Logits are not needed: they may be nil. A GPU that has found the most probable tokens
	// need not copy all logits then.
	NoLogits bool

	// Sampler, if not nil, chooses each token, in the goroutine that generates. An error ends the generation with that
	// error.
	Sampler func(*Choice) (id int32, err error)
}

// runtime returns the options as package runtime has them, for a session.
func (o GenerateOptions) runtime(s *Session) runtime.GenerateOptions {
	r := runtime.GenerateOptions{
		Sampling: new(o.Sampling.runtime(s)), MaxTokens: o.MaxTokens, IgnoreEOG: o.IgnoreEOG, Whole: o.Whole, NoLogits: o.NoLogits,
		//api:if tokenizer
		Stop: o.Stop, Grammar: o.Grammar.runtime(), AnyText: o.AnyText,
		//api:end
	}
	if o.Sampler != nil {
		r.Sampler = func(c *runtime.Choice) (int32, error) { return o.Sampler(&Choice{c.Logits, c}) }
	}
	return r
}

// Choice is the choice of one token, which GenerateOptions.Sampler makes.
type Choice struct {
	// Logits are those after the last token, one for each id. They are a copy, which may be changed, and valid until
	// the sampler returns. Those of ids that the grammar excludes are minus infinity.
	Logits []float32

	c *runtime.Choice
}

// Next returns the id that GenerateOptions.Sampling chooses from Logits as they are now. Each call draws again.
func (c *Choice) Next() (int32, error) {
	c.c.Logits = c.Logits
	return c.c.Next()
}

// Token is a generated token.
type Token struct {
	ID     int32
	Text   string // whole UTF-8 characters: an incomplete one comes with a later token
	End    bool   // it is one that ends the text
	Finish Finish // of the last token and of an error: why it is the last one

	// Logits are those from which the token was chosen. They are valid until the next token is requested. With NoLogits
	// they may be nil.
	Logits []float32
}

// Finish is why a generation has ended.
type Finish string

// The reasons. Those of tokens are FinishEnd, FinishStop and FinishLength.
const (
	FinishNone      Finish = ""          // it has not ended
	FinishEnd       Finish = "end"       // by a token that ends the text
	FinishStop      Finish = "stop"      // by a stop string
	FinishLength    Finish = "length"    // MaxTokens have been generated
	FinishContext   Finish = "context"   // the context is full: ErrContextFull
	FinishCancelled Finish = "cancelled" // the caller's context ended: ErrCancelled
	FinishError     Finish = "error"     // by any other error
	FinishBreak     Finish = "break"     // the caller left the loop
)

// Summary is what a generation has done.
type Summary struct {
	Finish       Finish
	PromptTokens int           // of the prompt
	CachedTokens int           // of the prompt, those that were not run again
	Generated    int           // tokens
	Seed         uint64        // of the draws: with it, Sampling draws the same tokens again
	Prefill      time.Duration // until the first token was chosen, with the wait for steps of other sessions
	Decode       time.Duration // of the tokens after the first, without the caller's work between them
}

// summaryOf returns a summary of package runtime.
func summaryOf(s runtime.Summary) Summary {
	return Summary{Finish(s.Finish), s.PromptTokens, s.CachedTokens, s.Generated, s.Seed, s.Prefill, s.Decode}
}

//api:if tokenizer

// Generate appends the prompt to the sequence and yields tokens as they are made, until the end of the text, a stop
// string, the limit or an error, which comes last. Breaking out of the loop, or the end of ctx, stops it; the next call
// continues the sequence.
func (s *Session) Generate(ctx context.Context, prompt string, o GenerateOptions) iter.Seq2[Token, error] {
	return tokensOf(s.s.Generate(ctx, prompt, o.runtime(s)))
}

//api:end

// GenerateTokens appends the ids of a prompt to the sequence and yields tokens as they are made, until the end of the
// text, the limit or an error, which comes last. Breaking out of the loop, or the end of ctx, stops it; the next call
// continues the sequence.
func (s *Session) GenerateTokens(ctx context.Context, prompt []int32, o GenerateOptions) iter.Seq2[Token, error] {
	return tokensOf(s.s.GenerateTokens(ctx, prompt, o.runtime(s)))
}

// Summary returns what the session's last generation has done. Inside the loop it is what has been done so far.
func (s *Session) Summary() Summary { return summaryOf(s.s.Summary()) }

// tokensOf returns the tokens of a generation of package runtime.
func tokensOf(seq iter.Seq2[runtime.Token, error]) iter.Seq2[Token, error] {
	return func(yield func(Token, error) bool) {
		for t, err := range seq {
			if !yield(Token{t.ID, t.Text, t.End, Finish(t.Finish), t.Logits}, err) {
				return
			}
		}
	}
}

//api:end
