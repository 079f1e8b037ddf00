package sample

import (
	"math"
	"slices"
)

// repetitions finds how recent tokens repeat, for DRY.
//
// Tokens are counted from the newest. If those from i on begin with the same L tokens as those from 0 on, the last L
// tokens have occurred before, and the token after them there is the one at i-1. The lengths L are the Z-function of
// the tokens, newest first, which takes linear time (Gusfield 1997, Algorithms on Strings, Trees, and Sequences,
// chapter 1).
//
// For example, after a b c x a b c, newest first c b a x c b a: the tokens from 4 on begin with 3 equal ones, so the
// token at 3, x, would make the repetition longer.
type repetitions struct {
	DRY
	breakers map[int32][][]int32 // the tails, by head
	tokens   []int32             // the recent ones, newest first
	equal    []int32             // the Z-function
	limit    float64             // of the exponent, so that the penalty is finite
}

func newRepetitions(d *DRY) *repetitions {
	r := &repetitions{
		DRY: *d, breakers: make(map[int32][][]int32),
		tokens: make([]int32, 0, d.Last), equal: make([]int32, d.Last),
	}
	for _, b := range d.Breakers {
		r.breakers[b.Head] = append(r.breakers[b.Head], b.Tail)
	}
	r.limit = math.Log(math.MaxFloat32) / math.Log(float64(d.Base)) // infinite for base 1
	return r
}

// penalise lowers the logits of tokens that would continue repetitions.
func (r *repetitions) penalise(s *Sampler) {
	r.tokens = r.tokens[:min(s.recent.len(), r.Last)]
	for i := range r.tokens {
		r.tokens[i] = s.recent.last(i)
	}
	longest := r.unbroken()
	if longest < r.Allowed {
		return
	}
	r.compare()
	for i := 1; i < len(r.tokens); i++ {
		if n := min(r.equal[i], int32(longest)); int(n) >= r.Allowed {
			after := r.tokens[i-1]
			s.counts[after] = max(s.counts[after], n+1) // 0 means no penalty
		}
	}
	for _, id := range r.tokens {
		n := s.counts[id]
		s.counts[id] = 0
		if n > 0 && !r.breaks(id) {
			s.work[id] -= r.penalty(int(n - 1))
		}
	}
}

// breaks reports whether the token is a breaker by itself: these are not penalised, as in llama.cpp.
func (r *repetitions) breaks(id int32) bool {
	return slices.ContainsFunc(r.breakers[id], func(tail []int32) bool { return len(tail) == 0 })
}

// penalty returns what a repetition of n tokens costs.
func (r *repetitions) penalty(n int) float32 {
	exponent := min(float64(n-r.Allowed), r.limit)
	return r.Multiplier * float32(math.Pow(float64(r.Base), exponent))
}

// unbroken returns the length of the longest repetition that does not reach across a breaker: how many tokens are newer
// than the last breaker.
func (r *repetitions) unbroken() int {
	for i, id := range r.tokens {
		longest := -1
		for _, tail := range r.breakers[id] {
			if len(tail) > longest && r.follows(tail, i) {
				longest = len(tail)
			}
		}
		if longest >= 0 {
			return i - longest
		}
	}
	return len(r.tokens)
}

// follows reports whether tail follows the token at i.
func (r *repetitions) follows(tail []int32, i int) bool {
	if len(tail) > i {
		return false
	}
	for k, id := range tail {
		if r.tokens[i-1-k] != id {
			return false
		}
	}
	return true
}

// compare computes the Z-function of the tokens. The tokens from left to right are known to equal the first ones.
func (r *repetitions) compare() {
	n := int32(len(r.tokens))
	for i, left, right := int32(1), int32(0), int32(0); i < n; i++ {
		z := int32(0)
		if i < right {
			z = min(right-i, r.equal[i-left])
		}
		for i+z < n && r.tokens[z] == r.tokens[i+z] {
			z++
		}
		if i+z > right {
			left, right = i, i+z
		}
		r.equal[i] = z
	}
}
