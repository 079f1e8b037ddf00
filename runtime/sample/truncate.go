package sample

import (
	"cmp"
	"math"
	"slices"
)

// sigmaFloor returns the smallest logit that top-n-sigma keeps. The deviation is that of the finite logits (Tang et al.
// 2024, Top-nσ: Not All Logits Are You Need).
func (s *Sampler) sigmaFloor(logits []float32, best float32) float32 {
	if s.o.TopNSigma == 0 {
		return float32(math.Inf(-1))
	}
	var n, sum, squares float64
	for _, l := range logits {
		if d := float64(l - best); !math.IsInf(d, -1) {
			n, sum, squares = n+1, sum+d, squares+d*d
		}
	}
	deviation := math.Sqrt(max(0, squares/n-sum/n*(sum/n)))
	return best - float32(deviation)*s.o.TopNSigma
}

// topK sets s.top to all candidates that are not below floor, or to the K best of them in descending order. The K best
// so far form a heap whose root is the worst of them, so that most tokens cost one comparison.
func (s *Sampler) topK(logits []float32, floor float32) {
	s.top = s.top[:0]
	k := s.kept(len(logits))
	for id, l := range logits {
		switch c := (candidate{int32(id), l}); {
		case l < floor:
		case k == len(logits):
			s.top = append(s.top, c)
		case len(s.top) < k || worse(s.top[0], c):
			s.keep(c, k)
		}
	}
	if len(s.top) == k && k < len(logits) {
		sortHeap(s.top)
	}
}

// keep adds a candidate to s.top if it is one of the k best so far. k of them form a heap.
func (s *Sampler) keep(c candidate, k int) {
	switch {
	case len(s.top) < k:
		if s.top = append(s.top, c); len(s.top) == k {
			heapify(s.top, worse)
		}
	case worse(s.top[0], c):
		s.top[0] = c
		sift(s.top, 0, worse)
	}
}

// typical keeps the fewest candidates whose probabilities sum to more than P, those first whose information is nearest
// to the entropy (Meister et al. 2022, Locally Typical Sampling). Of candidates that are equally near, better ones come
// first.
func (s *Sampler) typical() {
	if s.o.Typical == 1 {
		return
	}
	best := s.best().logit
	total := 0.0
	for _, c := range s.top {
		total += weight(c.logit, best, 1)
	}
	middle := math.Log(total) - s.entropy() // of a candidate below the best by that much, the information is the entropy
	slices.SortFunc(s.top, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(distance(a, best, middle), distance(b, best, middle)), compareBetter(a, b))
	})
	sum, n := 0.0, 0
	for n < len(s.top) && sum <= float64(s.o.Typical)*total {
		sum += weight(s.top[n].logit, best, 1)
		n++
	}
	s.top = s.top[:n]
}

// distance returns the difference between the information of a candidate and the entropy. middle is log(sum) - entropy.
func distance(c candidate, best float32, middle float64) float64 {
	return math.Abs(float64(c.logit-best) - middle)
}

// topP keeps the fewest candidates whose probabilities sum to P, and at least the best. If top-k has not ordered them, a heap yields as many
// of them in order as are needed.
//
// For example, with P = 0.9 and the probabilities 0.1 0.6 0.25 0.05, the heap yields 0.6 (sum 0.6), then 0.25 (0.85),
// then 0.1 (0.95): three candidates are kept, and the fourth is never ordered.
func (s *Sampler) topP() {
	if s.o.TopP == 1 {
		return
	}
	best := s.best().logit
	want := float64(s.o.TopP) * s.steps.fill(s.top, best)
	s.top = s.steps.enough(s.top, best, want)
	heapify(s.top, better)
	sum, n := 0.0, len(s.top)
	for rest := s.top; len(rest) > 0 && (sum < want || n == len(s.top)); {
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
func (s *Sampler) minP() {
	if s.o.MinP == 0 {
		return
	}
	least := s.best().logit + float32(math.Log(float64(s.o.MinP)))
	kept := s.top[:0]
	for _, c := range s.top {
		if c.logit >= least {
			kept = append(kept, c)
		}
	}
	s.top = kept
}

// xtc excludes the top choices: it drops all candidates with the threshold's probability or more, but for the least
// probable of them. It does so in a draw of XTCProbability (oobabooga/text-generation-webui, pull request 6335). No
// number is drawn if there is no choice.
func (s *Sampler) xtc() {
	if s.o.XTCProbability == 0 || s.o.XTCThreshold > 0.5 || len(s.top) < 2 {
		return
	}
	if s.uniform() >= float64(s.o.XTCProbability) {
		return
	}
	slices.SortFunc(s.top, compareBetter)
	best, total := s.top[0].logit, 0.0
	for _, c := range s.top {
		total += weight(c.logit, best, 1)
	}
	n := 0 // candidates with the threshold; those without any probability, such as excluded ones, have none of 0 either
	for n < len(s.top) {
		if w := weight(s.top[n].logit, best, 1); w == 0 || w < float64(s.o.XTCThreshold)*total {
			break
		}
		n++
	}
	if n > 1 {
		s.top = s.top[:copy(s.top, s.top[n-1:])]
	}
}
