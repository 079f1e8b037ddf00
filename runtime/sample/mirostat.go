package sample

import (
	"math"
	"slices"
)

// zipfTokens is how many of the most probable tokens estimate the exponent of Zipf's law.
const zipfTokens = 100

// mirostat draws so that the information of the drawn tokens is the wanted one on average: it keeps only tokens with at
// most s.mu bits, and corrects s.mu after each draw (Basu et al. 2021, Mirostat, algorithms 1 and 2; constants as in
// llama.cpp). Version 1 computes the number of tokens from Zipf's law, version 2 compares each with s.mu.
func (s *Sampler) mirostat(logits []float32) int32 {
	s.topK(logits, float32(math.Inf(-1)))
	slices.SortFunc(s.top, compareBetter)
	heat := float64(s.o.Temperature)
	bits := s.information(heat)
	n := s.atMost(bits)
	if s.o.Mirostat == 1 {
		n = s.zipfCount(bits, len(logits))
	}
	s.top = s.top[:n]
	id := s.pick(heat)
	bits = s.information(heat) // among the remaining candidates
	at := slices.IndexFunc(s.top, func(c candidate) bool { return c.id == id })
	s.mu -= float64(s.o.MirostatEta) * (bits[at] - float64(s.o.MirostatTau))
	return id
}

// information returns -log2 of the probability of each candidate. They are in order, the best first. The result is
// valid until pick.
func (s *Sampler) information(temperature float64) []float64 {
	bits, total, best := s.weights[:len(s.top)], 0.0, s.top[0].logit
	for _, c := range s.top {
		total += weight(c.logit, best, temperature)
	}
	for i, c := range s.top {
		bits[i] = (math.Log(total) - float64(c.logit-best)/temperature) / math.Ln2
	}
	return bits
}

// atMost returns how many candidates have at most s.mu bits, and at least 1.
func (s *Sampler) atMost(bits []float64) int {
	n := 1
	for n < len(bits) && bits[n] <= s.mu {
		n++
	}
	return n
}

// zipfCount returns how many candidates to keep, if the probability of the i-th of vocab tokens is proportional to
// i^-exponent.
func (s *Sampler) zipfCount(bits []float64, vocab int) int {
	var products, squares float64
	for i := range min(zipfTokens, len(bits)) - 1 {
		t := math.Log(float64(i+2) / float64(i+1))
		products += t * (bits[i+1] - bits[i]) * math.Ln2
		squares += t * t
	}
	exponent := products / squares
	excess := exponent - 1
	k := math.Pow(excess*math.Exp2(s.mu)/(1-math.Pow(float64(vocab), -excess)), 1/exponent)
	if !(k >= 1) { // or NaN: the exponent is 0, or there is one candidate
		return 1
	}
	return int(min(k, float64(len(bits))))
}
