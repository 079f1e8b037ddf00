package runtime

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"time"

	"github.com/ggmlc/ggmlc/runtime/grammar"
	"github.com/ggmlc/ggmlc/runtime/sample"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// GenerateOptions control how tokens are chosen and when generation stops. The zero options are greedy and stop at
// the vocabulary's end of generation.
type GenerateOptions struct {
	Sampling  *sample.Options  // nil: the most probable token
	MaxTokens int              // 0: limited by the context alone; reaching its end is an error
	IgnoreEOG bool             // continue after an end-of-generation token
	Grammar   *grammar.Grammar // that the generated text follows; nil: the one that the program was compiled with
	AnyText   bool             // follow no grammar, even if the program was compiled with one

	// Whole means that the prompt is the whole sequence, not what follows the sequence so far. What both have in common
	// is not run again: see Session.Prompt.
	Whole bool

	// NoLogits means that Token.Logits are not needed. They may be nil then: a device that has found the most probable
	// tokens itself need not copy all logits to the host.
	NoLogits bool

	// Sampler, if not nil, chooses each token in place of Sampling, which Choice.Next still offers. An error ends the
	// generation.
	Sampler func(*Choice) (id int32, err error)

	// Stop are texts at which generation ends. They are not part of the generated text: text that may begin one is held
	// back for a later token.
	Stop []string
}

// sampling returns the options of the draws.
func (o *GenerateOptions) sampling() sample.Options {
	if o.Sampling == nil {
		return sample.Defaults()
	}
	return *o.Sampling
}

// Token is one generated token.
type Token struct {
	ID   int32
	Text string // whole UTF-8 characters; bytes of an incomplete one are held back for the next token
	End  bool   // an end-of-generation token, which is the last token unless IgnoreEOG is set

	Finish Finish // of the last token, why it is the last one

	// Logits are the logits from which the token was chosen, before the repetition penalty. They are valid until the
	// next token is requested. With GenerateOptions.NoLogits they may be nil.
	Logits []float32
}

// Generate appends a text to the sequence and yields tokens as they are generated. It adds the beginning-of-text
// token to an empty sequence if the vocabulary wants it. Control tokens written in the text are not recognised. An
// error is yielded as the last pair. Break the loop, or cancel the context, to stop; the next Generate continues the
// same sequence.
func (s *Session) Generate(ctx context.Context, prompt string, o GenerateOptions) iter.Seq2[Token, error] {
	vocab := s.model.vocab
	if vocab == nil {
		return s.failed(ctx, inputError("%s has no tokenizer: use GenerateTokens", s.model.program.Name))
	}
	s.settle()
	return s.GenerateTokens(ctx, s.encodeAt(prompt, specials(o.Whole) || s.isFirst()), o)
}

// encodeAt turns a text into tokens, with the special ones of the beginning if it is first.
func (s *Session) encodeAt(text string, first specials) []int32 {
	return s.model.vocab.Encode(nil, text, token.Options{Specials: bool(first)})
}

// encode turns a prompt into the tokens that follow the sequence.
func (s *Session) encode(prompt string) []int32 {
	return s.encodeAt(prompt, s.isFirst())
}

// specials is whether a text gets the tokens that the vocabulary puts at the beginning of sequences.
type specials bool

// isFirst reports whether the next text begins the sequence.
func (s *Session) isFirst() specials { return s.length == 0 && len(s.pending) == 0 }

// generation is one call of Generate. next allocates nothing.
type generation struct {
	s        *Session
	o        GenerateOptions
	sampling sample.Options // with what the vocabulary suppresses
	sampler  *sample.Sampler
	decoder  *token.Decoder // nil without tokenizer
	stopper  *stopper       // nil without stop strings
	matcher  follower       // nil without grammar
	limited  []float32      // logits with a grammar or a sampler of the caller
	choice   Choice         // that the caller's sampler makes
	few      *topDriver     // returns what the choice of a token needs; nil if that is all logits
	top      sample.Top     // with few: what it has returned, if there are no logits
	made     int
	done     bool // no token follows the last one
	ran      bool // logits are those after the last token
	saved    bool // the text continues in another generation, which prints a character that is incomplete here

	prompted, reused int // tokens of prompts that were run, and that were in the state already
	given            int // tokens of the prompt

	prefill, decoding time.Duration // until the first token was chosen, and after it

	// The last token.
	id     int32
	end    bool
	finish Finish
	text   []byte
	logits []float32
}

