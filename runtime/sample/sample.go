// Package sample chooses the next token from logits. A Sampler allocates all its memory when it is made, and none per
// token. The same options, seed and logits give the same tokens.
//
// The stages and their order are those of llama.cpp's default chain (llama-sampling.cpp): repetition penalty, top-k,
// top-p, min-p, temperature, draw. Top-p and min-p use the probabilities before the temperature changes them.
package sample

import (
	"math"
	"math/rand/v2"
)

// Sampler chooses the tokens of one sequence. Only one goroutine may use it at a time.
type Sampler struct {
	o       Options
	draw    rand.PCG
	recent  ring
	work    []float32   // penalised logits
	top     []candidate // remaining candidates
	weights []float64   // their weights in the draw
	steps   steps       // for topP
}

// candidate is a token with its logit.
type candidate struct {
	id    int32
	logit float32
}

// New returns a Sampler for logits of the given length. The error is that of Check.
func New(o Options, vocab int) (*Sampler, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.RepeatPenalty == 0 {
		o.RepeatPenalty = 1
	}
	if o.RepeatLast == 0 {
		o.RepeatLast = defaultRepeatLast
	}
	s := &Sampler{o: o}
	s.draw.Seed(o.Seed, 0x9e3779b97f4a7c15) // any constant: the second half of PCG's state
	if o.RepeatPenalty != 1 {
		s.recent.ids = make([]int32, 0, o.RepeatLast)
		s.work = make([]float32, vocab)
	}
	if o.Temperature > 0 {
		s.top = make([]candidate, 0, s.kept(vocab))
		s.weights = make([]float64, s.kept(vocab))
	}
	return s, nil
}

// kept returns the number of candidates that top-k leaves.
func (s *Sampler) kept(vocab int) int {
	if s.o.TopK == 0 {
		return vocab
	}
	return min(s.o.TopK, vocab)
}

// Accept records tokens of the sequence, both of the prompt and generated ones, for the repetition penalty.
func (s *Sampler) Accept(ids ...int32) {
	for _, id := range ids {
		s.recent.add(id)
	}
}

// Next chooses a token. It does not change logits. Of equal logits, the lowest id wins.
func (s *Sampler) Next(logits []float32) (int32, error) {
	logits = s.penalise(logits)
	best, err := argmax(logits)
	if err != nil || s.o.Temperature == 0 {
		return best, err
	}
	s.topK(logits)
	s.topP()
	s.minP(logits[best])
	return s.pick(logits[best]), nil
}

// argmax returns the index of the largest value, and the lowest such index of equal values.
func argmax(v []float32) (int32, error) {
	best, at := float32(math.Inf(-1)), -1
	for i, x := range v {
		if x <= best { // a single comparison for most values; false for NaN
			continue
		}
		best, at = x, i
		if x != x {
			break
		}
	}
	if at < 0 || !(best <= math.MaxFloat32) {
		return 0, ErrNumerics
	}
	return int32(at), nil
}

// penalise lowers the logits of recent tokens. It divides positive ones and multiplies negative ones (Keskar et al.
// 2019, CTRL, section 4.1, with llama.cpp's extension to negative logits).
func (s *Sampler) penalise(logits []float32) []float32 {
	if s.o.RepeatPenalty == 1 || len(s.recent.ids) == 0 {
		return logits
	}
	copy(s.work, logits)
	for _, id := range s.recent.ids {
		if l := logits[id]; l > 0 { // logits, not s.work: a token that occurs twice counts once
			s.work[id] = l / s.o.RepeatPenalty
		} else {
			s.work[id] = l * s.o.RepeatPenalty
		}
	}
	return s.work
}

// pick draws one candidate by the probabilities at the temperature.
func (s *Sampler) pick(best float32) int32 {
	total, weights := 0.0, s.weights[:len(s.top)]
	for i, c := range s.top {
		weights[i] = weight(c.logit, best, s.o.Temperature)
		total += weights[i]
	}
	at := float64(s.draw.Uint64()>>11) / (1 << 53) * total
	chosen := s.top[0].id
	for i, w := range weights {
		if w == 0 {
			continue
		}
		chosen = s.top[i].id // the last one with a weight, in case rounding leaves at >= 0
		if at -= w; at < 0 {
			break
		}
	}
	return chosen
}

// weight returns the probability of a logit at a temperature, without the common factor.
func weight(logit, best, temperature float32) float64 {
	return math.Exp(float64(logit-best) / float64(temperature))
}
