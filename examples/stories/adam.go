package main

import "math"

// adam is AdamW (Loshchilov and Hutter, 2017): weight decay acts on matrices
// only, and on them directly.
type adam struct {
	beta1, beta2, eps, decay float32

	mean, square []float32
	decays       []bool // per parameter
	steps        int
}

func newAdam(c Config, w *weights) *adam {
	a := &adam{
		beta1: 0.9, beta2: 0.98, eps: 1e-8, decay: 0.05,
		mean: make([]float32, c.size()), square: make([]float32, c.size()),
	}
	w.each(c, func(m matrix, part *[]float32) {
		for range *part {
			a.decays = append(a.decays, !m.isNorm())
		}
	})
	return a
}

// step moves params against grad times factor (what clipping leaves of it).
func (a *adam) step(params, grad []float32, rate, factor float32) {
	a.steps++
	fix1 := float32(1 / (1 - math.Pow(float64(a.beta1), float64(a.steps))))
	fix2 := float32(1 / (1 - math.Pow(float64(a.beta2), float64(a.steps))))
	for i, g := range grad {
		g *= factor
		m := a.beta1*a.mean[i] + (1-a.beta1)*g
		s := a.beta2*a.square[i] + (1-a.beta2)*g*g
		a.mean[i], a.square[i] = m, s
		move := m * fix1 / (float32(math.Sqrt(float64(s*fix2))) + a.eps)
		if a.decays[i] {
			move += a.decay * params[i]
		}
		params[i] -= rate * move
	}
}

// clipFactor is the factor, at most 1, that limits the gradient's Euclidean norm.
func clipFactor(grad []float32, limit float64) float32 {
	var sum float64
	for _, g := range grad {
		sum += float64(g) * float64(g)
	}
	if norm := math.Sqrt(sum); norm > limit {
		return float32(limit / norm)
	}
	return 1
}

// learningRate rises for warm steps and then falls along half a cosine to a
// twentieth of peak.
func learningRate(step, steps, warm int, peak float64) float32 {
	if step < warm {
		return float32(peak * float64(step+1) / float64(warm))
	}
	done := float64(step-warm) / float64(max(1, steps-warm))
	return float32(peak * (0.05 + 0.95*(1+math.Cos(math.Pi*done))/2))
}
