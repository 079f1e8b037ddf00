package sample

// Top are the most probable tokens of each part of a vocabulary, as many of each. Parts are runs of Part tokens.
type Top struct {
	IDs     []int32   // counted from the first token of the part, the most probable first; of equal logits the lower first
	Logits  []float32 // theirs
	Largest []float32 // the largest logit of each part; NaN if any of them is
	Part    int32
}

// Suffice reports whether the k largest logits of each part of a vocabulary, with their ids, are enough to choose a
// token: NextOf then returns what Next would. Penalties, biases and mirostat may choose any token, and top-n-sigma needs
// the deviation of all logits.
func (o Options) Suffice(k, vocab int) bool {
	if k < 1 || o.Mirostat != 0 || len(o.Bias) > 0 || o.penalises() || o.DRY.Multiplier != 0 {
		return false
	}
	// Candidates that top-k does not reduce are in the order of their ids.
	return o.greedy() || o.TopNSigma == 0 && o.TopK >= 1 && o.TopK <= k && o.TopK < vocab
}

// NextOf chooses a token as Next does, given only the largest logits. The options must be such that these Suffice.
func (s *Sampler) NextOf(t Top) (int32, error) {
	part, err := argmax(t.Largest)
	if err != nil {
		return 0, err
	}
	each := len(t.IDs) / len(t.Largest)
	if s.o.greedy() {
		return part*t.Part + t.IDs[int(part)*each], nil
	}
	s.top = s.top[:0]
	for i, l := range t.Logits {
		s.keep(candidate{int32(i/each)*t.Part + t.IDs[i], l}, s.o.TopK)
	}
	sortHeap(s.top)
	return s.fromTop(), nil
}
