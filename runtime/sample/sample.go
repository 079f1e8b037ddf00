// Package sample chooses the next token from logits. A Sampler allocates all its memory when it is made, and none per
// token. The same options, seed and logits give the same tokens.
//
// The stages and their order are those of llama.cpp's default chain (common/sampling.cpp, llama-sampling.cpp): bias,
// penalties of recent tokens, DRY, top-n-sigma, top-k, typical, top-p, min-p, XTC, temperature, draw. Each filter uses
// the probabilities of the candidates that the one before it has left, before the temperature changes them. With
// mirostat the stages are bias, temperature, mirostat.
package sample

import (
	"errors"
	"math"
	"math/rand/v2"
)

// ErrNumerics means that the logits contain NaN, or no finite number.
var ErrNumerics = errors.New("the logits hold NaN or no finite number: the weights or the state are damaged")

// ErrAdjusted means that biases or penalties have made a logit NaN or +Inf, or have left no finite one.
var ErrAdjusted = errors.New("no token can be chosen after the biases and penalties, and without the tokens that the model never generates: smaller ones may help")

// Sampler chooses the tokens of one sequence. Only one goroutine may use it at a time.
type Sampler struct {
	o       Options
	draw    rand.PCG
	recent  recent
	work    []float32   // changed logits
	counts  []int32     // by token: for penalties
	top     []candidate // remaining candidates
	weights []float64   // their weights in the draw
	steps   steps       // for topP
	dry     *repetitions
	mu      float64 // of mirostat: the largest information in bits
}

// candidate is a token with its logit.
type candidate struct {
	id    int32
	logit float32
}

// New returns a Sampler for logits of the given length. The error is that of CheckFor.
func New(o Options, vocab int) (*Sampler, error) {
	if err := o.CheckFor(vocab); err != nil {
		return nil, err
	}
	s := &Sampler{o: o, mu: 2 * float64(o.MirostatTau), recent: recent{ids: make([]int32, 0, o.remembered())}}
	s.draw.Seed(o.Seed, 0x9e3779b97f4a7c15) // any constant: the second half of PCG's state
	if cap(s.recent.ids) > 0 {
		s.counts = make([]int32, vocab)
	}
	if cap(s.recent.ids) > 0 || len(o.Bias) > 0 {
		s.work = make([]float32, vocab)
	}
	if o.DRY.Multiplier != 0 && o.DRY.Last > 0 && o.Mirostat == 0 {
		s.dry = newRepetitions(&o.DRY)
	}
	if !o.greedy() {
		s.top = make([]candidate, 0, s.kept(vocab))
		s.weights = make([]float64, s.kept(vocab))
	}
	return s, nil
}

// kept returns the number of candidates that top-k leaves.
func (s *Sampler) kept(vocab int) int {
	if s.o.TopK == 0 || s.o.Mirostat != 0 {
		return vocab
	}
	return min(s.o.TopK, vocab)
}

// Accept records tokens of the sequence, both of the prompt and generated ones, for penalties.
func (s *Sampler) Accept(ids ...int32) {
	for _, id := range ids {
		s.recent.add(id)
	}
}

// Next chooses a token. It does not change logits. Of equal logits, the lowest id wins.
func (s *Sampler) Next(logits []float32) (int32, error) {
	given := logits
	logits = s.adjust(given)
	best, err := argmax(logits)
	if err != nil {
		if _, wrong := argmax(given); wrong == nil {
			err = ErrAdjusted
		}
		return 0, err
	}
	if s.o.greedy() {
		return best, nil
	}
	if s.o.Mirostat != 0 {
		return s.mirostat(logits), nil
	}
	s.topK(logits, s.sigmaFloor(logits, logits[best]))
	return s.fromTop(), nil
}

// fromTop chooses one of the candidates that top-k has left.
func (s *Sampler) fromTop() int32 {
	s.typical()
	s.topP()
	s.minP()
	s.xtc()
	return s.pick(s.temperature())
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

// temperature returns the temperature of this draw. With a dynamic range, it depends on the entropy of the candidates.
func (s *Sampler) temperature() float64 {
	middle, width := float64(s.o.Temperature), float64(s.o.DynamicRange)
	if width == 0 || len(s.top) == 1 {
		return middle
	}
	low, high := max(0, middle-width), middle+width
	share := s.entropy() / math.Log(float64(len(s.top)))
	return low + (high-low)*math.Pow(share, float64(s.o.DynamicExponent))
}

// entropy returns the entropy of the candidates in nats.
func (s *Sampler) entropy() float64 {
	best := s.best().logit
	total, sum := 0.0, 0.0
	for _, c := range s.top {
		if w := weight(c.logit, best, 1); w > 0 {
			total += w
			sum += w * float64(c.logit-best)
		}
	}
	return math.Log(total) - sum/total
}

// best returns the most probable candidate.
func (s *Sampler) best() candidate {
	best := s.top[0]
	for _, c := range s.top[1:] {
		if better(c, best) {
			best = c
		}
	}
	return best
}

// pick draws one candidate by the probabilities at the temperature.
func (s *Sampler) pick(temperature float64) int32 {
	best := s.best()
	if temperature == 0 {
		return best.id
	}
	total, weights := 0.0, s.weights[:len(s.top)]
	for i, c := range s.top {
		weights[i] = weight(c.logit, best.logit, temperature)
		total += weights[i]
	}
	at := s.uniform() * total
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

// uniform draws a number that is at least 0 and below 1.
func (s *Sampler) uniform() float64 { return float64(s.draw.Uint64()>>11) / (1 << 53) }

// weight returns the probability of a logit at a temperature, without the common factor.
func weight(logit, best float32, temperature float64) float64 {
	return math.Exp(float64(logit-best) / temperature)
}