func newGeneration(s *Session, o GenerateOptions) (*generation, error) {
	lm := s.model.program.LM
	if lm == nil {
		return nil, inputError("%s is no language model: use Call", s.model.program.Name)
	}
	if o.MaxTokens < 0 {
		return nil, inputError("%d tokens: the number of tokens must be 0 (no limit) or more", o.MaxTokens)
	}
	sampling := s.model.suppress(o.sampling())
	sampler, err := sample.New(sampling, lm.Vocab)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInput, err)
	}
	g := &generation{s: s, o: o, sampling: sampling, sampler: sampler, text: make([]byte, 0, 256)}
	if s.model.vocab != nil {
		g.decoder = token.NewDecoder(s.model.vocab)
	}
	if g.stopper, err = newStopper(o.Stop); err != nil {
		return nil, err
	}
	if g.stopper != nil && g.decoder == nil {
		return nil, inputError("stop strings: %s has no tokenizer", s.model.program.Name)
	}
	if err := g.follow(); err != nil {
		return nil, err
	}
	g.prepareChoice()
	g.few = g.enough()
	return g, nil
}

// suppress returns the options with a bias against the tokens that the vocabulary suppresses.
func (m *Model) suppress(o sample.Options) sample.Options {
	if m.vocab == nil {
		return o
	}
	o.Bias = slices.Clip(o.Bias) // the caller's
	for _, id := range m.vocab.Suppressed() {
		o.Bias = append(o.Bias, sample.Bias{Token: id, Add: float32(math.Inf(-1))})
	}
	return o
}

// start runs the prompt.
func (g *generation) start(ctx context.Context, prompt []int32) (err error) {
	g.given = len(prompt)
	begin := time.Now()
	defer func() { g.prefill += time.Since(begin) }()
	if g.o.Whole {
		g.s.grammar.tokens = 0
		if err = g.restart(ctx, prompt); err == nil {
			g.sampler.Accept(prompt...)
		}
		return err
	}
	g.sampler.Accept(g.s.past.first(g.s.length)...)
	if len(prompt) == 0 && len(g.s.pending) > 0 {
		if err := g.proceed(); err != nil {
			return err
		}
	} else {
		g.s.grammar.tokens = 0
	}
	if len(g.s.pending) > 0 {
		prompt = append([]int32{g.s.pending[0]}, prompt...)
	}
	if g.logits, err = g.s.Prefill(ctx, prompt); err != nil {
		return err
	}
	g.s.pending, g.ran = g.s.pending[:0], true
	g.prompted += len(prompt)
	g.sampler.Accept(prompt...)
	return nil
}

// restart makes tokens the whole sequence, up to and with what was generated. The generation continues after them.
func (g *generation) restart(ctx context.Context, tokens []int32) error {
	logits, kept, err := g.s.prompt(ctx, tokens)
	if err != nil {
		return err
	}
	g.logits, g.ran = logits, true
	g.prompted, g.reused = g.prompted+len(tokens)-kept, g.reused+kept
	return nil
}

// next generates one token. It must not be called once done is set.
func (g *generation) next(ctx context.Context) (err error) {
	took := &g.decoding
	if g.made == 0 {
		took = &g.prefill
	}
	begin := time.Now()
	defer func() { *took += time.Since(begin) }()
	if !g.ran {
		if err = g.step(ctx); err != nil {
			return err
		}
		g.s.pending = g.s.pending[:0]
	}
	g.ran = false
	if g.id, err = g.choose(); err != nil {
		return err
	}
	g.sampler.Accept(g.id)
	g.s.pending = append(g.s.pending[:0], g.id)
	g.made++
	g.note()
	g.end = g.s.model.vocab != nil && g.s.model.vocab.IsEOG(g.id)
	switch {
	case g.end && !g.o.IgnoreEOG:
		g.finish = FinishEnd
	case g.made == g.o.MaxTokens:
		g.finish = FinishLength
	}
	g.done = g.finish != FinishNone
	g.decode()
	g.stop()
	return nil
}

// step runs the last token.
func (g *generation) step(ctx context.Context) (err error) {
	if g.few != nil {
		g.logits = nil
		return g.s.decodeTop(ctx, g.id, &g.top)
	}
	g.logits, err = g.s.Decode(ctx, g.id)
	return err
}

// stop ends the generation if its text has a stop string.
func (g *generation) stop() {
	if g.stopper == nil {
		return
	}
	stopped := false
	if g.text, stopped = g.stopper.pass(g.text, moreText(!g.done)); stopped {
		g.finish, g.done = FinishStop, true
	}
}

// decode sets the text that the token completes.
func (g *generation) decode() {
	g.text = g.text[:0]
	if g.decoder == nil {
		return
	}
	if g.text = g.decoder.Append(g.text, g.id); g.done {
		g.flush()
	}
}

// flush adds what was held back: a character that is incomplete after the last token becomes U+FFFD.
func (g *generation) flush() {
	if g.saved {
		return
	}
	whole := len(g.text)
	if g.text = g.decoder.Flush(g.text); len(g.text) > whole {
		g.text = append(g.text[:whole], "\uFFFD"...)
	}
}

// leave ends the generation after the last token. It sets the text that was held back.
func (g *generation) leave() {
	g.text = g.text[:0]
	if g.done || g.decoder == nil {
		return
	}
	g.done = true
	g.flush()
	g.stop()
}

func (g *generation) token() Token {
	return Token{ID: g.id, Text: string(g.text), End: g.end, Finish: g.finish, Logits: g.logits}
}
