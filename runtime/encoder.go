package runtime

import (
	"context"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Encoder describes the function of a module that makes embeddings of texts, by indexes of its Inputs and Outputs. The
// index of an input that it does not have is -1. The function takes a whole text of n tokens.
type Encoder struct {
	Func int // index of Program.Funcs

	Tokens  int // i32 [n]: the ids; n is 1 or a symbol
	Pos     int // i32 [n]: 0, 1, …, n-1
	Last    int // i32 [n]: n-1 everywhere
	Slot    int // i32 [n]: 0 everywhere
	Lengths int // i32 [1]: n

	Hidden  int     // output f32 [n, width]: the states of the tokens
	Pooling Pooling // how they become one embedding, as the model was trained

	// Only with PoolRank.
	First  int // i32 [1]: 0, the row of the first token
	Scores int // output f32 [1, labels]: the scores of the text
}

// first returns the index of the input that names the first token's row, or -1.
func (e *Encoder) first() int {
	if e.Pooling == PoolRank {
		return e.First
	}
	return -1
}

// checkEncoder panics when the table of an encoder contradicts its function.
func (p *Program) checkEncoder(e *Encoder) {
	if uint(e.Func) >= uint(len(p.Funcs)) {
		p.broken("Encoder refers to function %d of %d", e.Func, len(p.Funcs))
	}
	f := &p.Funcs[e.Func]
	taken := make([]bool, len(f.Inputs))
	for _, i := range []int{e.Tokens, e.Pos, e.Last, e.Slot, e.Lengths, e.first()} {
		if i == -1 && i != e.Tokens {
			continue
		}
		if uint(i) >= uint(len(f.Inputs)) || taken[i] || f.Inputs[i].Type != dtype.I32 || len(f.Inputs[i].Dims) != 1 {
			p.broken("%s: input %d of %d has a role that it cannot have", f.Name, i, len(f.Inputs))
		}
		taken[i] = true
	}
	n := f.Inputs[e.Tokens].Dims[0]
	for _, i := range []int{e.Pos, e.Last, e.Slot} {
		if i >= 0 && f.Inputs[i].Dims[0] != n {
			p.broken("%s: input %d has no element for each token", f.Name, i)
		}
	}
	p.checkStates(f, e.Hidden, n)
	if e.Pooling == PoolRank {
		p.checkStates(f, e.Scores, Dim{Const: 1})
	}
}

// checkStates panics unless an output has a row for each of n tokens, or texts.
func (p *Program) checkStates(f *Func, output int, n Dim) {
	if uint(output) >= uint(len(f.Outputs)) {
		p.broken("%s: output %d of %d has the states", f.Name, output, len(f.Outputs))
	}
	t := &f.Outputs[output]
	if t.Type != dtype.F32 || len(t.Dims) != 2 || t.Dims[0] != n || t.Dims[1].Scale != 0 {
		p.broken("%s: %s has no row for each token or text", f.Name, t.Name)
	}
}

// encodeText runs a text and returns the states of its tokens, which are valid until the next step.
func (s *Session) encodeText(ctx context.Context, tokens []int32) ([]float32, error) {
	p := s.model.program
	e := p.Encoder
	f := &p.Funcs[e.Func]
	n := f.Inputs[e.Tokens].Dims[0]
	if most := n.max(p); len(tokens) == 0 || len(tokens) > most {
		return nil, inputError("a text of %d tokens: %s takes 1 to %d at once: shorten it, or compile for more (--ctx)", len(tokens), p.Name, most)
	}
	if err := s.own(); err != nil {
		return nil, err
	}
	defer s.busy.Store(false)
	if n.Scale != 0 {
		s.args.Dims[n.Sym] = len(tokens)
	}
	copy(s.Ints(&f.Inputs[e.Tokens]), tokens)
	last := int32(len(tokens) - 1)
	s.fill(f, e.Pos, func(i int) int32 { return int32(i) })
	s.fill(f, e.Last, func(int) int32 { return last })
	s.fill(f, e.Slot, func(int) int32 { return 0 })
	s.fill(f, e.Lengths, func(int) int32 { return last + 1 })
	s.fill(f, e.first(), func(int) int32 { return 0 })
	if err := s.checkIndexes(f); err != nil {
		return nil, err
	}
	if err := s.run(ctx, e.Func); err != nil {
		return nil, err
	}
	return s.Floats(&f.Outputs[e.Hidden]), nil
}

// ContextLength returns how many tokens a sequence, or a text of an encoder, can have; 0 for other modules.
func (p *Program) ContextLength() int {
	switch {
	case p.LM != nil:
		return p.LM.Context
	case p.Encoder != nil:
		return p.Funcs[p.Encoder.Func].Inputs[p.Encoder.Tokens].Dims[0].max(p)
	}
	return 0
}

// encoded returns how many tokens a step of fn runs, if that is the encoder.
func (s *Session) encoded(fn int) int {
	p := s.model.program
	if p.Encoder == nil || p.Encoder.Func != fn {
		return 0
	}
	return p.Funcs[fn].Inputs[p.Encoder.Tokens].Dims[0].eval(&s.args.Dims)
}

// fill sets the elements of an input, if there is one.
func (s *Session) fill(f *Func, input int, of func(i int) int32) {
	if input < 0 {
		return
	}
	for i := range s.Ints(&f.Inputs[input]) {
		s.Ints(&f.Inputs[input])[i] = of(i)
	}
}

// EmbedText returns the embedding of a text by the model's own pooling, divided by its Euclidean length; of a model that ranks texts its
// scores as they are. The tokens that the model has around a text are added, and names of special tokens in the text are no tokens. Of a
// model without pooling it is the mean.
func (s *Session) EmbedText(ctx context.Context, text string) ([]float32, error) {
	if s.model.vocab == nil {
		return nil, inputError("%s has no tokenizer: give Embed the tokens of the text", s.model.program.Name)
	}
	v, err := s.Embed(ctx, s.model.vocab.Encode(nil, text, token.Options{Specials: true}), "")
	if err == nil && s.model.program.defaultPooling() != PoolRank {
		Normalize(v)
	}
	return v, err
}

// Rank returns the scores of a document for a query; most models have one, which is higher for documents that answer it better. The program
// is an encoder whose pooling is PoolRank. Names of special tokens in both are no tokens.
func (s *Session) Rank(ctx context.Context, query, document string) ([]float32, error) {
	p := s.model.program
	switch {
	case p.Labels() == 0:
		return nil, inputError("%s has no classification head: it ranks no texts", p.Name)
	case s.model.vocab == nil:
		return nil, inputError("%s has no tokenizer: give Embed the tokens of the query and the document", p.Name)
	}
	return s.Embed(ctx, s.model.vocab.EncodePair(nil, query, document), PoolRank)
}
