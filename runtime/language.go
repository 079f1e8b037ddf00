package runtime

import "context"

// driver is a function of a language model with its tensors looked up once, so that a
// step does no search by name.
type driver struct {
	fn                         int
	tokens, pos, slot, lengths *Tensor // nil where the function has no such input
	logits                     *Tensor
}

func newDriver(p *Program, fn int) *driver {
	lm, f := p.LM, &p.Funcs[fn]
	d := &driver{fn, f.Input(lm.Tokens), f.Input(lm.Pos), f.Input(lm.Slot), f.Input(lm.Lengths), f.Output(lm.Logits)}
	if d.tokens == nil || d.logits == nil {
		p.broken("%s lacks its input %q or output %q", f.Name, lm.Tokens, lm.Logits)
	}
	return d
}

// Prefill appends tokens to the sequence and returns the logits after the last one: one
// per id of the vocabulary, valid until the session's next step. It runs in chunks of the
// program's batch. On an error the session is as it was before the call; a prompt that
// does not fit is refused with a *ContextError before anything runs.
func (s *Session) Prefill(ctx context.Context, tokens []int32) ([]float32, error) {
	if err := s.lock(len(tokens)); err != nil {
		return nil, err
	}
	defer s.busy.Store(false)
	if err := s.checkTokens(tokens); err != nil {
		return nil, err
	}
	return s.chunks(ctx, s.model.prefill, tokens, s.model.program.LM.Batch)
}

// Decode appends one token and returns the logits after it, as Prefill does. It allocates
// nothing.
func (s *Session) Decode(ctx context.Context, token int32) ([]float32, error) {
	if err := s.lock(1); err != nil {
		return nil, err
	}
	defer s.busy.Store(false)
	one := [1]int32{token}
	if err := s.checkTokens(one[:]); err != nil {
		return nil, err
	}
	return s.chunks(ctx, s.model.decode, one[:], 1)
}

// lock takes the session for a call that appends n positions.
func (s *Session) lock(n int) error {
	lm := s.model.program.LM
	if lm == nil {
		return inputError("%s is no language model: use Call", s.model.program.Name)
	}
	if !s.busy.CompareAndSwap(false, true) {
		return ErrBusy
	}
	var err error
	switch {
	case n == 0:
		err = inputError("no tokens: at least one is needed to predict the next")
	case n > lm.Context-s.length:
		err = &ContextError{Used: s.length, Wanted: n, Limit: lm.Context}
	}
	if err != nil {
		s.busy.Store(false)
	}
	return err
}

// checkTokens refuses ids that would read outside of the embedding.
func (s *Session) checkTokens(tokens []int32) error {
	for i, id := range tokens {
		if id < 0 || int(id) >= s.model.program.LM.Vocab {
			return inputError("token %d is %d: ids are 0 to %d", i, id, s.model.program.LM.Vocab-1)
		}
	}
	return nil
}

// chunks runs tokens at the end of the sequence, so many a step, and returns the logits
// after the last one. On devices several steps may be under way at once.
func (s *Session) chunks(ctx context.Context, d *driver, tokens []int32, batch int) ([]float32, error) {
	s.widen(len(tokens))
	was := s.length
	var err error
	for overlap := false; err == nil && len(tokens) > 0; overlap = true {
		n := min(len(tokens), batch)
		s.begin(overlap)
		s.place(d, tokens[:n])
		if err = s.submit(ctx, d.fn); err == nil {
			s.length += n
		}
		tokens = tokens[n:]
	}
	if err = s.finish(err); err != nil {
		s.length = was
		return nil, err
	}
	logits, vocab := s.Floats(d.logits), s.model.program.LM.Vocab
	return logits[len(logits)-vocab:], nil
}

// widen asks for huge pages for the state when n more positions fill a quarter of the context.
// Attention reads all of it in each step; at position 4000 of 4096 of a 1.1 B llama in Q4_0 generation is 1.03
// times as fast. Asked for at once, a short sequence would take some MiB for each tensor of the state.
func (s *Session) widen(n int) {
	if !s.wide && s.length+n > s.model.program.LM.Context/4 {
		s.wide = true
		adviseHuge(s.state.bytes)
	}
}

// place writes the sizes and the inputs of a chunk.
func (s *Session) place(d *driver, tokens []int32) {
	lm, n := s.model.program.LM, len(tokens)
	s.setSize(lm.TokensSym, n)
	s.setSize(lm.SeqsSym, 1)
	s.setSize(lm.KVSym, s.length+n)
	copy(s.Ints(d.tokens), tokens)
	if d.pos != nil {
		for i := range s.Ints(d.pos)[:n] {
			s.Ints(d.pos)[i] = int32(s.length + i)
		}
	}
	if d.slot != nil {
		clear(s.Ints(d.slot))
	}
	if d.lengths != nil {
		s.Ints(d.lengths)[0] = int32(s.length + n)
	}
	s.reach(&s.model.program.Funcs[d.fn])
}

func (s *Session) setSize(symbol, n int) {
	if symbol >= 0 {
		s.args.Dims[symbol] = n
	}
}
