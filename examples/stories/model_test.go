package main

import (
	"math"
	"math/rand/v2"
	"testing"
)

// tinyRecipe trains in a second. Its widths leave borders outside the tiles.
func tinyRecipe() Recipe {
	return Recipe{
		Model: Config{
			Vocab: 352, Dim: 24, Layers: 2, Heads: 4, KVHeads: 2, FF: 40, Context: 224,
			Eps: 1e-5, RopeBase: 10000,
		},
		Seed: 7, Steps: 12, Batch: 4, Rate: 1e-2, Warm: 2, Clip: 1,
	}
}

// TestGradientIsTheSlope compares, for each parameter matrix, the gradient
// along a random direction with the slope of the loss along it.
func TestGradientIsTheSlope(t *testing.T) {
	c := tinyRecipe().Model
	params, trans := make([]float32, c.size()), make([]float32, c.size())
	w := c.bind(params)
	c.initialize(w, 3)
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range params { // away from the symmetric start
		params[i] += float32(rng.NormFloat64() * 0.1)
	}
	tokens := make([]int32, 38)
	for i := range tokens {
		tokens[i] = int32(rng.IntN(c.Vocab))
	}
	l := newLane(c, params, trans)
	loss := func() float64 {
		c.transpose(trans, params)
		l.forward(tokens[:37])
		return l.loss(tokens[1:], 1)
	}
	loss()
	l.backward(tokens[:37])

	at := 0
	w.each(c, func(m matrix, part *[]float32) {
		grad := l.back.flat[at : at+len(*part)]
		at += len(*part)
		direction := gradientLike(rng, grad)
		var want float64
		for i, g := range grad {
			want += float64(g) * float64(direction[i])
		}
		const h = 1.0 / 64
		up := lossMoved(*part, direction, h, loss)
		down := lossMoved(*part, direction, -h, loss)
		got := (up - down) / (2 * h)
		if math.Abs(got-want) > 0.01*math.Abs(want)+1e-3 {
			t.Errorf("%s: gradient %g, slope of the loss %g", m.name, want, got)
		}
	})
}

// gradientLike returns a direction of length 1 that is half the gradient's and
// half random: the slope along it is well above rounding, and each element counts.
func gradientLike(rng *rand.Rand, grad []float32) []float32 {
	var square float64
	for _, g := range grad {
		square += float64(g) * float64(g)
	}
	rms := math.Sqrt(square / float64(len(grad)))
	direction, length := make([]float32, len(grad)), 0.0
	for i, g := range grad {
		direction[i] = g + float32(rng.NormFloat64()*rms)
		length += float64(direction[i]) * float64(direction[i])
	}
	for i := range direction {
		direction[i] /= float32(math.Sqrt(length))
	}
	return direction
}

func lossMoved(part, direction []float32, by float32, loss func() float64) float64 {
	old := make([]float32, len(part))
	copy(old, part)
	for i, d := range direction {
		part[i] += by * d
	}
	defer copy(part, old)
	return loss()
}
