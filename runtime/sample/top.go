package sample

// Top are the most probable tokens, of all logits of a vocabulary.
type Top struct {
	IDs     []int32   // the most probable first; of equal logits the lower id first
	Logits  []float32 // theirs
	Largest float32   // of all logits; NaN if any of them is
}

// Suffice reports whether the k largest logits of a vocabulary, with their ids, are enough to choose a token: NextOf then
// returns what Next would. Penalties, biases and mirostat may choose any token, and top-n-sigma needs the deviation of
// all logits.
func (o Options) Suffice(k, vocab int) bool {
	o = o.withDefaults()
	if k < 1 || o.Mirostat != 0 || len(o.Bias) > 0 || o.penalises() || o.DRY.Multiplier != 0 {
		return false
	}
	// Candidates that top-k does not reduce are in the order of their ids.
	return o.greedy() || o.TopNSigma == 0 && o.TopK >= 1 && o.TopK <= k && o.TopK < vocab
}

// NextOf chooses a token as Next does, given only the largest logits. The options must be such that these Suffice.
func (s *Sampler) NextOf(t Top) (int32, error) {
	if !finite(t.Largest) {
		return 0, ErrNumerics
	}
	if s.o.greedy() {
		return t.IDs[0], nil
	}
	s.top = s.top[:0]
	for i, id := range t.IDs[:s.o.TopK] {
		s.top = append(s.top, candidate{id, t.Logits[i]})
	}
	return s.fromTop(), nil
}
