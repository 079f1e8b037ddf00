package main

import (
	"math/rand/v2"
	"strings"
)

// draw is the random source for the decisions of a try.
type draw struct{ *rand.Rand }

// newDraw returns the source for a seed. Streams of one seed are independent.
func newDraw(seed, stream uint64) draw { return draw{rand.New(rand.NewPCG(seed, stream))} }

// oneIn returns true once in n times on average.
func (d draw) oneIn(n int) bool { return d.IntN(n) == 0 }

// pick returns one of several.
func pick[T any](d draw, from ...T) T { return from[d.IntN(len(from))] }

// some returns up to n different words of a list, joined by commas.
func (d draw) some(n int, words ...string) string {
	var chosen []string
	for _, i := range d.Perm(len(words))[:1+d.IntN(min(n, len(words)))] {
		chosen = append(chosen, words[i])
	}
	return strings.Join(chosen, ",")
}
