package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// session runs a model one token at a time in plain float32 loops. It shares
// no code with the training's forward pass but the small functions, and is
// what compiled programs are compared with.
type session struct {
	cfg          Config
	w            *weights
	output       []float32 // a row for each token: makes the logits
	rope         ropeTable
	keys, values [][]float32 // per layer: a row for each position so far
	pos          int
}

func newSession(m *Model) *session {
	w := m.Config.bind(m.Params)
	return &session{
		cfg: m.Config, w: w, output: w.embed, rope: newRopeTable(m.Config),
		keys: make([][]float32, m.Config.Layers), values: make([][]float32, m.Config.Layers),
	}
}

// next takes the next token and returns the logits of the one after it.
// There is room for Context tokens.
func (s *session) next(token int32) []float32 {
	c := s.cfg
	x := slices.Clone(s.w.embed[int(token)*c.Dim : (int(token)+1)*c.Dim])
	for i := range s.w.layers {
		w := &s.w.layers[i]
		addTo(x, matVec(s.mix(i, s.norm(x, w.attnNorm)), w.o))
		h := s.norm(x, w.ffnNorm)
		gate, up := matVec(h, w.gate), matVec(h, w.up)
		for j, g := range gate {
			up[j] *= g * sigmoid(g)
		}
		addTo(x, matVec(up, w.down))
	}
	s.pos++
	x = s.norm(x, s.w.norm)
	logits := make([]float32, c.Vocab)
	for i := range logits {
		logits[i] = dot(x, s.output[i*c.Dim:(i+1)*c.Dim])
	}
	return logits
}

// mix is the attention of layer i, before its output matrix.
func (s *session) mix(i int, x []float32) []float32 {
	c, w := s.cfg, &s.w.layers[i]
	kv, hd := c.kvDim(), c.headDim()
	q, k := matVec(x, w.q), matVec(x, w.k)
	s.rope.at(s.pos).rotate(q, 1, c.Dim, 1)
	s.rope.at(s.pos).rotate(k, 1, kv, 1)
	s.keys[i] = append(s.keys[i], k...)
	s.values[i] = append(s.values[i], matVec(x, w.v)...)
	mixed := make([]float32, c.Dim)
	probs := make([]float32, s.pos+1)
	for h := range c.Heads {
		column := h / (c.Heads / c.KVHeads) * hd
		for p := range probs {
			probs[p] = dot(q[h*hd:(h+1)*hd], s.keys[i][p*kv+column:]) * c.scoreScale()
		}
		softmax(probs)
		out := mixed[h*hd : (h+1)*hd]
		for p, weight := range probs {
			for j := range out {
				out[j] += weight * s.values[i][p*kv+column+j]
			}
		}
	}
	return mixed
}

// at is the table that begins with the given position.
func (r ropeTable) at(pos int) ropeTable {
	return ropeTable{r.half, r.cos[pos*r.half:], r.sin[pos*r.half:]}
}

func (s *session) norm(x, w []float32) []float32 {
	scale := 1 / float32(math.Sqrt(float64(dot(x, x)/float32(len(x))+s.cfg.Eps)))
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = v * scale * w[i]
	}
	return y
}

// dot is the product of a with as many elements of b.
func dot(a, b []float32) (sum float32) {
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func addTo(x, y []float32) {
	for i, v := range y {
		x[i] += v
	}
}

// matVec is x·w for w with a row for each element of x.
func matVec(x, w []float32) []float32 {
	n := len(w) / len(x)
	y := make([]float32, n)
	for i, v := range x {
		for j, u := range w[i*n : (i+1)*n] {
			y[j] += v * u
		}
	}
	return y
}

// choose returns a token: the first of the best at temperature 0, otherwise a random one.
func choose(logits []float32, temperature float64, rng *rand.Rand) int32 {
	if temperature == 0 {
		return int32(slices.Index(logits, slices.Max(logits)))
	}
	probs := slices.Clone(logits)
	for i := range probs {
		probs[i] /= float32(temperature)
	}
	softmax(probs)
	left := rng.Float32()
	for i, p := range probs {
		if left -= p; left < 0 {
			return int32(i)
		}
	}
	return choose(logits, 0, rng) // the probabilities' sum was rounded below left
}

// generate yields at most n tokens that follow the prompt, the end token, if
// it comes, as the last one, each with the logits that it was chosen from.
func (m *Model) generate(prompt []int32, n int, temperature float64, seed uint64) func(yield func(int32, []float32) bool) {
	return func(yield func(int32, []float32) bool) {
		rng := rand.New(rand.NewPCG(seed, 0x73616d706c65)) // "sample"
		s := newSession(m)
		var logits []float32
		for _, id := range prompt {
			logits = s.next(id)
		}
		for range min(n, m.Config.Context-len(prompt)) {
			id := choose(logits, temperature, rng)
			if !yield(id, logits) || id == endID {
				return
			}
			logits = s.next(id)
		}
	}
}

// lead is by how much the best logit leads the second.
func lead(logits []float32) float32 {
	sorted := slices.SortedFunc(slices.Values(logits), func(a, b float32) int { return cmp.Compare(b, a) })
	return sorted[0] - sorted[1]
}
