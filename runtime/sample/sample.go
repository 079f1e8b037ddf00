// Package sample chooses the next token from logits. A Sampler allocates all its memory when it is made, and none per
// token. The same options, seed and logits give the same tokens.
//
// The stages and their order are those of llama.cpp's default chain (llama-sampling.cpp): repetition penalty, top-k,
// top-p, min-p, temperature, draw. Top-p and min-p use the probabilities before the temperature changes them.
package sample

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
)

// Options control the choice. The zero Options are greedy: they choose the most probable token.
type Options struct {
	Temperature   float32 // 0 is greedy; higher is more even
	TopK          int     // keep only the K most probable; 0: all
	TopP          float32 // keep only the fewest whose probabilities sum to P; 0 or 1: all
	MinP          float32 // keep only those at least MinP times as probable as the best; 0: all
	RepeatPenalty float32 // divides the odds of recent tokens; 0 or 1: none
	RepeatLast    int     // how many tokens are recent; 0: 64
	Seed          uint64  // of the draws
}

// defaultRepeatLast is llama.cpp's repeat_last_n.
const defaultRepeatLast = 64

// ErrNumerics means that the logits contain NaN, or no finite number.
var ErrNumerics = errors.New("the logits hold NaN or no finite number: the weights or the state are damaged")

// Check reports every option that is out of range.
func (o Options) Check() error {
	var errs []error
	demand := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	demand(o.Temperature >= 0 && !math.IsInf(float64(o.Temperature), 0), "temperature %v: it must be 0 (greedy) or more", o.Temperature)
	demand(o.TopK >= 0, "top-k %d: it must be 0 (all) or more", o.TopK)
	demand(o.TopP >= 0 && o.TopP <= 1, "top-p %v: it must be between 0 and 1", o.TopP)
	demand(o.MinP >= 0 && o.MinP <= 1, "min-p %v: it must be between 0 and 1", o.MinP)
	demand(o.RepeatPenalty >= 0 && !math.IsInf(float64(o.RepeatPenalty), 0), "repeat penalty %v: it must be a finite number from 0 on (0 and 1 are none)", o.RepeatPenalty)
	demand(o.RepeatLast >= 0 && o.RepeatLast <= 1<<20, "repeat window %d: it must be between 0 and 2^20", o.RepeatLast)
	return errors.Join(errs...)
}

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

// topK sets s.top to all candidates, or to the K best in descending order. The K best so far form a heap whose root
// is the worst of them, so that most tokens cost one comparison.
func (s *Sampler) topK(logits []float32) {
	s.top = s.top[:0]
	k := s.kept(len(logits))
	for id, l := range logits {
		c := candidate{int32(id), l}
		if len(s.top) < k {
			s.top = append(s.top, c)
			if len(s.top) == k && k < len(logits) {
				heapify(s.top, worse)
			}
		} else if worse(s.top[0], c) {
			s.top[0] = c
			sift(s.top, 0, worse)
		}
	}
	if k < len(logits) {
		sortHeap(s.top)
	}
}

// topP keeps the fewest candidates whose probabilities sum to P. If top-k has not ordered them, a heap yields as many
// of them in order as are needed.
//
// For example, with P = 0.9 and the probabilities 0.1 0.6 0.25 0.05, the heap yields 0.6 (sum 0.6), then 0.25 (0.85),
// then 0.1 (0.95): three candidates are kept, and the fourth is never ordered.
func (s *Sampler) topP() {
	if s.o.TopP == 0 || s.o.TopP == 1 {
		return
	}
	best := s.top[0].logit
	for _, c := range s.top {
		best = max(best, c.logit)
	}
	want := float64(s.o.TopP) * s.steps.fill(s.top, best)
	s.top = s.steps.enough(s.top, best, want)
	heapify(s.top, better)
	sum, n := 0.0, len(s.top)
	for rest := s.top; len(rest) > 0 && sum < want; {
		sum += weight(rest[0].logit, best, 1)
		last := len(rest) - 1
		rest[0], rest[last] = rest[last], rest[0] // the best move to the end, in order
		rest = rest[:last]
		sift(rest, 0, better)
		n = last
	}
	s.top = s.top[:copy(s.top[:cap(s.top)], s.top[n:])]
}

// steps is a histogram of probability by logit: each step is 1/stepsPerUnit wide, counted down from the best logit,
// and the last step holds all lower logits. It limits the candidates that top-p has to order to hundreds or thousands
// of a vocabulary of 100,000.
type steps [256]float64

const stepsPerUnit = 8

// stepOf returns the step that a logit belongs to.
func stepOf(logit, best float32) int {
	return int(min((best-logit)*stepsPerUnit, float32(len(steps{})-1)))
}

// fill computes the steps of the candidates. It returns the sum of all probabilities without their common factor,
// added in the order of the candidates.
func (s *steps) fill(top []candidate, best float32) float64 {
	clear(s[:])
	total := 0.0
	for _, c := range top {
		w := weight(c.logit, best, 1)
		total += w
		s[stepOf(c.logit, best)] += w
	}
	return total
}

// enough drops candidates that are not needed for a sum of want: those below the first steps that reach it.
func (s *steps) enough(top []candidate, best float32, want float64) []candidate {
	const slack = 1 + 1e-9 // sums in different orders differ by less than 2^-53 per term
	last, sum := 0, s[0]
	for last < len(s)-1 && sum < want*slack {
		last++
		sum += s[last]
	}
	kept := top[:0]
	for _, c := range top {
		if stepOf(c.logit, best) <= last {
			kept = append(kept, c)
		}
	}
	return kept
}

// minP drops candidates that are much less probable than the best.
func (s *Sampler) minP(best float32) {
	if s.o.MinP == 0 {
		return
	}
	least := best + float32(math.Log(float64(s.o.MinP)))
	kept := s.top[:0]
	for _, c := range s.top {
		if c.logit >= least {
			kept = append(kept, c)
		}
	}
	s.top = kept
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
