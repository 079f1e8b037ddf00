package runtime

import "context"

// Score appends tokens to the sequence, as Prefill does, and calls visit with the logits after tokens[first], after
// tokens[first+1], and so on. The logits are valid during the call. An error of visit ends the run.
//
// A prefill that returns the logits after each token (ggmlc's --all-logits) runs in chunks of the program's batch. Any
// other returns only the last ones, so that each token from first+1 on is a step of decode. The logits are the same but
// for rounding. After an error the session is as it was before the call.
func (s *Session) Score(ctx context.Context, tokens []int32, first int, visit func(i int, logits []float32) error) error {
	if err := s.checkScore(tokens, first); err != nil {
		return err
	}
	s.settle()
	was := s.length
	run := s.scoreOneByOne
	if s.seat == nil && s.model.prefill.eachToken() { // sessions of Sessions have the last logits only
		run = s.scoreChunks
	}
	if err := run(ctx, tokens, first, visit); err != nil {
		s.length = was
		return err
	}
	return nil
}

// checkScore reports before the first step what a later one would refuse.
func (s *Session) checkScore(tokens []int32, first int) error {
	if err := s.lock(len(tokens), after); err != nil {
		return err
	}
	defer s.busy.Store(false)
	if first < 0 || first >= len(tokens) {
		return inputError("logits from token %d on: there are %d tokens", first, len(tokens))
	}
	return s.checkTokens(tokens)
}

// eachToken reports whether the entry returns a row of logits for each token.
func (d *driver) eachToken() bool {
	rows := d.logits.Dims[0]
	return d.symbol >= 0 && len(d.logits.Dims) > 1 && rows == Dim{Sym: d.symbol, Scale: 1}
}

// scoreChunks is Score for a prefill with the logits after each token.
func (s *Session) scoreChunks(ctx context.Context, tokens []int32, first int, visit func(int, []float32) error) error {
	vocab, batch := s.model.program.LM.Vocab, s.model.program.LM.Batch
	for begin := 0; begin < len(tokens); begin += batch {
		end := min(begin+batch, len(tokens))
		if _, err := s.Prefill(ctx, tokens[begin:end]); err != nil {
			return err
		}
		rows := s.Floats(s.model.prefill.logits)
		for i := max(begin, first); i < end; i++ {
			if err := visit(i, rows[(i-begin)*vocab:][:vocab]); err != nil {
				return err
			}
		}
	}
	return nil
}

// scoreOneByOne is Score for a prefill with the logits after the last token.
func (s *Session) scoreOneByOne(ctx context.Context, tokens []int32, first int, visit func(int, []float32) error) error {
	logits, err := s.Prefill(ctx, tokens[:first+1])
	for i := first; err == nil; i++ {
		if err = visit(i, logits); err != nil || i+1 == len(tokens) {
			break
		}
		logits, err = s.Decode(ctx, tokens[i+1])
	}
	return err
}
