package runtime

import (
	"context"
	"iter"

	"github.com/ggmlc/ggmlc/ir/dtype"
	"github.com/ggmlc/ggmlc/runtime/token"
)

// Encoder describes the function of a module that makes embeddings of texts, by indexes of its Inputs and Outputs. The
// index of an input that it does not have is -1. The function takes whole texts of n tokens together, one after the
// other.
type Encoder struct {
	Func int // index of Program.Funcs

	Tokens  int // i32 [n]: the ids; n is 1 or a symbol
	Pos     int // i32 [n]: the position of each token in its text, from 0
	Last    int // i32 [n]: that of the last token of its text
	Slot    int // i32 [n]: the number of its text in the step, from 0
	Lengths int // i32 [texts]: the number of tokens of each text; 0 for a text that the step does not have

	Hidden  int     // output f32 [n, width]: the states of the tokens
	Pooling Pooling // how they become one embedding, as the model was trained

	// Only with PoolRank.
	First  int // i32 [texts]: the row of the first token of each text; texts is 1 or a symbol
	Scores int // output f32 [texts, labels]: the scores of each text
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
	if e.Lengths >= 0 && (f.Inputs[e.Lengths].Dims[0].Scale != 0 || f.Inputs[e.Lengths].Dims[0].Const < 1) {
		p.broken("%s: the number of texts is not constant", f.Name)
	}
	if e.Pooling == PoolRank {
		texts := Dim{Const: 1}
		if e.First >= 0 {
			texts = f.Inputs[e.First].Dims[0]
		}
		p.checkStates(f, e.Scores, texts)
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

// texts returns the most texts of a step.
func (e *Encoder) texts(p *Program) int {
	f := &p.Funcs[e.Func]
	switch {
	case e.Slot < 0 || e.Lengths < 0:
		return 1
	case e.first() >= 0:
		return min(f.Inputs[e.Lengths].Dims[0].Const, f.Inputs[e.First].Dims[0].max(p))
	}
	return f.Inputs[e.Lengths].Dims[0].Const
}

// checkText refuses a text that no step can take.
func (s *Session) checkText(tokens []int32) error {
	p := s.model.program
	in := &p.Funcs[p.Encoder.Func].Inputs[p.Encoder.Tokens]
	if most := in.Dims[0].max(p); len(tokens) == 0 || len(tokens) > most {
		return inputError("a text of %d tokens: %s takes 1 to %d at once: shorten it, or compile for more (--ctx)", len(tokens), p.Name, most)
	}
	for _, d := range in.Below {
		for i, id := range tokens {
			if d.Scale == 0 && (id < 0 || int(id) >= d.Const) {
				return notBelow(in, i, id, d.Const)
			}
		}
	}
	return nil
}

// oneStep returns how many of the texts, at least the first, one step takes, and the error of the first.
func (s *Session) oneStep(texts [][]int32) (n int, err error) {
	p := s.model.program
	room := p.Funcs[p.Encoder.Func].Inputs[p.Encoder.Tokens].Dims[0].max(p)
	for n < min(len(texts), p.Encoder.texts(p)) && len(texts[n]) <= room {
		if err := s.checkText(texts[n]); err != nil {
			break
		}
		room -= len(texts[n])
		n++
	}
	if n == 0 {
		return 0, s.checkText(texts[0])
	}
	return n, nil
}

// encodeStep runs texts in one step.
func (s *Session) encodeStep(ctx context.Context, texts [][]int32) error {
	p := s.model.program
	e := p.Encoder
	f := &p.Funcs[e.Func]
	if err := s.own(); err != nil {
		return err
	}
	defer s.busy.Store(false)
	tokens := 0
	for _, text := range texts {
		tokens += len(text)
	}
	s.size(f, e.Tokens, tokens)
	s.size(f, e.first(), len(texts))
	s.set(f, e.Lengths, 0, e.texts(p), 0)
	at := 0
	for k, text := range texts {
		n := len(text)
		copy(s.Ints(&f.Inputs[e.Tokens])[at:], text)
		for i := range text {
			s.set(f, e.Pos, at+i, 1, i)
		}
		s.set(f, e.Last, at, n, n-1)
		s.set(f, e.Slot, at, n, k)
		s.set(f, e.Lengths, k, 1, n)
		s.set(f, e.first(), k, 1, at)
		at += n
	}
	if err := s.checkIndexes(f); err != nil {
		return err
	}
	return s.run(ctx, e.Func)
}

// embedStep runs texts in one step and returns their embeddings, or scores: after an error those before it.
func (s *Session) embedStep(ctx context.Context, texts [][]int32, pooling Pooling) (all [][]float32, err error) {
	p := s.model.program
	e := p.Encoder
	if err := s.encodeStep(ctx, texts); err != nil {
		return nil, err
	}
	states := s.Floats(&p.Funcs[e.Func].Outputs[e.Hidden])
	for k, text := range texts {
		pool, err := p.pooler(pooling, len(text))
		if err != nil {
			return all, err
		}
		if pool.pooling == PoolRank {
			pool.add(s.Floats(&p.Funcs[e.Func].Outputs[e.Scores])[k*pool.width:][:pool.width])
		} else {
			n := len(text) * pool.width
			pool.add(states[:n])
			states = states[n:]
		}
		v, err := pool.result()
		if err != nil {
			return all, err
		}
		all = append(all, v)
	}
	return all, nil
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

// size sets the symbol of an input's extent, if there are both.
func (s *Session) size(f *Func, input, n int) {
	if input >= 0 && f.Inputs[input].Dims[0].Scale != 0 {
		s.args.Dims[f.Inputs[input].Dims[0].Sym] = n
	}
}

// set sets n elements of an input from element at on, if there is one.
func (s *Session) set(f *Func, input, at, n, value int) {
	if input < 0 {
		return
	}
	list := s.Ints(&f.Inputs[input])[at : at+n]
	for i := range list {
		list[i] = int32(value)
	}
}

// EmbedText returns the embedding of a text by the model's own pooling, divided by its Euclidean length; of a model
// that ranks texts its scores as they are. The tokens that the model has around a text are added, and names of special
// tokens in the text are no tokens. Of a model without pooling it is the mean.
func (s *Session) EmbedText(ctx context.Context, text string) ([]float32, error) {
	return onlyOne(s.EmbedTexts(ctx, []string{text}))
}

// EmbedTexts returns what EmbedText returns for each of several texts, and shares steps as EmbedAll does.
func (s *Session) EmbedTexts(ctx context.Context, texts []string) iter.Seq2[[]float32, error] {
	p := s.model.program
	if s.model.vocab == nil {
		return onlyError(inputError("%s has no tokenizer: give Embed the tokens of the text", p.Name))
	}
	all := make([][]int32, len(texts))
	for i, text := range texts {
		all[i] = s.model.vocab.Encode(nil, text, token.Options{Specials: true})
	}
	return func(yield func([]float32, error) bool) {
		for v, err := range s.EmbedAll(ctx, all, "") {
			if err == nil && p.defaultPooling() != PoolRank {
				Normalize(v)
			}
			if !yield(v, err) {
				return
			}
		}
	}
}

// Rank returns the scores of a document for a query; most models have one, which is higher for documents that answer it
// better. The program is an encoder whose pooling is PoolRank. Names of special tokens in both are no tokens.
func (s *Session) Rank(ctx context.Context, query, document string) ([]float32, error) {
	return onlyOne(s.RankAll(ctx, query, []string{document}))
}

// RankAll returns what Rank returns for each of several documents, and shares steps as EmbedAll does.
func (s *Session) RankAll(ctx context.Context, query string, documents []string) iter.Seq2[[]float32, error] {
	p := s.model.program
	switch {
	case p.Labels() == 0:
		return onlyError(inputError("%s has no classification head: it ranks no texts", p.Name))
	case s.model.vocab == nil:
		return onlyError(inputError("%s has no tokenizer: give Embed the tokens of the query and the document", p.Name))
	}
	all := make([][]int32, len(documents))
	for i, document := range documents {
		all[i] = s.model.vocab.EncodePair(nil, query, document)
	}
	return s.EmbedAll(ctx, all, PoolRank)
}

// onlyOne returns the only element of all.
func onlyOne(all iter.Seq2[[]float32, error]) (v []float32, err error) {
	for v, err = range all {
	}
	return v, err
}

// onlyError has an error and nothing else.
func onlyError(err error) iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) { yield(nil, err) }
}
